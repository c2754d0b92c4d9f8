package file_test

import (
	"context"
	"path/filepath"
	"testing"

	"dragoman/sessions/file"
	"dragoman/sessions/rows"
	"dragoman/sessions/rowstest"
)

func TestRows(t *testing.T) {
	rowstest.Run(t, func(t *testing.T) rows.Backend { return open(t).Backend() })
}

// openRows opens a store whose documents are written all the time.
func openRows(ctx context.Context, dir string) (rows.Backend, error) {
	s, err := file.Open(ctx, filepath.Join(dir, "sessions"), hurried)
	if err != nil {
		return nil, err
	}
	return s.Backend(), nil
}

func TestRowsDurable(t *testing.T) { rowstest.RunDurable(t, openRows) }
