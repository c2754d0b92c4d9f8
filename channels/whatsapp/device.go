package whatsapp

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
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

// deviceFile is where the linked device is, an SQLite file or a schema of a
// PostgreSQL database: whatsmeow's tables, and
// four of ours: one that keeps conversations together, one of the messages that
// could not be decrypted, one of chats where messages disappear, and one of
// albums of which more may come.
type deviceFile struct {
	db        *sql.DB
	shared    bool
	wrapped   *dbutil.Database // db, as whatsmeow uses it
	container *sqlstore.Container
}

// own opens the device to use it, and makes its tables if they are missing.
func (c *Channel) own(ctx context.Context) (*deviceFile, error) {
	if c.o.Database == nil {
		return openDevice(ctx, c.o.Device, os.O_RDWR|os.O_CREATE, logger{log: c.log})
	}
	db, err := c.o.Database(ctx, true)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: open the linked device: %w", err)
	}
	return prepared(ctx, newDeviceFile(db, true, logger{log: c.log}), "in the database")
}

// peek opens the device where others may be using it. [fs.ErrNotExist]: there is
// nothing yet.
func (c *Channel) peek(ctx context.Context) (*deviceFile, error) {
	if c.o.Database == nil {
		return openDevice(ctx, c.o.Device, os.O_RDWR, logger{log: c.log})
	}
	db, err := c.o.Database(ctx, false)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: look for the linked device: %w", err)
	}
	var there bool
	// The last table that own makes.
	if err = db.QueryRowContext(ctx, `SELECT to_regclass('dragoman_albums') IS NOT NULL`).Scan(&there); err == nil && !there {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("whatsapp: look for the linked device: %w", err)
	}
	return newDeviceFile(db, true, logger{log: c.log}), nil
}

// openDevice opens the file for its owner's eyes only, and makes it if flag says
// so. Every commit is on disk, because a key that was used must never look unused
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
	return prepared(ctx, newDeviceFile(db, false, log), path)
}

// newDeviceFile takes db. One connection: two would get into each other's way in
// the middle of a decryption.
func newDeviceFile(db *sql.DB, shared bool, log logger) *deviceFile {
	db.SetMaxOpenConns(1)
	dialect := dbutil.SQLite
	if shared {
		dialect = dbutil.Postgres
	}
	wrapped, err := dbutil.NewWithDB(db, dialect.String())
	if err != nil {
		panic(err) // it knows both
	}
	wrapped.UpgradeTable, wrapped.VersionTable = upgrades.Table, "whatsmeow_version"
	return &deviceFile{db: db, shared: shared, wrapped: wrapped, container: sqlstore.NewWithWrappedDB(wrapped, log)}
}

// prepared makes the tables.
func prepared(ctx context.Context, d *deviceFile, place string) (*deviceFile, error) {
	err := d.container.Upgrade(ctx)
	for _, table := range []string{
		`CREATE TABLE IF NOT EXISTS dragoman_chats (jid TEXT PRIMARY KEY, chat TEXT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS dragoman_unread (id TEXT PRIMARY KEY, since BIGINT NOT NULL, state INTEGER NOT NULL, data BYTEA NOT NULL)`,
		expiryTable,
		`DROP TABLE IF EXISTS dragoman_seen`, // of older versions: the inbox knows it
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

// device is the linked device, or nil if there is none.
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

// forget removes the device that the phone does not know any more.
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

// complete adds the name that a message did not carry, if it is known.
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
		return who, fmt.Errorf("whatsapp: look up a person's other name: %w", err)
	}
	return identify(who.pn, who.lid), nil
}

// chatOf is the chat of the conversation with a person. It is remembered from
// the first message on, under both names. When both are known the conversation
// is the one with the number, and join is asked first to bring one under the
// LID into it: once per person while the program runs, as the file may know
// less than the store does. Where there is no join, or it fails, nothing is
// split: a conversation that began under a LID goes on under it.
func (d *deviceFile) chatOf(ctx context.Context, who identity, join joinFunc) (string, error) {
	if !who.known() {
		return "", &strange{errors.New("whatsapp: a message without a sender")}
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
		if settled = join(identify(who.lid).chat(), who.chat()); settled {
			chat = who.chat()
		}
	}
	chat = cmp.Or(chat, byLID, who.chat())
	if !settled && byNumber != "" && byLID != "" {
		return chat, nil // what is known of the other is needed for the next attempt
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

// joinFunc brings the conversation of one chat into another's; false: not now.
type joinFunc func(from, to string) bool

// joiner is the intake's ability to join conversations, nil without it.
func (k *connection) joiner(ctx context.Context) joinFunc {
	in, able := k.in.(channels.Joiner)
	if !able {
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
			level := slog.LevelWarn
			if k.c.saidJoin.Swap(true) {
				level = slog.LevelDebug // once is enough for a store that cannot do it
			}
			k.c.log.Log(ctx, level, "could not join a conversation that began before the number was known with the one that has the number", "err", err)
			return false
		}
		if err := k.file.moveExpires(ctx, from, to); err != nil {
			k.c.log.Warn("two conversations are one now, but how long messages live there is not copied yet", "err", err)
			return true // asked again at the next message
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
