package file_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// One thing in the place of a document that is no file, or cannot be read, is
// set aside like any damage: it neither ends the start nor holds it up.
func TestCase42NoFileInTheFolder(t *testing.T) {
	whole := newPlace(t)
	s := whole.open(t)
	fill(t, s)
	want := dump(t, s)
	must(t, s.Close())
	odd := map[string]func(path string) error{
		"a folder":             func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":               func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to itself":     func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"what may not be read": func(path string) error { return os.WriteFile(path, []byte("{}"), 0) },
	}
	for name, put := range odd {
		for _, index := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				p := whole.crash(t)
				path := p.path("conversations/x_long.json")
				must(t, os.Remove(path))
				must(t, put(path))
				if !index {
					must(t, os.Remove(p.path("index.json")))
				}
				s := p.open(t)
				same(t, "Dump", dump(t, s), want)
				say(t, s, "x:long", "next", "next")
				must(t, s.Close())
				p.says(t, "level=ERROR", "key=x:long", "x_long.json.corrupt-")
				s = p.open(t)
				p.quiet(t)
				must(t, s.Close())
			})
		}
	}
}
