package app_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/storage"
)

// Root looks after a daemon that runs as somebody else. What its verbs write
// must be the daemon's, or the next erasure cannot write its audit log.
func TestRootLeavesNothingOfItsOwn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	p := newPlace(t, "")
	p.opens()
	const user = 4242
	err := filepath.WalkDir(p.state(""), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, user, user)
	})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "of root's")
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(elsewhere, p.state("second-name")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.state("audit.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, release, err := app.Admin(t.Context(), p.config(), storage.Caller{Verb: "sessions list"})
	if err != nil {
		t.Fatal(err)
	}
	release()
	for name, want := range map[string]uint32{"audit.log": user, "dragoman.db": user, "second-name": 0} {
		info, err := os.Lstat(p.state(name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; got != want {
			t.Errorf("%s belongs to %d, want %d", name, got, want)
		}
	}
}

// Looking at a place where nothing is makes nothing there.
func TestLookingMakesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	var told string
	c, release, err := app.Admin(t.Context(), p.config(), storage.Caller{Verb: "status", Tell: func(s string) { told = s }})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if s, err := api.ReadStatus.Call(t.Context(), c, api.None{}); err != nil || s.Running {
		t.Errorf("Status = %+v, %v; want one of no daemon", s, err)
	}
	if _, err := os.Lstat(p.state("")); !os.IsNotExist(err) {
		t.Errorf("the state directory is there: %v", err)
	}
	if told == "" {
		t.Error("no word about where it looked")
	}
}
