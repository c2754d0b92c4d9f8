package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
)

// Erasing removes the copies from before a change of the format, whoever is
// erased.
func TestEraseRemovesFormer(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "hello")
	for _, name := range []string{".before-v2", ".before-v2.2", ".empty-20260101"} {
		must(t, os.Mkdir(p.dir+name, 0o700))
	}
	got, err := s.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("x:1")}})
	must(t, err)
	same(t, "copies that it names", got.Copies, []string{p.dir + ".before-v2", p.dir + ".before-v2.2"})
	all, err := filepath.Glob(p.dir + ".*")
	must(t, err)
	same(t, "beside the store", all, []string{p.dir + ".empty-20260101"})
}
