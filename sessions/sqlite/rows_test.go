package sqlite_test

import (
	"path/filepath"
	"testing"

	"dragoman/sessions/rows"
	"dragoman/sessions/rowstest"
	"dragoman/sessions/sqlite"
)

func TestRows(t *testing.T) {
	rowstest.Run(t, func(t *testing.T) rows.Backend {
		return sqlite.Backend(openFile(t, filepath.Join(t.TempDir(), "dragoman.db"), sqlite.Options{}))
	})
}
