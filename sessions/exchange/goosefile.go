package exchange

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver
)

// ErrDatabase: the file is not a complete goose database.
var ErrDatabase = fmt.Errorf("%w: not a goose database", ErrFormat)

// ownApplicationID is the application_id of the databases of our sqlite store.
const ownApplicationID = 1146241351

// gooseFile is a private copy of a database and its write-ahead log. SQLite never opens
// the other program's file.
type gooseFile struct {
	dir string
	db  *sql.DB
}

func openGooseFile(ctx context.Context, path string) (*gooseFile, error) {
	dir, err := os.MkdirTemp("", "dragoman-goose-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("exchange: copy: %w", err)
	}
	g := &gooseFile{dir: dir}
	name := filepath.Join(dir, "copy.db")
	if err = copyFile(path+"-wal", name+"-wal"); err == nil || errors.Is(err, fs.ErrNotExist) {
		err = copyFile(path, name)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("exchange: copy: %w", err), g.Close())
	}
	if err = g.open(ctx, name); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Close removes the copy.
func (g *gooseFile) Close() error {
	var err error
	if g.db != nil {
		err = g.db.Close()
	}
	return errors.Join(err, os.RemoveAll(g.dir))
}

// ofSession selects the messages of a session. Its id is a text or a number, depending
// on the program, so it is compared as a text.
const ofSession = "WHERE CAST(session_id AS TEXT) = ? ORDER BY rowid"

// open checks that the copy is complete and has real tables, because a view could do
// anything. It creates the index for ofSession, without which each session costs a scan
// of all messages. A table that takes no index is read slowly.
func (g *gooseFile) open(ctx context.Context, name string) error {
	file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: name}).EscapedPath(), RawQuery: "_pragma=trusted_schema(0)&_pragma=synchronous(0)"}
	var err error
	if g.db, err = sql.Open("sqlite", file.String()); err != nil {
		return fmt.Errorf("exchange: open: %w", err)
	}
	g.db.SetMaxOpenConns(1)
	var health string
	if err = g.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&health); err == nil && health != "ok" {
		err = errors.New(health)
	}
	if err != nil {
		return fmt.Errorf("exchange: open: %w: it is damaged, or another program wrote to it while it was copied: %w", ErrDatabase, err)
	}
	var tables, program int64
	err = g.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('sessions', 'messages')), application_id
		FROM pragma_application_id`).Scan(&tables, &program)
	switch {
	case err != nil:
		return fmt.Errorf("exchange: open: %w: %w", ErrDatabase, err)
	case program == ownApplicationID:
		return fmt.Errorf("exchange: read: %w", errOwnStore)
	}
	if err := g.unreadDatabase(ctx); err != nil {
		return err
	}
	if tables != 2 {
		return fmt.Errorf("exchange: open: %w: it has no tables of sessions and messages", ErrDatabase)
	}
	_, _ = g.db.ExecContext(ctx, "CREATE INDEX dragoman_of_session ON messages (CAST(session_id AS TEXT))")
	return nil
}

// each calls f for each row, as JSON without nulls and blobs.
func (g *gooseFile) each(ctx context.Context, query string, args []any, f func(fieldSet) error) error {
	rows, err := g.db.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("exchange: read: %w: %w", ErrDatabase, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("exchange: read: %w: %w", ErrDatabase, err)
	}
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("exchange: read: %w: %w", ErrDatabase, err)
		}
		columns := fieldSet{}
		for i, v := range values {
			if _, blob := v.([]byte); blob || v == nil {
				continue
			}
			if raw, err := encode(v, "", ""); err == nil { // infinity has no JSON
				columns[names[i]] = raw
			}
		}
		if err := f(columns); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("exchange: read: %w: %w", ErrDatabase, err)
	}
	return nil
}
