package storage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

var errRefused = errors.New("refused")

// refusing is a database that does not take the place of the old one.
var refusing = &restoring{putInPlace: func(context.Context) (string, error) { return "", errRefused }}

// A restored folder is there after a power cut: the folder around it is synced, after the
// new name is in it.
func TestRestoreSyncsTheFolder(t *testing.T) {
	real := syncDir
	t.Cleanup(func() { syncDir = real })
	for name, full := range map[string]bool{"empty": false, "full": true} {
		t.Run(name, func(t *testing.T) {
			m := &move{to: filepath.Join(t.TempDir(), "state")}
			if full {
				if err := errors.Join(os.Mkdir(m.to, 0o700), os.WriteFile(filepath.Join(m.to, "audit.log"), nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(m.check(true), m.begin("test"), os.WriteFile(m.draft.File("new"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			synced := ""
			syncDir = func(dir string) error {
				if _, err := os.Stat(filepath.Join(m.to, "new")); err == nil {
					synced = dir
				}
				return real(dir)
			}
			if _, err := commitRestore(t.Context(), []*move{m}, nil); err != nil || synced != filepath.Dir(m.to) {
				t.Errorf("commitRestore = %v and synced %q, want %q", err, synced, filepath.Dir(m.to))
			}
		})
	}
}

// TestFailedRestoreIsUndone: if the database fails last, both an empty state directory
// and one with files are as they were.
func TestFailedRestoreIsUndone(t *testing.T) {
	for name, files := range map[string][]string{"Empty": nil, "Full": {"audit.log"}} {
		t.Run(name, func(t *testing.T) {
			m := &move{to: filepath.Join(t.TempDir(), "state")}
			if err := os.Mkdir(m.to, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range files {
				if err := os.WriteFile(filepath.Join(m.to, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(m.check(true), m.begin("test")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(m.draft.File("whatsapp.device.db"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := commitRestore(t.Context(), []*move{m}, refusing); !errors.Is(err, errRefused) {
				t.Errorf("commitRestore = %v, want %v", err, errRefused)
			}
			entries, err := os.ReadDir(m.to)
			if err != nil || len(entries) != len(files) || len(files) > 0 && entries[0].Name() != files[0] {
				t.Errorf("the folder has %v, %v, want %q", entries, err, files)
			}
		})
	}
}
