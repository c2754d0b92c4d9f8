package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/internal/app"
	"dragoman/internal/storage"
)

// A lock that is a link is refused: what it names is not emptied.
func TestLockIsNoLink(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	notes := filepath.Join(p.dir, "notes")
	put(t, notes, "my notes\n")
	if err := os.Mkdir(p.state(""), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(notes, p.state("dragoman.lock")); err != nil {
		t.Fatal(err)
	}
	p.refused()
	if got, err := os.ReadFile(notes); err != nil || string(got) != "my notes\n" {
		t.Errorf("the file that the link names holds %q (%v), want it as it was", got, err)
	}
}

// The text of somebody who has ended names nobody.
func TestLockNamesTheLivingOnly(t *testing.T) {
	t.Parallel()
	const ended = 1 << 30 // more than any process id
	for _, tt := range []struct {
		text, want string
	}{
		{fmt.Sprintf("dragoman run with process id %d\n", ended), "another process"},
		{fmt.Sprintf("dragoman run with process id %d\n", os.Getpid()), fmt.Sprintf("dragoman run with process id %d", os.Getpid())},
		{"", "another process"},
		{"no number\n", "another process"},
	} {
		p := newPlace(t, "")
		put(t, p.state("dragoman.lock"), tt.text)
		lock, err := os.Open(p.state("dragoman.lock"))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH); err != nil {
			t.Fatal(err)
		}
		_, _, err = app.Admin(t.Context(), p.config(), storage.Caller{Patience: time.Millisecond})
		if want := "is still in use by " + tt.want + " after"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with the text %q Admin = %v, want %q in it", tt.text, err, want)
		}
		_ = lock.Close()
	}
}
