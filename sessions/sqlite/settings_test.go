package sqlite_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/sessions/sqlite"
)

// A power cut takes what no fsync has forced to the disk, and no test can pull
// the plug of SQLite: so the settings that have it call fsync are looked at on
// the connections themselves.
func TestSettings(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	want := map[string]string{
		"synchronous":  "2", // FULL: each commit is on the disk before it is told
		"journal_mode": "wal", "foreign_keys": "1", "trusted_schema": "0", "busy_timeout": "5000", "journal_size_limit": "33554432", "query_only": "0",
	}
	names := slices.Sorted(maps.Keys(want))
	for _, writer := range []bool{true, false} {
		if !writer {
			want["query_only"] = "1"
		}
		got, err := sqlite.PragmasOf(t.Context(), s, writer, names)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("settings, of the writer %v (-want +got):\n%s", writer, diff)
		}
	}
}

// What this package writes without SQLite is durable before it has its name,
// and its name is before anybody counts on it.
func TestNewFilesAreSynced(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		want []string
	}{
		"a new store": {filepath.Join(t.TempDir(), "dragoman.db"), []string{"dragoman.db.new", "."}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Dir(c.path)
			var got []string
			sqlite.OnSync(t, func(name string) error {
				rel, err := filepath.Rel(dir, name)
				// A draft is synced under the name of a draft, a folder after.
				if _, err2 := os.Stat(filepath.Join(dir, strings.TrimSuffix(rel, ".new"))); strings.HasSuffix(rel, ".new") && err2 == nil {
					t.Errorf("%s has its name before it is durable", rel)
				}
				got = append(got, rel)
				return err
			})
			openFile(t, c.path, sqlite.Options{})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("made durable (-want +got):\n%s", diff)
			}
		})
	}
}

// The call is the system's own: it has nothing to force out of a pipe.
func TestSyncIsFsync(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := sqlite.Sync(w); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Sync of a pipe = %v, want EINVAL", err)
	}
}
