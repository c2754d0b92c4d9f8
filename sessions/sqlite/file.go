package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"dragoman/internal/durable"
	"dragoman/sessions"
)

// busyTimeout is how long a connection waits for another program that has the file open,
// like the sqlite3 shell: five seconds.
const busyTimeout = "busy_timeout(5000)"

var (
	pragmas = []string{
		busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "trusted_schema(0)",
		"secure_delete(1)",             // deleted content is overwritten
		"journal_size_limit(33554432)", // the WAL shrinks again after a burst
		"wal_autocheckpoint(4000)",     // a page that many commits change is copied to the file once
	}
	// Each commit makes a reader's page cache invalid, so that SQLite's default of 2 MB for
	// each reader would be wasted.
	readerPragmas = append(pragmas[:len(pragmas):len(pragmas)], "query_only(1)", "cache_size(-512)")
)

// smallCache is for a connection that writes once: SQLite keeps the memory of a new store's
// pages after that, and a daemon at rest has no use for it.
const smallCache = "cache_size(-64)"

// connect opens the file at path for conns connections. mode is SQLite's: rwc or ro.
func connect(path, mode string, conns int, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"mode": {mode}, "_pragma": pragmas}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err == nil {
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
	}
	return db, err
}

// ErrForeign means that a path has something else than a store of this package.
var ErrForeign = errors.New("this is not a Dragoman store")

// Look reports whether a store is at path. It only reads, and without SQLite, which would
// leave files beside it. Errors: ErrForeign.
func Look(path string) (found bool, err error) {
	head, err := look(path)
	return head != nil, err
}

// look reads the header of the store at path; nil if there is none.
func look(path string) (head []byte, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("%w: it is not a file", ErrForeign)
	case err == nil:
		head, err = readHeader(path, info.Size())
	}
	if err == nil && binary.BigEndian.Uint32(head[68:]) != applicationID {
		err = fmt.Errorf("%w: it is an SQLite database of another program", ErrForeign)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: look at %s: %w", path, err)
	}
	return head, nil
}

// Newer returns an error if a newer version wrote the store at path, so that this one
// cannot use it. Like Look, it only reads the file: a change of version that a dead
// process left in the log is found when the store is opened. Errors: ErrForeign.
func Newer(path string) error {
	head, err := look(path)
	if err != nil || head == nil {
		return err
	}
	if err := checkVersion(path, int64(binary.BigEndian.Uint32(head[60:]))); err != nil {
		return fmt.Errorf("sqlite: look at %s: %w", path, err)
	}
	return nil
}

func checkVersion(path string, version int64) error {
	if version > schemaVersion {
		return &sessions.NewerError{Path: path, Has: int(version), Knows: schemaVersion}
	}
	return nil
}

// prepareFile creates a new file if there is none. A new file gets its name when it is
// complete, so an empty one with that name is damage, and not half of a new store.
func prepareFile(ctx context.Context, path string) error {
	found, err := Look(path)
	if err == nil && !found {
		err = create(ctx, path)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return checkSchema(ctx, path)
}

// create makes a new store beside path and moves it there.
func create(ctx context.Context, path string) error {
	draft := path + ".new"
	for _, name := range []string{draft, draft + "-wal", draft + "-shm"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	db, err := connect(draft, "rwc", 1, append(pragmas[:len(pragmas):len(pragmas)], smallCache)...)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, schema)
	// Closing the last connection moves everything from the WAL to the file.
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := syncPath(draft); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		return err
	}
	return syncPath(filepath.Dir(path))
}

// syncPath makes a file, or the names in a folder, durable. Tests watch it.
var syncPath = durable.SyncDir

// readHeader checks the first bytes of a file before SQLite does, because SQLite takes an
// empty file for a new database, and notices late that one was cut.
func readHeader(path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 100)
	_, err = io.ReadFull(f, head)
	if err = errors.Join(err, f.Close()); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = damaged("it holds only %d bytes", size)
		}
		return nil, err
	}
	if !bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		return nil, damaged("it does not begin like an SQLite database")
	}
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 {
		return head, nil // the file may have another size than the header says
	}
	page := binary.BigEndian.Uint16(head[16:]) // 1 means 64 KiB, which only another program makes
	if want := int64(page) * int64(binary.BigEndian.Uint32(head[28:])); size < want {
		return nil, damaged("it holds %d bytes of %d", size, want)
	}
	return head, nil
}

// checkSchema refuses files of other programs and versions, also where only the log says
// so. It opens the file to read: a connection that may write would move the log into it.
func checkSchema(ctx context.Context, path string) error {
	db, err := connect(path, "ro", 1, busyTimeout)
	if err != nil {
		return err
	}
	var app, version, tables int64
	err = db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('meta', 'keys', 'inbox', 'outbox', 'messages'))`).Scan(&app, &version, &tables)
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	switch {
	case app != applicationID:
		return errors.New("this is an SQLite database of another program")
	case version > schemaVersion:
		return checkVersion(path, version)
	case tables != 5:
		return damaged("its tables are not complete")
	case version < formerSchema:
		return fmt.Errorf("a development version of Dragoman wrote it (schema %d); this version opens schemas %d and %d only: move the file away to start with an empty store", version, formerSchema, schemaVersion)
	}
	return nil
}

const (
	damage    = "the database file is damaged"
	untouched = "; it was not changed: restore a backup, or move it away to start with an empty store"
)

func damaged(format string, args ...any) error {
	return fmt.Errorf(damage+": "+format+untouched, args...)
}

// causes are what the operator has to act on, by SQLite's codes.
var causes = map[int]string{
	codes.SQLITE_CORRUPT:  damage + untouched,
	codes.SQLITE_NOTADB:   damage + untouched,
	codes.SQLITE_FULL:     "the disk is full",
	codes.SQLITE_READONLY: "the database file or its directory cannot be written",
	codes.SQLITE_CANTOPEN: "the database file or its directory cannot be opened",
	codes.SQLITE_BUSY:     "another program has the database file open",
	codes.SQLITE_LOCKED:   "another program has the database file open",
	codes.SQLITE_IOERR:    "the disk cannot be read or written",
}

// explain puts the cause before SQLite's words.
func explain(err error) error {
	if e, ok := errors.AsType[*driver.Error](err); ok && causes[e.Code()&0xff] != "" {
		return fmt.Errorf("%s: %w", causes[e.Code()&0xff], err)
	}
	return err
}
