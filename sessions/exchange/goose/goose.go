// Package goose reads the SQLite database in which goose keeps its sessions,
// and the simpler one of programs that follow its pattern.
//
// The promise: the database is never opened itself. It and its write-ahead log
// are copied to a private folder, the log is folded into the copy, the copy gets
// an index of its own, and is then read read-only and immutable. Columns that a version lacks are absent;
// those that this package does not know are handed on. Messages come in the
// order of their row ids, never by the clock.
//
// Failures: a file that is no such database, or a damaged one, is [ErrDatabase].
// If the program writes while the file is copied, the copy may be damaged; that
// is noticed. The package starts no goroutines; Close removes the copy.
package goose

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

// ErrDatabase: the file is not a database of goose's.
var ErrDatabase = errors.New("not a goose database")

// OtherError is an [ErrDatabase]: a whole database, of another program.
type OtherError struct {
	// Application is what the database says to be, in its application_id; 0
	// where it says nothing.
	Application int64
}

func (e *OtherError) Error() string {
	return fmt.Sprintf("goose: open: %v: it has no table of messages", ErrDatabase)
}

// Is makes it an ErrDatabase.
func (e *OtherError) Is(target error) bool { return target == ErrDatabase }

// Session is one session. Its columns are JSON values by name.
type Session struct {
	ID      string
	Columns map[string]json.RawMessage
}

// Message is one row. Its columns are JSON values by name.
type Message map[string]json.RawMessage

// Database is an open copy. It is not safe for concurrent use.
type Database struct {
	dir      string
	db       *sql.DB
	messages []string // columns
}

// Open copies the database at path and opens the copy.
func Open(ctx context.Context, path string) (d *Database, err error) {
	dir, err := os.MkdirTemp("", "dragoman-goose-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("goose: copy: %w", err)
	}
	d = &Database{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
			d = nil
		}
	}()
	name := filepath.Join(dir, "copy.db")
	if err := copyFile(path, name); err != nil {
		return d, err
	}
	if err := copyFile(path+"-wal", name+"-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return d, err
	}
	if err := fold(ctx, name); err != nil {
		return d, err
	}
	if err := d.read(name); err != nil {
		return d, err
	}
	if err := d.look(ctx); err != nil {
		return d, err
	}
	if err := d.db.Close(); err != nil {
		return d, fmt.Errorf("goose: open: %w", err)
	}
	if err := index(ctx, name); err != nil {
		return d, err
	}
	return d, d.read(name)
}

// read opens the copy to read it.
func (d *Database) read(name string) (err error) {
	d.db, err = open(name, "mode=ro&immutable=1&_pragma=query_only(1)&_pragma=trusted_schema(0)")
	return err
}

// ofSession chooses the messages of a session. Programs store its id as a text
// or as a number, so it is compared as a text.
const ofSession = "WHERE CAST(session_id AS TEXT) = ? ORDER BY rowid"

// index makes what [ofSession] needs in a copy that is whole: no index of the
// program's serves a comparison as texts, and without one each session costs a
// walk through the messages of all. A table that takes no index is read slowly.
func index(ctx context.Context, name string) error {
	db, err := open(name, "_pragma=trusted_schema(0)&_pragma=synchronous(0)")
	if err != nil {
		return err
	}
	_, _ = db.ExecContext(ctx, "CREATE INDEX dragoman_of_session ON messages (CAST(session_id AS TEXT))")
	if err := db.Close(); err != nil {
		return fmt.Errorf("goose: index the copy: %w", err)
	}
	return nil
}

// fold brings what stands in the log into the copy.
func fold(ctx context.Context, name string) error {
	if _, err := os.Stat(name + "-wal"); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	db, err := open(name, "_pragma=trusted_schema(0)")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("goose: read the log: %w: %w", ErrDatabase, err)
	}
	return nil
}

