package skills_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dragoman/agent/skills"
)

// What root accepts, as by sudo, can be read by the user of the service.
func TestPinsOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write for somebody else")
	}
	dir := t.TempDir()
	const nobody = 65534
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, skills.PinsName)
	if err := (skills.Pins{"tidy": "hash"}).Write(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != nobody {
		t.Errorf("the file belongs to %d, want the owner of its folder", owner)
	}
}
