package file_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/file"
)

// contents are the files below dir but the lock, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != "lock" {
			rel, _ := filepath.Rel(dir, path)
			all[rel] = string(read(t, path))
		}
		return err
	}))
	return all
}

// former is a store of format 1.
func former(t *testing.T) (p *place, files map[string]string) {
	t.Helper()
	p = newPlace(t)
	must(t, os.CopyFS(p.dir, os.DirFS("testdata/format1")))
	return p, contents(t, p.dir)
}

// Before a store of a former format is changed a copy of all of it is made,
// once, and what is written to the store does not reach it.
func TestFormerStoreIsKept(t *testing.T) {
	for _, lost := range []string{"", "store.json", "store.json index.json"} {
		t.Run("lost "+lost, func(t *testing.T) {
			p, _ := former(t)
			for _, name := range strings.Fields(lost) {
				must(t, os.Remove(p.path(name)))
			}
			want := contents(t, p.dir)
			s := p.open(t)
			p.says(t, "a copy of it as it was is kept")
			left := p.crash(t)
			must(t, left.open(t).Close())
			if all, err := filepath.Glob(left.dir + ".*"); len(all) > 0 || err != nil {
				t.Errorf("the start after a crash leaves %v, %v", all, err)
			}
			for _, k := range []string{"telegram:1", "telegram:2", "x:work", "x:new"} {
				say(t, s, k, "new"+k, "one more")
			}
			must(t, s.Close())
			for range 2 {
				must(t, p.open(t).Close())
				if strings.Contains(p.log.String(), "is kept") {
					t.Errorf("a later start says:\n%s", p.log.String())
				}
			}
			same(t, "the copy", contents(t, p.dir+".before-v2"), want)
			if all, err := filepath.Glob(p.dir + "*"); len(all) != 2 || err != nil {
				t.Errorf("beside each other lie %v, %v", all, err)
			}
			if found, err := file.Look(p.dir + ".before-v2"); found || !errors.Is(err, file.ErrForeign) {
				t.Errorf("Look at the copy = %v, %v", found, err)
			}
			if s, err := openAt(t, p.dir+".before-v2"); !errors.Is(err, file.ErrForeign) {
				t.Errorf("Open of the copy = %v, %v", s, err)
			}
			back := newPlace(t)
			must(t, os.CopyFS(back.dir, os.DirFS(p.dir+".before-v2")))
			ms, err := back.open(t).Messages(t.Context(), key("telegram:2"), 0, 99)
			if err != nil || len(ms) != 5 {
				t.Errorf("Messages of the copy that was put back = %+v, %v", ms, err)
			}
		})
	}
}

func TestNewStoreIsNotCopied(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "hi")
	must(t, file.Settle(s))
	for _, left := range []*place{p.crash(t), p} {
		if left == p {
			must(t, s.Close())
		}
		must(t, left.open(t).Close())
		if all, err := filepath.Glob(left.dir + ".*"); len(all) > 0 || err != nil {
			t.Errorf("beside the store lie %v, %v", all, err)
		}
	}
}

// The start is cut short, and the disk fails, at each fsync in turn. The store
// is as it was until the copy has its name; the copy is whole and durable when
// it has; the next start goes on from there, and there is one copy.
func TestFormerStoreCutShort(t *testing.T) {
	full := errors.New("no space left")
	for n := 1; ; n += 2 {
		p, want := former(t)
		name := p.dir + ".before-v2"
		calls, durable, nameDurable := 0, map[string]bool{}, false
		named := func() bool { _, err := os.Lstat(name); return err == nil }
		file.OnSync(t, func(path string) error {
			if !strings.HasPrefix(path, filepath.Dir(p.dir)) {
				return nil
			}
			durable[strings.Replace(path, name+".new", name, 1)] = true
			switch {
			case named() && path == filepath.Dir(p.dir):
				nameDurable = true
			case path == p.path("store.json.draft") && !nameDurable:
				t.Error("the store is changed before the name of the copy is durable")
			case !named():
				same(t, "the store before it was copied", contents(t, p.dir), want)
			}
			// The first two are those of every start: of the folders.
			if calls++; calls == n+2 {
				return full
			}
			return nil
		})
		s, err := openAt(t, p.dir)
		if named() {
			same(t, "the copy", contents(t, name), want)
			for path := range maps.Keys(want) {
				if file := filepath.Join(name, path); !durable[file] || !durable[filepath.Dir(file)] {
					t.Errorf("%s has its name and is not durable", file)
				}
			}
		}
		if _, err := os.Lstat(name + ".new"); err == nil {
			t.Error("half a copy is left")
		}
		if err == nil {
			must(t, s.Close())
			if n < 12 {
				t.Errorf("only %d calls of fsync", n)
			}
			return
		}
		if !errors.Is(err, full) {
			t.Fatalf("Open = %v", err)
		}
		file.OnSync(t, func(string) error { return nil })
		if !named() {
			must(t, os.MkdirAll(name+".new/log", 0o700)) // what a killed process leaves
		}
		must(t, p.open(t).Close())
		same(t, "the copy of the next start", contents(t, name), want)
		all, err := filepath.Glob(p.dir + ".*")
		same(t, "beside the store", all, []string{name})
		must(t, err)
	}
}

// Erasing takes the copies too.
func TestEraseRemovesFormer(t *testing.T) {
	p, _ := former(t)
	s := p.open(t)
	must(t, os.CopyFS(p.dir+".before-v2.2", os.DirFS("testdata/format1")))
	must(t, os.Mkdir(p.dir+".empty-20260101", 0o700))
	got, err := s.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("telegram:1")}})
	must(t, err)
	same(t, "copies that it names", got.Copies, []string{p.dir + ".before-v2", p.dir + ".before-v2.2"})
	all, err := filepath.Glob(p.dir + ".*")
	same(t, "beside the store", all, []string{p.dir + ".empty-20260101"})
	must(t, err)
	if bytes.Contains(everything(t, p), []byte("telegram:1")) {
		t.Error("something is left of it")
	}
}
