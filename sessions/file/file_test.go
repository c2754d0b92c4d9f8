package file_test

import (
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/sessions/engine"
	"dragoman/sessions/file"
	"dragoman/sessions/rowstest"
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
	return openWith(t, filepath.Join(dir, "sessions"), file.Options{})
}

func openWith(t testing.TB, dir string, o file.Options) *engine.Store {
	t.Helper()
	s, err := file.Open(t.Context(), dir, o)
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

func TestStore(t *testing.T) { storetest.Run(t, open) }

func TestStoreClock(t *testing.T) {
	storetest.RunClocked(t, func(t *testing.T, now func() time.Time) *engine.Store {
		return openWith(t, filepath.Join(t.TempDir(), sqlitetest.Unsynced), file.Options{Now: now})
	})
}

func FuzzText(f *testing.F) { storetest.FuzzText(f, open) }

func TestStoreDurable(t *testing.T) { storetest.RunDurable(t, openDir) }

func openRowsAlone(t *testing.T) *engine.Store { return sqlitetest.Open(t, nil) }

func TestCopies(t *testing.T) {
	for name, pair := range map[string][2]func(*testing.T) *engine.Store{
		"ToItself": {open, open}, "ToRows": {open, openRowsAlone}, "FromRows": {openRowsAlone, open},
	} {
		t.Run(name, func(t *testing.T) { storetest.RunCopies(t, pair[0], pair[1]) })
	}
}
