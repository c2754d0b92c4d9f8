package file_test

import (
	"os"
	"strings"
	"testing"
)

// An editor puts a mark before UTF-8, and others may read what it wrote: the
// document counts all the same, and is closed to them at the next start.
func TestDocumentFromAnEditor(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	say(t, s, "x:2", "2", "two")
	want := dump(t, s)
	must(t, s.Close())
	path, quiet := p.path("conversations/x_1.json"), p.path("conversations/x_2.json")
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append([]byte("\xef\xbb\xbf"), data...), 0o600))
	must(t, os.Chmod(path, 0o644))
	must(t, os.Chmod(quiet, 0o644))
	s = p.open(t)
	same(t, "Dump", dump(t, s), want)
	for _, name := range []string{path, quiet} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v, want 0600", name, info.Mode(), err)
		}
	}
	must(t, s.Close())
	if list := p.aside(t); len(list) != 0 {
		t.Errorf("set aside: %v", list)
	}
}

// A document of another program is set aside with what to do; no conversation
// is made of nothing.
func TestDocumentOfAnotherProgram(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	want := dump(t, s)
	must(t, s.Close())
	must(t, os.WriteFile(p.path("conversations/x_9.json"), []byte(`{"key":"x:9","messages":[{"role":"user","content":"hi"}]}`), 0o600))
	s = p.open(t)
	same(t, "Dump", dump(t, s), want)
	must(t, s.Close())
	p.says(t, "level=ERROR", "key=x:9", "x_9.json.corrupt-", "dragoman sessions import")
	if list := p.aside(t); len(list) != 1 || !strings.Contains(list[0], "x_9.json") {
		t.Errorf("set aside: %v", list)
	}
	if _, err := os.Stat(p.path("conversations/x_9.json")); !os.IsNotExist(err) {
		t.Errorf("a document was made: %v", err)
	}
}
