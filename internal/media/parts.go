package media

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
)

// partBytes is the size of a row that has a part of a blob.
const partBytes = 256 << 10

// parts are blobs in the database.
type parts struct{ db *sql.DB }

func (parts) place() string { return "postgres" }

func (p parts) put(ctx context.Context, id string, from io.ReadSeeker, _ int64) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // says that it is done, after Commit
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

// get reads as many whole parts as it takes: readers ask for about one.
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

// remove does nothing: parts go with the row of their blob.
func (parts) remove(context.Context, string) error { return nil }
