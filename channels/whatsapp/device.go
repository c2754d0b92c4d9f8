//go:build !nowhatsapp

package whatsapp

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"dragoman/channels"

	"go.mau.fi/util/dbutil"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/store/sqlstore/upgrades"
	"go.mau.fi/whatsmeow/types"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// deviceFile holds the linked device: an SQLite file or a schema of a PostgreSQL
// database. It has whatsmeow's tables and four of ours: the chat of each person, the
// messages that could not be decrypted, the chats with disappearing messages, and the
// albums that address us.
type deviceFile struct {
	db        *sql.DB
	shared    bool
	wrapped   *dbutil.Database // db, as whatsmeow uses it
	container *sqlstore.Container
}

// open opens the device. With own, it is for its only user, and missing tables are created.
// Without, others may be using it, and the error is [fs.ErrNotExist] if no device was ever
// linked.
func (c *Channel) open(ctx context.Context, own bool) (*deviceFile, error) {
	if c.o.Database == nil {
		flag := os.O_RDWR
		if own {
			flag |= os.O_CREATE
		}
		return openDevice(ctx, c.o.Device, flag, logger{log: c.log})
	}
	db, err := c.o.Database(ctx, own)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: open the linked device: %w", err)
	}
	d := newDeviceFile(db, true, logger{log: c.log})
	if own {
		return createTables(ctx, d, "in the database")
	}
	var there bool
	// createTables creates this table last.
	if err = db.QueryRowContext(ctx, `SELECT to_regclass('dragoman_albums') IS NOT NULL`).Scan(&there); err == nil && !there {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("whatsapp: look for the linked device: %w", errors.Join(err, d.close()))
	}
	return d, nil
}

// openDevice opens the file, with permissions for its owner only, and creates it if flag
// says so. Every commit is synced to disk, because a used key must never look unused
// again.
func openDevice(ctx context.Context, path string, flag int, log logger) (*deviceFile, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: open the device file: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return nil, fmt.Errorf("whatsapp: make the device file private: %w", err)
	}
	dsn := (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String() +
		"?_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: open the device file: %w", err)
	}
	return createTables(ctx, newDeviceFile(db, false, log), path)
}

// newDeviceFile takes ownership of db. It uses one connection, because two would block
// each other during a decryption.
func newDeviceFile(db *sql.DB, shared bool, log logger) *deviceFile {
	db.SetMaxOpenConns(1)
	dialect := dbutil.SQLite
	if shared {
		dialect = dbutil.Postgres
	}
	wrapped, err := dbutil.NewWithDB(db, dialect.String())
	if err != nil {
		panic(err) // The library knows both dialects.
	}
	wrapped.UpgradeTable, wrapped.VersionTable = upgrades.Table, "whatsmeow_version"
	return &deviceFile{db: db, shared: shared, wrapped: wrapped, container: sqlstore.NewWithWrappedDB(wrapped, log)}
}

