package media

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// postgres is a backend in a PostgreSQL database. A row of media_files is a name of a
// file and refers to its content, a blob; a file with several names has several rows.
// The configuration at the time decided whether a blob is in the database or in a bucket.
type postgres struct {
	db    *sql.DB
	spool string // the directory where drafts are written
	here  blobStore
	all   map[string]blobStore // by place
}

// blobStore keeps blobs, which never change.
type blobStore interface {
	// place is what the rows of its blobs say.
	place() string
	put(ctx context.Context, id string, from io.ReadSeeker, size int64) error
	// get returns n bytes from off on, or less at the end.
	get(ctx context.Context, id string, off, n int64) (io.ReadCloser, error)
	// remove removes a blob. A missing one is no error.
	remove(ctx context.Context, id string) error
}

// queryTimeout bounds work on rows, blobTimeout work on blobs.
const (
	queryTimeout = 30 * time.Second
	blobTimeout  = 5 * time.Minute
)

// tables are created by the first node. unnamed is set while no file has the blob: it is
// being put, or waits for its removal.
const tables = `
CREATE TABLE IF NOT EXISTS media_blobs (
	id text PRIMARY KEY,
	place text NOT NULL,
	unnamed timestamptz DEFAULT clock_timestamp());
CREATE TABLE IF NOT EXISTS media_parts (
	blob text NOT NULL REFERENCES media_blobs ON DELETE CASCADE,
	part int NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (blob, part));
ALTER TABLE media_parts ALTER data SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS media_files (
	folder text NOT NULL,
	name text NOT NULL,
	blob text NOT NULL REFERENCES media_blobs,
	size bigint NOT NULL,
	written timestamptz NOT NULL,
	PRIMARY KEY (folder, name));
CREATE INDEX IF NOT EXISTS media_files_name ON media_files (name);
CREATE INDEX IF NOT EXISTS media_files_blob ON media_files (blob);
CREATE INDEX IF NOT EXISTS media_blobs_unnamed ON media_blobs (unnamed) WHERE unnamed IS NOT NULL;`

// tablesLock is the advisory lock under which they are created.
const tablesLock = 0x6d656469

// OpenPostgres opens a store in a PostgreSQL database and creates its tables in the
// schema that db uses. It puts contents into the database, or with intoBucket into
// bucket, and reads those that an earlier configuration put into the other one. It writes
// drafts in the directory spool. The store closes db.
func OpenPostgres(ctx context.Context, db *sql.DB, bucket *Bucket, intoBucket bool, spool string, o Options) (*Store, error) {
	s := postgres{db: db, spool: spool, here: parts{db}}
	s.all = map[string]blobStore{s.here.place(): s.here}
	if bucket != nil {
		s.all[bucket.place()] = bucket
	}
	if intoBucket {
		s.here = bucket
	}
	err := os.MkdirAll(spool, 0o700)
	if err == nil {
		err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
			var there bool
			err := tx.QueryRowContext(ctx, `SELECT to_regclass('media_blobs_unnamed') IS NOT NULL`).Scan(&there)
			if err != nil || there {
				return err
			}
			if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, tablesLock); err != nil {
				return err
			}
			for query := range strings.SplitSeq(tables, ";\n") {
				if _, err := tx.ExecContext(ctx, query); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("media: open the tables of files: %w", err)
	}
	o.Shared = true
	return newStore(s, o), nil
}

func (s postgres) close() error { return s.db.Close() }

func (s postgres) transact(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := f(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// update is transact within queryTimeout.
func (s postgres) update(f func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	return s.transact(ctx, f)
}

func (s postgres) queryRow(to []any, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	err := s.db.QueryRowContext(ctx, query, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return fs.ErrNotExist
	}
	return err
}

func column(ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string, args ...any,
) (all []string, err error) {
	list, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = list.Close() }()
	for list.Next() {
		var s string
		if err := list.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, list.Err()
}

// spooled is a draft in an unnamed file, which ends with the process.
type spooled struct {
	*os.File
	s postgres
}

func (s postgres) create() (draft, error) {
	f, err := os.CreateTemp(s.spool, "draft-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return spooled{f, s}, nil
}

func (f spooled) discard() { _ = f.Close() }

// publish stores the blob and then commits the name. It inserts the row of the blob
// first, so that collect finds a blob that a crash left.
func (f spooled) publish(name string, at time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), blobTimeout)
	defer cancel()
	s, id := f.s, rand.Text()
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, `INSERT INTO media_blobs (id, place) VALUES ($1, $2)`, id, s.here.place())
	}
	if err == nil {
		err = s.here.put(ctx, id, f, size)
	}
	if err != nil {
		return err
	}
	return s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := removeNames(ctx, tx, name); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO media_files (folder, name, blob, size, written) VALUES ($1, $2, $3, $4, $5)`,
			path.Dir(name), path.Base(name), id, size, cmp.Or(at, time.Now()))
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE media_blobs SET unnamed = NULL WHERE id = $1`, id)
		}
		return err
	})
}

