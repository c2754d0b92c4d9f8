package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// toVersion2 makes a version 2 file of one of version 1, in one transaction:
// whenever the process dies, the file is whole in the one form or the other.
// When a generation of version 1 began is told by its first message, or else
// by its day. Rows of conversations that were deleted are left behind; the
// count of the day remembers their numbers.
const toVersion2 = `
BEGIN IMMEDIATE;
ALTER TABLE meta ADD COLUMN prefix TEXT NOT NULL DEFAULT '';
ALTER TABLE meta ADD COLUMN last_key INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET prefix = name;

ALTER TABLE outbox ADD COLUMN did TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX outbox_did ON outbox (did) WHERE did <> '';
CREATE TABLE erased (
	hash TEXT PRIMARY KEY
) WITHOUT ROWID;

ALTER TABLE conversations ADD COLUMN cost REAL NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN settings TEXT NOT NULL DEFAULT '';
ALTER TABLE summaries ADD COLUMN fields TEXT NOT NULL DEFAULT '';

CREATE TABLE days (
	day   TEXT    PRIMARY KEY,
	begun INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO days (day, begun) SELECT day, max(number) FROM generations GROUP BY day;

ALTER TABLE generations RENAME TO generations_1;
CREATE TABLE generations (
	id       INTEGER PRIMARY KEY,
	key_id   INTEGER NOT NULL,
	day      TEXT    NOT NULL,
	number   INTEGER NOT NULL,
	from_seq INTEGER NOT NULL,
	began    INTEGER NOT NULL,
	UNIQUE (day, number)
);
CREATE INDEX generations_key ON generations (key_id);
INSERT INTO generations (key_id, day, number, from_seq, began)
	SELECT g.key_id, g.day, g.number, g.from_seq, 1000000000 * coalesce(
		(SELECT unixepoch(json_extract(CAST(m.rest AS TEXT), '$.at')) FROM messages m WHERE m.id = (g.key_id << 32) + g.from_seq + 1),
		unixepoch(substr(g.day, 1, 4) || '-' || substr(g.day, 5, 2) || '-' || substr(g.day, 7, 2)), 0)
	FROM generations_1 g JOIN conversations c ON c.key_id = g.key_id
	WHERE g.from_seq >= min(c.from_seq, coalesce((SELECT min(m.id) FROM messages m
		WHERE m.id BETWEEN g.key_id << 32 AND (g.key_id + 1 << 32) - 1) - (g.key_id << 32) - 1, c.from_seq))
	ORDER BY g.from_seq, g.day, g.number;
DROP TABLE generations_1;
PRAGMA user_version = 2;
COMMIT;
`

// migrate brings a file of version 1 up to date, after it has put a copy of it
// beside it and said so: it takes as much room as the store, and stays until
// somebody removes it.
func migrate(ctx context.Context, path string, o Options) error {
	db, err := connect(path, o.BusyTimeout)
	if err != nil {
		return err
	}
	name, size, err := backup(ctx, db, path)
	if err != nil {
		return errors.Join(fmt.Errorf("the copy before the change to schema 2: %w", err), db.Close())
	}
	o.Logger.Info("the store is of a former schema; a copy of it as it was is kept beside it", "copy", name, "bytes", size,
		"schema", 1, "new_schema", 2, "remove", "when you will not go back to the version before; the first erasure removes it too")
	if _, err = db.ExecContext(ctx, toVersion2); err != nil {
		err = fmt.Errorf("change to schema 2: %w", err)
	}
	return errors.Join(err, db.Close())
}

// backupSuffix is what a copy of version 1 adds to the name of the file.
const backupSuffix = ".before-v2"

// backup copies the store to a file beside it that was not there before: what
// an earlier change left is never overwritten. A copy gets its name only when
// it is complete, checked and durable.
func backup(ctx context.Context, db *sql.DB, path string) (name string, size int64, err error) {
	name = path + backupSuffix
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", 0, err
		}
		name = fmt.Sprintf("%s%s.%d", path, backupSuffix, n)
	}
	draft := path + backupSuffix + ".new"
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", 0, err
	}
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return "", 0, err
	}
	if err := f.Close(); err != nil {
		return "", 0, err
	}
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, draft); err != nil {
		return "", 0, err
	}
	if err := checkCopy(ctx, draft); err != nil {
		return "", 0, err
	}
	if err := syncPath(draft); err != nil {
		return "", 0, err
	}
	info, err := os.Stat(draft)
	if err != nil {
		return "", 0, err
	}
	if err := os.Rename(draft, name); err != nil {
		return "", 0, err
	}
	return name, info.Size(), syncPath(filepath.Dir(path))
}

// checkCopy reads all of a copy.
func checkCopy(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", uri(path, url.Values{"mode": {"ro"}}))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	var says string
	err = db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&says)
	if err = errors.Join(err, db.Close()); err == nil && says != "ok" {
		err = damaged("%s", says)
	}
	return err
}
