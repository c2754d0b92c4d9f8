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

// A power cut loses what no fsync has forced to the disk. No test can cut the power, so this
// one checks the settings that make SQLite call fsync.
func TestSettings(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{})
	want := map[string]string{
		"synchronous":  "2", // FULL: each commit is on the disk before it returns
		"journal_mode": "wal", "foreign_keys": "1", "trusted_schema": "0", "busy_timeout": "5000", "journal_size_limit": "33554432", "query_only": "0",
		"wal_autocheckpoint": "4000",
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

// A file that this package writes without SQLite is durable before it gets its name, and
// the name is durable before Open returns.
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
				// A draft is synced before it is renamed, the folder after that.
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

// TestSyncIsFsync: the call is the system's own, which has nothing to force out of
// /dev/null.
func TestSyncIsFsync(t *testing.T) {
	if err := sqlite.Sync(os.DevNull); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Sync of /dev/null = %v, want EINVAL", err)
	}
}