func open(name, query string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: name}).EscapedPath(), RawQuery: query}).String())
	if err != nil {
		return nil, fmt.Errorf("goose: open: %w", err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("goose: copy: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("goose: copy: %w", err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("goose: copy: %w", err)
	}
	return nil
}

// Close removes the copy.
func (d *Database) Close() error {
	var err error
	if d.db != nil {
		err = d.db.Close()
		d.db = nil
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// look proves that the copy is whole and has the two tables.
func (d *Database) look(ctx context.Context) error {
	var answer string
	if err := d.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&answer); err != nil || answer != "ok" {
		return fmt.Errorf("goose: open: %w: it is damaged, or was written to while it was copied: %s", ErrDatabase, problem(err, answer))
	}
	var err error
	if d.messages, err = d.columns(ctx, "messages"); err != nil {
		return err
	}
	if !slices.Contains(d.messages, "session_id") || !slices.Contains(d.messages, "role") {
		other := &OtherError{}
		if err := d.db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&other.Application); err != nil {
			return fmt.Errorf("goose: open: %w: %w", ErrDatabase, err)
		}
		return other
	}
	return nil
}

func problem(err error, answer string) string {
	if err != nil {
		return err.Error()
	}
	return answer
}

// columns lists those of a real table; a view could do anything.
func (d *Database) columns(ctx context.Context, table string) ([]string, error) {
	rows, err := d.db.QueryContext(ctx, "SELECT p.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS p WHERE t.type = 'table' AND t.name = ? ORDER BY p.cid", table)
	if err != nil {
		return nil, fmt.Errorf("goose: read: %w: %w", ErrDatabase, err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("goose: read: %w: %w", ErrDatabase, err)
		}
		out = append(out, name)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("goose: read: %w: %w", ErrDatabase, err)
	}
	return out, nil
}

// Sessions lists all sessions, oldest first.
func (d *Database) Sessions(ctx context.Context) ([]Session, error) {
	names, err := d.columns(ctx, "sessions")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, "id") {
		return nil, fmt.Errorf("goose: read: %w: it has no table of sessions", ErrDatabase)
	}
	var out []Session
	err = d.each(ctx, "sessions", names, "ORDER BY rowid", nil, func(columns map[string]json.RawMessage) error {
		var id string
		if json.Unmarshal(columns["id"], &id) != nil { // a number, perhaps
			id = string(columns["id"])
		}
		delete(columns, "id")
		out = append(out, Session{ID: id, Columns: columns})
		return nil
	})
	return out, err
}

// Messages reads those of a session, in the order in which they were stored.
func (d *Database) Messages(ctx context.Context, session string, f func(Message) error) error {
	return d.each(ctx, "messages", d.messages, ofSession, []any{session}, func(columns map[string]json.RawMessage) error {
		return f(columns)
	})
}

// each reads rows as JSON. Nulls and blobs are left out.
func (d *Database) each(ctx context.Context, table string, names []string, rest string, args []any, f func(map[string]json.RawMessage) error) error {
	terms := make([]string, len(names))
	for i, n := range names {
		n = `"` + strings.ReplaceAll(n, `"`, `""`) + `"`
		terms[i] = "CASE typeof(" + n + ") WHEN 'blob' THEN NULL WHEN 'null' THEN NULL ELSE json_quote(" + n + ") END"
	}
	rows, err := d.db.QueryContext(ctx, "SELECT "+strings.Join(terms, ", ")+" FROM "+table+" "+rest, args...)
	if err != nil {
		return fmt.Errorf("goose: read: %w: %w", ErrDatabase, err)
	}
	defer rows.Close()
	for rows.Next() {
		values := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("goose: read: %w: %w", ErrDatabase, err)
		}
		columns := map[string]json.RawMessage{}
		for i, v := range values {
			if v.Valid && json.Valid([]byte(v.String)) {
				columns[names[i]] = json.RawMessage(strings.ToValidUTF8(v.String, "\uFFFD"))
			}
		}
		if err := f(columns); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("goose: read: %w: %w", ErrDatabase, err)
	}
	return nil
}