// removeNames removes names and marks their blobs that have no other name. It locks the
// blobs, as addName does, so that both see all names.
func removeNames(ctx context.Context, tx *sql.Tx, names ...string) error {
	// $1 are the folders of names, $2 the parts after the slash.
	const ofNames = ` (folder, name) IN (SELECT * FROM unnest($1::text[], $2::text[]))`
	var folders, files []string
	for _, name := range names {
		folders, files = append(folders, path.Dir(name)), append(files, path.Base(name))
	}
	ids, err := column(ctx, tx, `SELECT id FROM media_blobs WHERE id IN (SELECT blob FROM media_files WHERE`+ofNames+`) ORDER BY id FOR UPDATE`, folders, files)
	if err != nil || len(ids) == 0 {
		return err
	}
	if _, err = tx.ExecContext(ctx, `DELETE FROM media_files WHERE`+ofNames, folders, files); err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE media_blobs SET unnamed = '-infinity' WHERE id = ANY($1) AND NOT EXISTS (SELECT 1 FROM media_files WHERE blob = id)`, ids)
	}
	return err
}

// collect removes the unnamed blobs that no node can still be putting.
func (s postgres) collect() error {
	ctx, cancel := context.WithTimeout(context.Background(), blobTimeout)
	defer cancel()
	list, err := column(ctx, s.db, `SELECT id || ' ' || place FROM media_blobs WHERE unnamed < clock_timestamp() - make_interval(secs => $1)`, (2 * blobTimeout).Seconds())
	if err != nil {
		return err
	}
	var errs []error
	for _, item := range list {
		id, place, _ := strings.Cut(item, " ")
		at := s.all[place]
		if at == nil {
			errs = append(errs, fmt.Errorf("a file that was removed is still in %s, which media.url does not name now", place))
			continue
		}
		err := at.remove(ctx, id)
		if err == nil {
			_, err = s.db.ExecContext(ctx, `DELETE FROM media_blobs WHERE id = $1 AND unnamed IS NOT NULL`, id)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s postgres) open(name string) (content, int64, error) {
	var id, place string
	var size int64
	err := s.queryRow([]any{&id, &place, &size}, `SELECT b.id, b.place, f.size FROM media_files f JOIN media_blobs b ON b.id = f.blob WHERE folder = $1 AND name = $2`,
		path.Dir(name), path.Base(name))
	if err == nil && s.all[place] == nil {
		err = fmt.Errorf("the file is in %s, which media.url does not name now", place)
	}
	if err != nil {
		return nil, 0, err
	}
	f := &opened{at: s.all[place], id: id}
	f.Reader = bufio.NewReaderSize(io.NewSectionReader(f, 0, size), partBytes)
	return f, size, nil
}

// opened is a stored file that is read from a blob store. Each ReadAt is one
// request, so Reader reads ahead.
type opened struct {
	*bufio.Reader
	at blobStore
	id string
}

// ReadAt implements [io.ReaderAt].
func (f *opened) ReadAt(p []byte, off int64) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	r, err := f.at.get(ctx, f.id, off, int64(len(p)))
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, errors.Join(err, r.Close())
}

// Close does nothing.
func (f *opened) Close() error { return nil }

func (s postgres) names(name string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	return column(ctx, s.db, `SELECT folder || '/' || name FROM media_files WHERE name = $1 ORDER BY folder <> $2, folder`, path.Base(name), path.Dir(name))
}

func (s postgres) folders() ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	return column(ctx, s.db, `SELECT DISTINCT folder FROM media_files`)
}

func (s postgres) list(folder string) (all []entry, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	list, err := s.db.QueryContext(ctx, `SELECT name, size, written FROM media_files WHERE folder = $1`, folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = list.Close() }()
	for list.Next() {
		var e entry
		if err := list.Scan(&e.name, &e.size, &e.at); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, list.Err()
}

func (s postgres) rename(from, to string) error {
	return s.update(func(ctx context.Context, tx *sql.Tx) error {
		if err := addName(ctx, tx, from, to, true); err != nil {
			return err
		}
		return removeNames(ctx, tx, from)
	})
}

func (s postgres) link(from, to string) error {
	return s.update(func(ctx context.Context, tx *sql.Tx) error { return addName(ctx, tx, from, to, false) })
}

// addName gives the file from another name. With replace, a file that has this name
// loses it, else that file stays.
func addName(ctx context.Context, tx *sql.Tx, from, to string, replace bool) error {
	var blob string
	err := tx.QueryRowContext(ctx, `SELECT b.id FROM media_files f JOIN media_blobs b ON b.id = f.blob WHERE folder = $1 AND name = $2 FOR UPDATE OF b`, path.Dir(from), path.Base(from)).Scan(&blob)
	if errors.Is(err, sql.ErrNoRows) {
		return fs.ErrNotExist
	}
	if err == nil && replace && from != to {
		err = removeNames(ctx, tx, to)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO media_files (folder, name, blob, size, written)
			SELECT $3, $4, blob, size, written FROM media_files WHERE folder = $1 AND name = $2 ON CONFLICT DO NOTHING`,
			path.Dir(from), path.Base(from), path.Dir(to), path.Base(to))
	}
	return err
}

func (s postgres) unlink(names ...string) ([]string, error) {
	err := s.update(func(ctx context.Context, tx *sql.Tx) error { return removeNames(ctx, tx, names...) })
	if err != nil {
		return nil, err
	}
	return names, s.collect()
}

func (s postgres) drop(folder string) error {
	list, err := s.list(folder)
	if err != nil {
		return err
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = folder + "/" + e.name
	}
	_, err = s.unlink(names...)
	return err
}

func (s postgres) used() (used int64, err error) {
	err = s.queryRow([]any{&used}, `SELECT coalesce(sum(size), 0)::bigint FROM media_files`)
	return used, err
}
