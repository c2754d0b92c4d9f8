package file_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/file"
)

// Whatever of the files a start finds, it finds the same store. Without the rows
// only what is done is gone from the queues, and what was erased is not known.
func TestReopenedIsEqual(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	fill(t, s)
	want := dump(t, s)
	same(t, "a second dump", dump(t, s), want)
	rowsOnly := p.crash(t)
	must(t, file.Flush(s))
	settled := p.crash(t)
	must(t, s.Close())
	lost := map[string]*place{}
	for _, name := range []string{"rows.db", "store.json", "conversations", "archive"} {
		lost[name] = p.crash(t)
		must(t, os.RemoveAll(lost[name].path(name)))
	}
	for name, p := range map[string]*place{
		"rows only": rowsOnly, "settled": settled, "closed": p, "rows lost": lost["rows.db"],
		"store file lost": lost["store.json"], "documents lost": lost["conversations"], "archives lost": lost["archive"],
	} {
		t.Run(name, func(t *testing.T) {
			s := p.open(t)
			if got := dump(t, s); name != "rows lost" {
				same(t, "Dump", got, want)
				if a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:other", "l5", "again")}); err != nil || a.Outcome != sessions.Duplicate || a.Seq != 6 {
					t.Errorf("Accept = %+v, %v", a, err)
				}
			} else {
				open := slices.DeleteFunc(slices.Clone(want), func(line string) bool {
					done := strings.HasPrefix(line, `{"inbox"`) && !strings.Contains(line, `"state":"waiting"`)
					return done || strings.Contains(line, `"state":"sent"`) || strings.HasPrefix(line, `{"store"`)
				})
				same(t, "Dump", got[1:], open)
			}
			p.quiet(t)
			if list := p.aside(t); len(list) > 0 {
				t.Errorf("set aside: %v", list)
			}
			say(t, s, "x:long", "after", "after")
			must(t, s.Close())
			if doc := read(t, p.path("conversations/x_work.json")); bytes.Contains(doc, []byte(`"ended": [`)) || !bytes.Contains(doc, []byte(`"turn": [`)) {
				t.Errorf("the journals are not those of open turns:\n%s", doc)
			}
			s = p.open(t)
			ms, err := s.Messages(t.Context(), key("x:long"), 299, 9)
			if err != nil || len(ms) != 2 || ms[1].Content != "after" {
				t.Errorf("Messages = %+v, %v", ms, err)
			}
		})
	}
}

// disk is what a power cut leaves: of each file what was last made durable,
// under the names that were.
type disk struct {
	t     *testing.T
	dir   string
	open  map[uint64]*os.File // keeps the numbers of files from being used again
	data  map[uint64][]byte
	names map[string]map[string]uint64 // by folder
	seen  map[string]bool              // cuts that were looked at
}

func (d *disk) synced(path string) {
	rel, err := filepath.Rel(d.dir, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		return // a draft that was renamed while we came here
	}
	if !info.IsDir() {
		f, err := os.Open(path)
		must(d.t, err)
		b, err := os.ReadFile(path)
		must(d.t, err)
		id := inode(info)
		if d.open[id] == nil {
			d.open[id] = f
		} else {
			must(d.t, f.Close())
		}
		d.data[id] = b
		return
	}
	d.names[rel] = d.listed(path)
}

// writeBack makes all names durable, as the system does now and then by itself.
func (d *disk) writeBack() {
	for _, sub := range []string{".", "conversations", "archive", "jobs"} {
		d.names[sub] = d.listed(filepath.Join(d.dir, sub))
	}
}

func (d *disk) listed(dir string) map[string]uint64 {
	names := map[string]uint64{}
	entries, err := os.ReadDir(dir)
	must(d.t, err)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !e.IsDir() {
			names[e.Name()] = inode(info)
		}
	}
	return names
}

// cut is the disk after a power cut, or nil if it is one that was looked at. In
// folders of which eager is part, names were faster than what is in the files.
func (d *disk) cut(eager string) *place {
	left := newPlace(d.t)
	sum := sha256.New()
	for _, sub := range []string{".", "conversations", "archive", "jobs"} {
		must(d.t, os.MkdirAll(filepath.Join(left.dir, sub), 0o700))
		names := d.names[sub]
		if eager == "all" || eager == sub {
			names = d.listed(filepath.Join(d.dir, sub))
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			data := d.data[names[name]]
			if strings.HasPrefix(name, "rows.db") {
				continue // below
			}
			fmt.Fprintf(sum, "%s/%s %d %s", sub, name, len(data), data)
			must(d.t, os.WriteFile(filepath.Join(left.dir, sub, name), data, 0o600))
		}
	}
	// SQLite forces each commit to the disk by itself: no one is under way.
	for _, name := range []string{"rows.db", "rows.db-wal"} {
		if data, err := os.ReadFile(filepath.Join(d.dir, name)); err == nil {
			fmt.Fprintf(sum, "%s %d %s", name, len(data), data)
			must(d.t, os.WriteFile(filepath.Join(left.dir, name), data, 0o600))
		}
	}
	image := string(sum.Sum(nil))
	if d.seen[image] {
		return nil
	}
	d.seen[image] = true
	return left
}

