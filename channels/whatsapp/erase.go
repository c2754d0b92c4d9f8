package whatsapp

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"dragoman/channels"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// eraseLimit is how long the device file may be in use by somebody who cannot
// be made to let go of it: a phone that is being linked.
const eraseLimit = time.Minute

// Erase implements [channels.Eraser]. A Run that is connected lets go of the
// device file and connects again afterwards. Signal sessions, keys, the list of
// LIDs and tokens stay: without them the person and the device could not read
// each other any more.
func (c *Channel) Erase(ctx context.Context, keys []channels.Key, ids []string, then func() error) (entries int, err error) {
	if c.o.Database == nil {
		wait, cancel := context.WithTimeoutCause(ctx, eraseLimit, errors.New("a phone is being linked"))
		defer cancel()
		if err := c.takeSlot(wait, c.interrupt); err != nil {
			return 0, err
		}
		defer func() { <-c.slot }()
	}
	file, err := c.peek(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, then() // nothing was ever linked, or its owner removed the file
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.close()) }()
	x, err := newErasing(ctx, file, keys, ids)
	if err != nil {
		return 0, err
	}
	if entries, err = x.erase(ctx); err != nil {
		return 0, err
	}
	c.memory.erase(x.chats, x.jids)
	c.albums.erase(x.chats, x.people)
	return entries, then()
}

// erasing is what one erasure is about.
type erasing struct {
	file *deviceFile
	// chats are the conversations that go as a whole: as keys have them, and
	// those jids as WhatsApp does.
	chats    map[string]bool
	chatJIDs map[types.JID]bool
	// people are those whose part in all other conversations goes too.
	people map[types.JID]bool
	jids   map[types.JID]bool // of both
}

