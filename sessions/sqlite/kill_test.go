package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
	"dragoman/sessions/storetest"
)

func openChild(ctx context.Context, path string) (*engine.Store, error) {
	return sqlite.Open(ctx, path, sqlite.Options{})
}

// TestCase40Kill kills a process at random moments while it writes. The file must have all
// acknowledged changes, and none by halves.
func TestCase40Kill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	storetest.RunKills(t, path, func(t *testing.T) { integrity(t, path) }, func(t *testing.T) *engine.Store {
		return openFile(t, path, sqlite.Options{})
	})
}

// integrity asks SQLite itself.
func integrity(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity_check = %q, %v", verdict, err)
	}
}
