package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/sessions/engine"
	"dragoman/sessions/rowstest"
	"dragoman/sessions/sqlite"
	"dragoman/sessions/sqlite/sqlitetest"
	"dragoman/sessions/storetest"
)

func TestMain(m *testing.M) {
	rowstest.Child(openRows)
	if storetest.KillChild(openChild) {
		return
	}
	goleak.VerifyTestMain(m)
}

// open makes a store that does not call fsync: most tests do not cut the power, and would wait
// for the disk most of the time.
func open(t *testing.T) *engine.Store {
	return openDir(t, filepath.Join(t.TempDir(), sqlitetest.Unsynced))
}

func openDir(t *testing.T, dir string) *engine.Store {
	return openFile(t, filepath.Join(dir, "state", "dragoman.db"), sqlite.Options{})
}

func openFile(t testing.TB, path string, o sqlite.Options) *engine.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, o)
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

// TestStore runs the suite and then checks SQLite's plan for every statement that the store
// prepared.
func TestStore(t *testing.T) {
	all := queries{}
	storetest.Run(t, all.open)
	t.Run("plans", func(t *testing.T) { checkPlans(t, all) })
}

func TestStoreClock(t *testing.T) {
	storetest.RunClocked(t, func(t *testing.T, now func() time.Time) *engine.Store {
		return openFile(t, filepath.Join(t.TempDir(), sqlitetest.Unsynced, "dragoman.db"), sqlite.Options{Now: now})
	})
}

func FuzzText(f *testing.F) { storetest.FuzzText(f, open) }

func TestStoreDurable(t *testing.T) { storetest.RunDurable(t, openDir) }

func TestCopies(t *testing.T) { storetest.RunCopies(t, open, open) }