// newErasing completes every person's names: WhatsApp knows them under two, and
// who asks may know one.
func newErasing(ctx context.Context, file *deviceFile, keys []channels.Key, ids []string) (*erasing, error) {
	x := &erasing{file: file, chats: map[string]bool{}, chatJIDs: map[types.JID]bool{}, people: map[types.JID]bool{}, jids: map[types.JID]bool{}}
	for _, k := range keys {
		if err := x.add(ctx, k.Chat(), x.chatJIDs, true); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		if err := x.add(ctx, id, x.people, false); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// add puts both names of what a chat or an id names into a set. A name that
// is none of WhatsApp's adds nothing: nothing is kept under it.
func (x *erasing) add(ctx context.Context, name string, to map[types.JID]bool, chat bool) error {
	jid, ok := named(name)
	if !ok {
		return nil
	}
	names := []types.JID{jid}
	if jid.Server != types.GroupServer {
		who, err := x.file.complete(ctx, identify(jid))
		if err != nil {
			return err
		}
		names = []types.JID{who.pn, who.lid}
	}
	for _, jid := range names {
		if jid.IsEmpty() {
			continue
		}
		to[jid], x.jids[jid] = true, true
		if chat {
			x.chats[chatName(jid)] = true
		}
	}
	return nil
}

// chatName is a chat as a key has it.
func chatName(jid types.JID) string {
	if who := identify(jid); who.known() {
		return who.chat()
	}
	return jid.String()
}

// erase takes it all out in one transaction, and leaves nothing of it in the
// file but what the tables hold.
func (x *erasing) erase(ctx context.Context) (entries int, err error) {
	db := x.file.db
	if !x.file.shared {
		// Pages that become free must not keep their words until they are used again.
		if _, err := db.ExecContext(ctx, `PRAGMA secure_delete = 1`); err != nil {
			return 0, fmt.Errorf("whatsapp: erase: %w", err)
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("whatsapp: erase: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // says that it is done, after Commit
	if entries, err = x.eraseRows(ctx, tx); err != nil {
		return 0, fmt.Errorf("whatsapp: erase: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("whatsapp: erase: %w", err)
	}
	if err := x.file.wipe(ctx); err != nil {
		return 0, fmt.Errorf("whatsapp: erase: traces are left in the device file; erase again: %w", err)
	}
	return entries, nil
}

// eraseRows deletes what is kept. Numbers, names and settings of a person are no
// entries about a message, and not counted.
func (x *erasing) eraseRows(ctx context.Context, tx *sql.Tx) (entries int, err error) {
	chats := map[types.JID]bool{}
	maps.Copy(chats, x.chatJIDs)
	maps.Copy(chats, x.people)
	for _, t := range []struct {
		table, column string
		of            map[types.JID]bool
		name          func(types.JID) string
		counts        bool
	}{
		{"dragoman_expiry", "chat", x.jids, chatName, false},
		{"dragoman_chats", "jid", x.jids, types.JID.String, false},
		{"dragoman_albums", "chat", x.chatJIDs, chatName, true},
		{"dragoman_albums", "author", x.people, chatName, true},
		{"whatsmeow_contacts", "their_jid", x.jids, types.JID.String, false},
		{"whatsmeow_chat_settings", "chat_jid", x.jids, types.JID.String, false},
		{"whatsmeow_message_secrets", "chat_jid", chats, types.JID.String, true},
		{"whatsmeow_message_secrets", "sender_jid", x.people, types.JID.String, true},
		{"whatsmeow_retry_buffer", "chat_jid", chats, types.JID.String, true},
	} {
		for jid := range t.of {
			n, err := deleteRow(ctx, tx, t.table, t.column, t.name(jid))
			if err != nil {
				return 0, err
			}
			if t.counts {
				entries += n
			}
		}
	}
	sent, err := eraseRead(ctx, tx, "whatsmeow_retry_buffer", "message_id", "plaintext", x.quotes)
	if err != nil {
		return 0, err
	}
	unread, err := eraseRead(ctx, tx, "dragoman_unread", "id", "data", x.unread)
	return entries + sent + unread, err
}

func deleteRow(ctx context.Context, tx *sql.Tx, table, column, value string) (n int, err error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE `+column+` = $1`, value)
	if err != nil {
		return 0, fmt.Errorf("from %s: %w", table, err)
	}
	rows, err := done.RowsAffected()
	return int(rows), err
}

// eraseRead reads a table where what names somebody is inside of data, and
// deletes row by row.
func eraseRead(ctx context.Context, tx *sql.Tx, table, key, data string, gone func(data []byte) bool) (n int, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+key+`, `+data+` FROM `+table)
	if err != nil {
		return 0, fmt.Errorf("from %s: %w", table, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var keys []string
	for rows.Next() {
		var id string
		var about sql.RawBytes
		if err := rows.Scan(&id, &about); err != nil {
			return 0, fmt.Errorf("from %s: %w", table, err)
		}
		if gone(about) {
			keys = append(keys, id)
		}
	}
	if err := rows.Err(); err != nil {
		return 0, fmt.Errorf("from %s: %w", table, err)
	}
	for _, id := range keys {
		if _, err := deleteRow(ctx, tx, table, key, id); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}

// unread reports whether a message that could not be decrypted is about what is
// erased.
func (x *erasing) unread(data []byte) bool {
	var u unread
	if err := json.Unmarshal(data, &u); err != nil {
		return true // nobody can read whose it is
	}
	chat, sender, alt := u.Chat.ToNonAD(), u.Sender.ToNonAD(), u.SenderAlt.ToNonAD()
	private := !u.Group && (x.chatJIDs[sender] || x.chatJIDs[alt])
	return private || x.chatJIDs[chat] || x.people[sender] || x.people[alt]
}

// quotes reports whether an answer in a group that stays quotes somebody who does
// not.
func (x *erasing) quotes(data []byte) bool {
	var m waE2E.Message
	if proto.Unmarshal(data, &m) != nil {
		return true
	}
	author, err := types.ParseJID(m.GetExtendedTextMessage().GetContextInfo().GetParticipant())
	return err == nil && x.people[author.ToNonAD()]
}

// wipe writes the file anew and empties its log, so that no page holds what
// was deleted.
func (d *deviceFile) wipe(ctx context.Context) error {
	if d.shared {
		return nil // what PostgreSQL keeps is told with that of the store
	}
	if _, err := d.db.ExecContext(ctx, `VACUUM`); err != nil {
		return err
	}
	var busy, frames, moved int
	if err := d.db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("another program is reading the device file, so its log cannot be emptied")
	}
	return nil
}
