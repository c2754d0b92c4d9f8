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
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"dragoman/sessions"
)

// dsn names the file for the driver with what every connection needs.
func dsn(path string, busy time.Duration) string {
	q := url.Values{}
	q["_pragma"] = []string{
		fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "trusted_schema(0)",
		"secure_delete(1)", // what is deleted is overwritten
		// The WAL shrinks again after a burst.
		fmt.Sprintf("journal_size_limit(%d)", 32<<20),
	}
	return uri(path, q)
}

// readerPragmas are what connections that only read need beside that. Whatever
// one of them has kept of the file is void after the next commit, so more than
// a read or two need would only take memory: SQLite's default is 2 MB each.
const readerPragmas = "&_pragma=query_only(1)&_pragma=cache_size(-512)"

// connect opens the file for the one connection that may write to it.
func connect(path string, busy time.Duration) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, busy))
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func uri(path string, q url.Values) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

// ErrForeign: something is at the place that is no store of this package.
var ErrForeign = errors.New("this is not a Dragoman store")

// Look reports whether a store is at path. It only reads, and SQLite does not
// come near the file: that would leave files beside it. Errors: ErrForeign.
func Look(path string) (found bool, err error) {
	head, err := look(path)
	return head != nil, err
}

// look reads the first bytes of the store at path; nil if there is none.
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
	if err == nil && binary.BigEndian.Uint32(head[68:]) != applicationID { // where an SQLite file says whose it is
		err = fmt.Errorf("%w: it is an SQLite database of another program", ErrForeign)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: look at %s: %w", path, err)
	}
	return head, nil
}

// Newer says why this version cannot use the store at path: a newer one wrote
// it. Nil: it can, or nothing is there. It only reads, without SQLite, as Look
// does; what a newer version that died has left in the files beside is found
// when the store is opened. Errors: ErrForeign.
func Newer(path string) error {
	head, err := look(path)
	if err != nil || head == nil {
		return err
	}
	err = checkVersion(path, int64(binary.BigEndian.Uint32(head[60:]))) // where an SQLite file has user_version
	if err != nil {
		err = fmt.Errorf("sqlite: look at %s: %w", path, err)
	}
	return err
}

func checkVersion(path string, version int64) error {
	if version > schemaVersion {
		return &sessions.NewerError{Path: path, Has: int(version), Knows: schemaVersion}
	}
	return nil
}

// prepareFile makes a new file if there is none. It gets its name only when it is
// complete, so a file without content is never one of ours that a crash left half
// made.
func prepareFile(ctx context.Context, path string, o Options) error {
	found, err := Look(path)
	if err == nil && !found {
		err = create(ctx, path, o.BusyTimeout)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return checkSchema(ctx, path, o.BusyTimeout)
}

// create makes a new store beside path and moves it there.
func create(ctx context.Context, path string, busy time.Duration) error {
	draft := path + ".new"
	for _, name := range []string{draft, draft + "-wal", draft + "-shm"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	db, err := connect(draft, busy)
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

// fsync is the one way to make a file durable. Tests see each call.
var fsync = (*os.File).Sync

// syncPath makes a file or the names in a directory durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(fsync(f), f.Close())
}

// readHeader looks at the first bytes of the file before SQLite does: SQLite
// takes an empty file for a new database and finds a cut one out late.
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
		return head, nil // the sizes in the header may be those of a moment ago
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	if want := page * int64(binary.BigEndian.Uint32(head[28:])); size < want {
		return nil, damaged("it holds %d bytes of %d", size, want)
	}
	return head, nil
}

// checkSchema refuses files of other programs and of other versions, also where
// only the log beside them says so. It only reads: a connection that may write
// would move that log into the file.
func checkSchema(ctx context.Context, path string, busy time.Duration) error {
	db, err := sql.Open("sqlite", uri(path, url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())}}))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
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
	case version < schemaVersion:
		return fmt.Errorf("a development version of Dragoman wrote it (schema %d); this version opens schema %d only: move the file away to begin anew", version, schemaVersion)
	}
	return nil
}

const (
	damage    = "the database file is damaged"
	untouched = "; it was left as it is: restore a backup, or move it away to begin anew"
)

func damaged(format string, args ...any) error {
	return fmt.Errorf(damage+": "+format+untouched, args...)
}

// causes are for the operator, where that is the one to act.
var causes = map[int]string{
	codes.SQLITE_CORRUPT:  damage + untouched,
	codes.SQLITE_NOTADB:   damage + untouched,
	codes.SQLITE_FULL:     "the disk is full",
	codes.SQLITE_READONLY: "the database file or its directory cannot be written",
	codes.SQLITE_CANTOPEN: "the database file or its directory cannot be opened",
	codes.SQLITE_BUSY:     "another program has the database file open",
	codes.SQLITE_LOCKED:   "another program has the database file open",
	codes.SQLITE_IOERR:    "the disk does not read or write",
}

// explain puts the cause before what SQLite says.
func explain(err error) error {
	if e, ok := errors.AsType[*driver.Error](err); ok && causes[e.Code()&0xff] != "" {
		return fmt.Errorf("%s: %w", causes[e.Code()&0xff], err)
	}
	return err
}
