package app_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/config"
	"dragoman/internal/storage"
	"dragoman/internal/testkit"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// readOnly mounts the state directory over itself, read-only, until the end.
func (p *place) readOnly() {
	p.t.Helper()
	dir := filepath.Clean(p.state(""))
	err := syscall.Mount(dir, dir, "", syscall.MS_BIND, "")
	if err == nil {
		p.t.Cleanup(func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				p.t.Error(err)
			}
		})
		err = syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	if err != nil {
		if testkit.NeedAll() {
			p.t.Fatalf("cannot mount (run the tests as root): %v", err)
		}
		p.t.Skipf("this user cannot mount: %v", err)
	}
}

// read is what the verbs tell that only read. The records of dump are without the notes
// that a daemon writes of itself when it stops: a crash leaves none.
func (p *place) read() (list []api.Conversation, found []api.Hit, dump int) {
	p.t.Helper()
	c, release, err := app.Admin(p.t.Context(), p.config(), storage.Caller{})
	if err != nil {
		p.t.Fatal(err)
	}
	defer release()
	all, err := api.Find.Call(p.t.Context(), c, api.ConversationQuery{})
	if err != nil {
		p.t.Error(err)
	}
	hits, err := api.SearchAll.Call(p.t.Context(), c, api.Search{Query: "morning", Limit: 10})
	if err != nil {
		p.t.Error(err)
	}
	err = c.Dump(p.t.Context(), nil, func(r sessions.Record) error {
		if r.Note == nil || r.Note.Kind != "channel-day" {
			dump++
		}
		return nil
	})
	if err != nil {
		p.t.Error(err)
	}
	return all.Data, hits.Data, dump
}

// What is on a disk that is mounted read-only is refused with advice, and none
// of it changes. Following the advice, all of it can be read, with what only
// the log has.
func TestReadOnlyState(t *testing.T) {
	for _, kind := range config.FileStores {
		t.Run(kind, func(t *testing.T) {
			crashed, p := newPlace(t, "store: {type: "+kind+"}"), newPlace(t, "store: {type: "+kind+"}")
			r := crashed.run()
			r.ask(r.page(""), "good morning")
			// A copy of what a crash would leave: the store is open.
			if err := os.CopyFS(p.state(""), noSockets{os.DirFS(crashed.state(""))}); err != nil {
				t.Fatal(err)
			}
			r.stop()
			list, found, dump := crashed.read()
			p.readOnly()
			before := tree(t, p.state(""))
			_, _, err := app.Admin(t.Context(), p.config(), storage.Caller{})
			if err == nil || !strings.Contains(err.Error(), "the file system is read-only") || !strings.Contains(err.Error(), "copy it elsewhere") {
				t.Errorf("Admin = %v, want that it is read-only, and what to do", err)
			}
			if err := storage.Check(t.Context(), p.config()); err == nil || !strings.Contains(err.Error(), "the file system is read-only") {
				t.Errorf("CheckStore = %v, want that it is read-only", err)
			}
			if diff := cmp.Diff(before, tree(t, p.state(""))); diff != "" {
				t.Errorf("the state directory (-before +after):\n%s", diff)
			}
			copied := newPlace(t, "store: {type: "+kind+"}")
			if err := os.CopyFS(copied.state(""), os.DirFS(p.state(""))); err != nil {
				t.Fatal(err)
			}
			gotList, gotFound, gotDump := copied.read()
			if len(gotList) == 0 || len(gotFound) == 0 || gotDump != dump {
				t.Fatalf("read %d conversations, %d hits, %d records, want some and %d", len(gotList), len(gotFound), gotDump, dump)
			}
			if diff := cmp.Diff(fmt.Sprint(list[0].Key, found), fmt.Sprint(gotList[0].Key, gotFound)); diff != "" {
				t.Errorf("what was read (-want +got):\n%s", diff)
			}
		})
	}
}

// noSockets is a folder without its socket.
type noSockets struct{ fs.FS }

func (f noSockets) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(f.FS, name)
	var left []fs.DirEntry
	for _, e := range all {
		if e.Type()&fs.ModeSocket == 0 {
			left = append(left, e)
		}
	}
	return left, err
}
