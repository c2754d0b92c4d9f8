// Package sqlitetest makes stores for tests of packages that use a store. They are real
// SQLite stores in a temporary folder, and are closed with the test. They never call fsync,
// which would take most of the time, and begin as copies of one empty file.
package sqlitetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	driver "modernc.org/sqlite"

	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

// Store is what [Open] returns.
type Store = engine.Store

// Unsynced is a part of the path of each store here. Another SQLite store whose path has it
// does not call fsync either.
const Unsynced = "sqlitetest"

const fileName = Unsynced + ".db"

func init() {
	driver.RegisterConnectionHook(func(c driver.ExecQuerierContext, dsn string) error {
		if !strings.Contains(dsn, Unsynced) {
			return nil
		}
		_, err := c.ExecContext(context.Background(), "PRAGMA synchronous=OFF", nil)
		return err
	})
}

// Open makes an empty store whose clock is now, or time.Now if now is nil.
func Open(t testing.TB, now func() time.Time) *Store {
	t.Helper()
	return OpenIn(t, t.TempDir(), now)
}

// OpenIn is [Open] with a folder. The next store in it, once this one is closed, has what
// this one had, as after a restart.
func OpenIn(t testing.TB, folder string, now func() time.Time) *Store {
	t.Helper()
	path := filepath.Join(folder, fileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		content, err := empty()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// empty is the file of a new store.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, fileName)
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