// createTables creates missing tables and returns d. After an error d is closed.
func createTables(ctx context.Context, d *deviceFile, place string) (*deviceFile, error) {
	err := d.container.Upgrade(ctx)
	for _, table := range []string{
		`CREATE TABLE IF NOT EXISTS dragoman_chats (jid TEXT PRIMARY KEY, chat TEXT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS dragoman_unread (id TEXT PRIMARY KEY, since BIGINT NOT NULL, state INTEGER NOT NULL, data BYTEA NOT NULL)`,
		expiryTable,
		`DROP TABLE IF EXISTS dragoman_seen`, // An older version had it; the inbox does its work now.
		albumTable,
	} {
		if err == nil {
			_, err = d.db.ExecContext(ctx, table)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("whatsapp: prepare the linked device %s: %w", place, errors.Join(err, d.close()))
	}
	return d, nil
}

func (d *deviceFile) close() error { return d.db.Close() }

// device is the linked device, or nil: nothing is linked.
func (d *deviceFile) device(ctx context.Context) (*store.Device, error) {
	all, err := d.container.GetAllDevices(ctx)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: read the device file: %w", err)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all[0], nil
}

// forget removes a device that is no longer linked to a phone.
func (d *deviceFile) forget(ctx context.Context) error {
	device, err := d.device(ctx)
	if err == nil && device != nil {
		err = device.Delete(ctx)
	}
	if err != nil {
		return fmt.Errorf("whatsapp: forget the device: %w", err)
	}
	return nil
}

// complete adds the person's other name if the device file knows it.
func (d *deviceFile) complete(ctx context.Context, who identity) (identity, error) {
	var err error
	switch {
	case !who.known() || !who.pn.IsEmpty() && !who.lid.IsEmpty():
	case who.pn.IsEmpty():
		who.pn, err = d.container.LIDMap.GetPNForLID(ctx, who.lid)
	default:
		who.lid, err = d.container.LIDMap.GetLIDForPN(ctx, who.pn)
	}
	if err != nil {
		return who, fmt.Errorf("whatsapp: look up a person: %w", err)
	}
	return identify(who.pn, who.lid), nil
}

// chatOf is the chat of the conversation with a person. The file remembers it under both
// names from the first message on. Once both names are known, the conversation is the
// one with the number, and join first moves a conversation under the LID into it. That
// happens once per person while the program runs, because the store may have such a
// conversation even if the file does not know it. Without join, or if it fails, a
// conversation that began under a LID continues there, so that it is not split.
func (d *deviceFile) chatOf(ctx context.Context, who identity, join joinFunc) (string, error) {
	if !who.known() {
		return "", &malformed{errors.New("whatsapp: a message without a sender")}
	}
	byNumber, err := d.lookUp(ctx, who.pn)
	if err != nil {
		return "", err
	}
	byLID, err := d.lookUp(ctx, who.lid)
	if err != nil {
		return "", err
	}
	chat, settled := byNumber, true
	if !who.pn.IsEmpty() && !who.lid.IsEmpty() && join != nil {
		settled = join(identify(who.lid).chat(), who.chat())
		if settled {
			chat = who.chat()
		}
	}
	chat = cmp.Or(chat, byLID, who.chat())
	if !settled && byNumber != "" && byLID != "" {
		return chat, nil // The next attempt needs both rows.
	}
	for jid, was := range map[types.JID]string{who.pn: byNumber, who.lid: byLID} {
		if jid.IsEmpty() || was == chat {
			continue
		}
		_, err := d.db.ExecContext(ctx, `INSERT INTO dragoman_chats (jid, chat) VALUES ($1, $2) ON CONFLICT (jid) DO UPDATE SET chat = excluded.chat`, jid.String(), chat)
		if err != nil {
			return "", fmt.Errorf("whatsapp: remember a conversation: %w", err)
		}
	}
	return chat, nil
}

// joinFunc moves the conversation of chat from into that of chat to. It returns false if
// that failed.
type joinFunc func(from, to string) bool

// joiner returns a joinFunc that uses the intake, or nil if the intake cannot join
// conversations.
func (k *connection) joiner(ctx context.Context) joinFunc {
	in, ok := k.in.(channels.Joiner)
	if !ok {
		return nil
	}
	return func(from, to string) bool {
		if k.c.memory.isJoined(to) {
			return true
		}
		old, err := channels.NewKey(k.c.name, from)
		if err != nil {
			return false
		}
		key, err := channels.NewKey(k.c.name, to)
		if err != nil {
			return false
		}
		if err := in.Join(ctx, old, key); err != nil {
			k.c.log.Warn("could not join the conversation under a LID with the one under the number", "err", err)
			return false
		}
		if err := k.file.moveExpiry(ctx, from, to); err != nil {
			k.c.log.Warn("joined two conversations, but could not copy how long messages live there", "err", err)
			return true // The next message tries again.
		}
		k.c.memory.join(from, to)
		return true
	}
}

func (d *deviceFile) lookUp(ctx context.Context, jid types.JID) (chat string, err error) {
	if jid.IsEmpty() {
		return "", nil
	}
	err = d.db.QueryRowContext(ctx, `SELECT chat FROM dragoman_chats WHERE jid = $1`, jid.String()).Scan(&chat)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("whatsapp: look up a conversation: %w", err)
	}
	return chat, nil
}
