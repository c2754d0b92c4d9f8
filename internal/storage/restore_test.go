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
