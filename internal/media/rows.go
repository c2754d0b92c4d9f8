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

// rows is a shelf in a PostgreSQL database. A row is a name of a file, and names
// its contents, its blob, which several rows can do. Blobs are in the database or
// in a bucket, wherever they were put when they came.
type rows struct {
	db    *sql.DB
	spool string // the directory where drafts are written
	here  blobs
	all   map[string]blobs // by the place in their rows
}

// blobs keep contents that never change.
type blobs interface {
	// place is what rows say of it.
	place() string
	put(ctx context.Context, id string, from io.ReadSeeker, size int64) error
	// get gives n bytes from off on, or what there is.
	get(ctx context.Context, id string, off, n int64) (io.ReadCloser, error)
	// remove removes one; that it is gone is no error.
	remove(ctx context.Context, id string) error
}

// limit bounds what is done with rows; moving bounds what is done with contents.
const (
	limit  = 30 * time.Second
	moving = 5 * time.Minute
)

// tables are made by the first node. A blob that no file names says since when:
// it is being put, or it is to be removed.
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

// tablesLock is the advisory lock under which they are made.
const tablesLock = 0x6d656469

// OpenRows opens a store in a PostgreSQL database, where it makes its tables in
// the schema that db uses. Contents go into the database, or with intoBucket into
// bucket; those that an earlier configuration put elsewhere are read from there.
// Drafts are written in the directory spool. The store closes db.
func OpenRows(ctx context.Context, db *sql.DB, bucket *Bucket, intoBucket bool, spool string, o Options) (*Store, error) {
	s := rows{db: db, spool: spool, here: parts{db}}
	s.all = map[string]blobs{s.here.place(): s.here}
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

func (s rows) close() error { return s.db.Close() }

// transact runs f in a transaction.
func (s rows) transact(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // says that it is done, after Commit
	if err := f(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// do is transact within a limit.
func (s rows) do(f func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return s.transact(ctx, f)
}

// look reads one row.
func (s rows) look(to []any, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := s.db.QueryRowContext(ctx, query, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return fs.ErrNotExist
	}
	return err
}

// column reads one text of each row.
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

// spooled is a draft in a file without a name, which goes with the process.
type spooled struct {
	*os.File
	s rows
}

func (s rows) create() (draft, error) {
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

// publish puts the contents away and commits the name after that. A row for the
// blob is first, so that what a crash leaves in between is found and removed.
func (f spooled) publish(name string, at time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), moving)
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
		if err := loosen(ctx, tx, name); err != nil {
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

// loosen takes names away, and notes which of their blobs have no other. Who
// gives or takes names of one blob waits for each other.
func loosen(ctx context.Context, tx *sql.Tx, names ...string) error {
	// The rows of names, $1 their folders and $2 what is after the slash.
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

// collect removes the blobs that nothing names, if they cannot be ones that are
// being put.
func (s rows) collect() error {
	ctx, cancel := context.WithTimeout(context.Background(), moving)
	defer cancel()
	list, err := column(ctx, s.db, `SELECT id || ' ' || place FROM media_blobs WHERE unnamed < clock_timestamp() - make_interval(secs => $1)`, (2 * moving).Seconds())
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

func (s rows) open(name string) (content, int64, error) {
	var id, place string
	var size int64
	err := s.look([]any{&id, &place, &size}, `SELECT b.id, b.place, f.size FROM media_files f JOIN media_blobs b ON b.id = f.blob WHERE folder = $1 AND name = $2`,
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

// opened is an open blob.
type opened struct {
	*bufio.Reader
	at blobs
	id string
}

// ReadAt implements [io.ReaderAt].
func (f *opened) ReadAt(p []byte, off int64) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
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

// Close has nothing to close.
func (f *opened) Close() error { return nil }

func (s rows) names(name string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return column(ctx, s.db, `SELECT folder || '/' || name FROM media_files WHERE name = $1 ORDER BY folder <> $2, folder`, path.Base(name), path.Dir(name))
}

func (s rows) folders() ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return column(ctx, s.db, `SELECT DISTINCT folder FROM media_files`)
}

func (s rows) list(folder string) (all []entry, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
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

func (s rows) rename(from, to string) error {
	return s.do(func(ctx context.Context, tx *sql.Tx) error {
		if err := add(ctx, tx, from, to, true); err != nil {
			return err
		}
		return loosen(ctx, tx, from)
	})
}

func (s rows) link(from, to string) error {
	return s.do(func(ctx context.Context, tx *sql.Tx) error { return add(ctx, tx, from, to, false) })
}

// add gives the file from the second name to.
func add(ctx context.Context, tx *sql.Tx, from, to string, replace bool) error {
	var blob string
	err := tx.QueryRowContext(ctx, `SELECT b.id FROM media_files f JOIN media_blobs b ON b.id = f.blob WHERE folder = $1 AND name = $2 FOR UPDATE OF b`, path.Dir(from), path.Base(from)).Scan(&blob)
	if errors.Is(err, sql.ErrNoRows) {
		return fs.ErrNotExist
	}
	if err == nil && replace && from != to {
		err = loosen(ctx, tx, to)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO media_files (folder, name, blob, size, written)
			SELECT $3, $4, blob, size, written FROM media_files WHERE folder = $1 AND name = $2 ON CONFLICT DO NOTHING`,
			path.Dir(from), path.Base(from), path.Dir(to), path.Base(to))
	}
	return err
}

func (s rows) unlink(names ...string) ([]string, error) {
	err := s.do(func(ctx context.Context, tx *sql.Tx) error { return loosen(ctx, tx, names...) })
	if err != nil {
		return nil, err
	}
	return names, s.collect()
}

func (s rows) drop(folder string) error {
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

func (s rows) used() (used int64, err error) {
	err = s.look([]any{&used}, `SELECT coalesce(sum(size), 0)::bigint FROM media_files`)
	return used, err
}