// TestPowerCut cuts the power at each moment at which something became durable
// and looks whether what was acknowledged until then is there.
func TestPowerCut(t *testing.T) {
	p := newPlace(t)
	d := &disk{t: t, dir: p.dir, open: map[uint64]*os.File{}, data: map[uint64][]byte{}, names: map[string]map[string]uint64{}, seen: map[string]bool{}}
	t.Cleanup(func() {
		for _, f := range d.open {
			_ = f.Close()
		}
	})
	acknowledged := map[string]int{}
	erased, title := false, ""
	var cuts int
	look := func(left *place) error {
		s, err := file.Open(t.Context(), left.dir, file.Options{})
		if err != nil {
			return err
		}
		if c, err := s.Conversation(t.Context(), key("x:1")); title != "" && (err != nil || c.Title != title) {
			return errors.Join(fmt.Errorf("the title is %q, want %q", c.Title, title), err, s.Close())
		}
		for k, n := range acknowledged {
			ms, err := s.Messages(t.Context(), key(k), 0, 100)
			if err != nil || len(ms) < n {
				return errors.Join(fmt.Errorf("%s has %d of %d messages", k, len(ms), n), err, s.Close())
			}
			feed, err := s.Feed(t.Context(), key(k), 0, 100)
			if err != nil || len(feed) < n {
				return errors.Join(fmt.Errorf("%s has %d of %d inbox rows", k, len(feed), n), err, s.Close())
			}
		}
		if c, err := s.Conversation(t.Context(), key("x:gone")); erased && !errors.Is(err, sessions.ErrNotFound) {
			return errors.Join(fmt.Errorf("what was erased is back: %+v", c), err, s.Close())
		}
		if err := s.Close(); err != nil {
			return err
		}
		if list, err := file.Damaged(left.dir); err != nil || len(list) > 0 {
			return fmt.Errorf("it was taken for damage: %v, %v", list, err)
		}
		return nil
	}
	cutAll := func(when, path string) {
		for _, eager := range []string{"", "conversations", "all"} {
			left := d.cut(eager)
			if left == nil {
				continue
			}
			cuts++
			if err := look(left); err != nil {
				t.Errorf("cut %d (eager %q) %s %s: %v", cuts, eager, when, filepath.Base(path), err)
			}
		}
	}
	check := func(path string) {
		cutAll("before the fsync of", path)
		d.synced(path)
		cutAll("after the fsync of", path)
	}
	var mu sync.Mutex // documents are written side by side
	file.OnSync(t, func(path string) error {
		if strings.HasPrefix(path, p.dir) { // and not of a store that looks at a cut
			mu.Lock()
			defer mu.Unlock()
			check(path)
		}
		return nil
	})
	s := openWith(t, p.dir, file.Options{FlushInterval: 1 << 40})
	for round := range 3 {
		for _, k := range []string{"x:1", "x:2"} {
			say(t, s, k, k+string(rune('a'+round)), "hi")
			acknowledged[k]++
			clear(d.seen) // more has to be there now
		}
		must(t, s.Rename(t.Context(), key("x:1"), number("title ", round)))
		title = number("title ", round)
		clear(d.seen)
		switch round {
		case 0:
			say(t, s, "x:gone", "g", "hi")
			must(t, file.Flush(s))
			d.writeBack()
		case 1:
			must(t, file.Flush(s))
		case 2:
			must(t, file.Flush(s))
			_, err := s.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("x:gone")}})
			must(t, err)
			erased = true
		}
		cutAll("after all of round", number("", round))
	}
	must(t, s.Close())
	if cuts < 40 {
		t.Errorf("only %d cuts: the test does not test", cuts)
	}
	t.Logf("%d power cuts", cuts)
}

func TestModesAndLock(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "hi")
	must(t, os.Chmod(p.dir, 0o755))
	if other, err := file.Open(t.Context(), p.dir, file.Options{}); err == nil || !strings.Contains(err.Error(), "another process has this store open") {
		t.Fatalf("a second Open = %v, %v", other, err)
	}
	must(t, s.Close())
	must(t, os.Chmod(p.path("conversations/x_1.json"), 0o644))
	s = p.open(t)
	say(t, s, "x:1", "2", "hi")
	must(t, s.Close())
	err := filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		info, err := e.Info()
		must(t, err)
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	must(t, err)
}

// A scheduled job has a queue and no conversation, so its files are elsewhere,
// and are found there also when the rows are lost.
func TestJobsHaveAFolder(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "heartbeat:morning", "due-1", "hi")
	say(t, s, "x:1", "1", "hi")
	must(t, s.Close())
	for _, name := range []string{"jobs/heartbeat_morning.json", "jobs/heartbeat_morning.jsonl", "conversations/x_1.json", "archive/x_1.jsonl"} {
		if _, err := os.Stat(p.path(name)); err != nil {
			t.Error(err)
		}
	}
	s = p.open(t)
	feed, err := s.Feed(t.Context(), key("heartbeat:morning"), 0, 10)
	if err != nil || len(feed) == 0 {
		t.Errorf("the job's queue is %v, %v", feed, err)
	}
	must(t, s.Close())
	must(t, os.Remove(p.path("rows.db")))
	s = p.open(t)
	for _, k := range []string{"heartbeat:morning", "x:1"} {
		if ms, err := s.Messages(t.Context(), key(k), 0, 9); err != nil || len(ms) != 1 {
			t.Errorf("without rows Messages of %s = %v, %v", k, ms, err)
		}
	}
}

// The call is the system's own: it has nothing to force out of a pipe.
func TestSyncIsFsync(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	if err := file.Sync(w); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Sync of a pipe = %v, want EINVAL", err)
	}
}
