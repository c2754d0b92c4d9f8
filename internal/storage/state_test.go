package storage

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A backup looks for linked devices by a pattern, whatever the folder is called.
func TestNamedInAFolderLikeAPattern(t *testing.T) {
	dir := &Dir{Path: filepath.Join(t.TempDir(), "[bot]*")}
	if err := os.Mkdir(dir.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.device.db", "b.device.db", "dragoman.db"} {
		if err := os.WriteFile(dir.File(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{dir.File("a.device.db"), dir.File("b.device.db")}
	if got := dir.Named("*" + deviceSuffix); !slices.Equal(got, want) {
		t.Errorf("Named = %q, want %q", got, want)
	}
}
