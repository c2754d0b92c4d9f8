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

	"github.com/google/go-cmp/cmp"
)

// oldView makes what looks like a view in parent that nobody holds any more.
func oldView(t *testing.T, parent, name string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(parent, "dragoman-view-"+name)
	put(t, filepath.Join(path, "dragoman.lock"), "dragoman with process id 1\n")
	put(t, filepath.Join(path, "dragoman.db"), "what was said\n")
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// age makes the folder at path older than a view gets.
func age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// Views are made where others write, too. Of those that were left this user's
// own are removed; what another has laid there, with links to files of this
// user's, is not touched.
func TestSweepTakesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	p, shared := newPlace(t, ""), t.TempDir()
	p.run().stop()
	own := oldView(t, shared, "own", 0o700)
	open := oldView(t, shared, "open", 0o755)
	linked := oldView(t, shared, "linked", 0o700)
	notes := filepath.Join(p.dir, "notes")
	put(t, notes, "my notes\n")
	for _, path := range []string{open, linked} {
		lock := filepath.Join(path, "dragoman.lock")
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(notes, lock); err != nil {
			t.Fatal(err)
		}
	}
	left := []string{open, linked}
	if os.Getuid() == 0 {
		foreign := oldView(t, shared, "foreign", 0o700)
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		left = append(left, foreign)
	}
	for _, path := range append(left, own) {
		age(t, path)
	}
	if _, err := p.migrate(p.parse("sqlite"), p.parse("file:"+filepath.Join(shared, "copy"))); err != nil {
		t.Fatal(err)
	}
	gone(t, own)
	for _, path := range left {
		if _, err := os.Stat(filepath.Join(path, "dragoman.db")); err != nil {
			t.Errorf("what is not this user's alone was removed: %v", err)
		}
	}
	if got, err := os.ReadFile(notes); err != nil || string(got) != "my notes\n" {
		t.Errorf("the file that a link names holds %q (%v), want it as it was", got, err)
	}
}

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

// A view beside the store is a whole copy of it. A start and an erasure remove
// what a killed process left, however young; one that is read is named.
func TestErasureKnowsViews(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	if err := os.Mkdir(p.state(""), 0o700); err != nil {
		t.Fatal(err)
	}
	left := oldView(t, p.state(""), "left", 0o700)
	r := p.run()
	gone(t, left)
	r.ask(r.page("hall"), "good morning")
	oldView(t, p.state(""), "left", 0o700)
	held := oldView(t, p.state(""), "held", 0o700)
	lock, err := os.Open(filepath.Join(held, "dragoman.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	plan, err := r.admin.PlanErase(t.Context(), "web:hall", false)
	if err != nil {
		t.Fatal(err)
	}
	gone(t, left)
	if diff := cmp.Diff([]string{held}, plan.Elsewhere); diff != "" {
		t.Errorf("what stays (-want +got):\n%s", diff)
	}
}

// Who only reads writes nothing into the lock. The text of somebody who has
// ended names nobody.
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
