package media_test

import (
	"errors"
	"io/fs"
	"testing"

	"dragoman/internal/media"
)

// A lent file can be read until everybody who lent it has it back. Nothing is stored.
func TestLend(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, media.Options{})
	file, giveBack := s.Lend([]byte("a picture"))
	again, giveBackAgain := s.Lend([]byte("a picture"))
	other, giveBackOther := s.Lend([]byte("another"))
	defer giveBackOther()
	if file != again || file == other {
		t.Errorf("the names are %s, %s and %s, want one for each content", file, again, other)
	}
	giveBack()
	giveBack() // twice is once
	if got := read(t, s, file); got != "a picture" {
		t.Errorf("Open = %q, want what somebody still lends", got)
	}
	if used, err := s.Used(); used != 0 || err != nil {
		t.Errorf("Used = %d, %v, want nothing stored", used, err)
	}
	giveBackAgain()
	if _, err := s.Open(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of what was given back = %v, want ErrNotExist", err)
	}
}
