package media

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
)

// partBytes is the size of the part of a blob in one row.
const partBytes = 256 << 10

// parts is the blobStore in the database.
type parts struct{ db *sql.DB }

func (parts) place() string { return "postgres" }

func (p parts) put(ctx context.Context, id string, from io.ReadSeeker, _ int64) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	buf := make([]byte, partBytes)
	for n := 0; ; n++ {
		got, err := io.ReadFull(from, buf)
		if errors.Is(err, io.EOF) {
			return tx.Commit()
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO media_parts (blob, part, data) VALUES ($1, $2, $3)`, id, n, buf[:got]); err != nil {
			return err
		}
	}
}

// get reads whole parts, since readers ask for about one.
func (p parts) get(ctx context.Context, id string, off, n int64) (io.ReadCloser, error) {
	list, err := p.db.QueryContext(ctx, `SELECT data FROM media_parts WHERE blob = $1 AND part BETWEEN $2 AND $3 ORDER BY part`,
		id, off/partBytes, (off+n-1)/partBytes)
	if err != nil {
		return nil, err
	}
	defer func() { _ = list.Close() }()
	var all []byte
	for list.Next() {
		var data sql.RawBytes
		if err := list.Scan(&data); err != nil {
			return nil, err
		}
		all = append(all, data...)
	}
	if err := list.Err(); err != nil {
		return nil, err
	}
	all = all[min(off%partBytes, int64(len(all))):]
	return io.NopCloser(bytes.NewReader(all[:min(n, int64(len(all)))])), nil
}

// remove does nothing: the parts are deleted with the row of their blob.
func (parts) remove(context.Context, string) error { return nil }
