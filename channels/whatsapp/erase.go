//go:build !nowhatsapp

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

// eraseTimeout is how long Erase waits while a phone is being linked, which cannot be
// interrupted.
const eraseTimeout = time.Minute

// Erase implements [channels.Eraser]. A connected Run releases the device file and
// connects again afterwards. Signal sessions, keys, tokens and the list of LIDs are kept,
// because without them the person and the device could no longer read each other's
// messages.
func (c *Channel) Erase(ctx context.Context, keys []channels.Key, ids []string, then func() error) (entries int, err error) {
	if c.o.Database == nil {
		wait, cancel := context.WithTimeoutCause(ctx, eraseTimeout, errors.New("a phone is being linked"))
		defer cancel()
		if err := c.acquireSlot(wait, c.interrupt); err != nil {
			return 0, err
		}
		defer func() { <-c.slot }()
	}
	file, err := c.open(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, then() // No device was ever linked, or the file was removed.
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

// erasing is one erasure in the file of a device: what it has to erase.
type erasing struct {
	file *deviceFile
	// chats are the conversations that are erased completely, in the form of keys.
	// chatJIDs are the same in WhatsApp's form.
	chats    map[string]bool
	chatJIDs map[types.JID]bool
	// people are those whose messages in all other conversations are erased.
	people map[types.JID]bool
	jids   map[types.JID]bool // chatJIDs and people
}

// newErasing adds every person's other name, because WhatsApp knows people under two and
// the caller may know only one.
func newErasing(ctx context.Context, file *deviceFile, keys []channels.Key, ids []string) (*erasing, error) {
	x := &erasing{file: file, chats: map[string]bool{}, chatJIDs: map[types.JID]bool{}, people: map[types.JID]bool{}, jids: map[types.JID]bool{}}
	for _, k := range keys {
		if err := x.addName(ctx, k.Chat(), x.chatJIDs); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		if err := x.addName(ctx, id, x.people); err != nil {
			return nil, err
		}
	}
	for jid := range x.chatJIDs {
		x.chats[chatName(jid)] = true
	}
	maps.Copy(x.jids, x.chatJIDs)
	maps.Copy(x.jids, x.people)
	return x, nil
}

// addName adds both names of a chat or person to a set. It ignores a name that is not
// WhatsApp's, because no data is kept under it.
func (x *erasing) addName(ctx context.Context, name string, to map[types.JID]bool) error {
	jid, ok := parseChat(name)
	if !ok {
		return nil
	}
	to[jid] = true
	if jid.Server == types.GroupServer {
		return nil
	}
	who, err := x.file.complete(ctx, identify(jid))
	for _, jid := range []types.JID{who.pn, who.lid} {
		if !jid.IsEmpty() {
			to[jid] = true
		}
	}
	return err
}

// chatName is the chat part of the key for jid.
func chatName(jid types.JID) string {
	if who := identify(jid); who.known() {
		return who.chat()
	}
	return jid.String()
}

// erase deletes all rows in one transaction, and then removes their bytes from the file.
func (x *erasing) erase(ctx context.Context) (entries int, err error) {
	db := x.file.db
	if !x.file.shared {
		// Freed pages must not keep their text.
		if _, err := db.ExecContext(ctx, `PRAGMA secure_delete = 1`); err != nil {
			return 0, fmt.Errorf("whatsapp: erase: %w", err)
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("whatsapp: erase: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if entries, err = x.eraseRows(ctx, tx); err != nil {
		return 0, fmt.Errorf("whatsapp: erase: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("whatsapp: erase: %w", err)
	}
	if err := x.file.vacuum(ctx); err != nil {
		return 0, fmt.Errorf("whatsapp: erase: the rows are deleted, but their bytes are still in the device file; erase again: %w", err)
	}
	return entries, nil
}

// eraseRows deletes the rows. entries counts only rows about messages, not numbers, names
// and settings.
func (x *erasing) eraseRows(ctx context.Context, tx *sql.Tx) (entries int, err error) {
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
		{"whatsmeow_message_secrets", "chat_jid", x.jids, types.JID.String, true},
		{"whatsmeow_message_secrets", "sender_jid", x.people, types.JID.String, true},
		{"whatsmeow_retry_buffer", "chat_jid", x.jids, types.JID.String, true},
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
	sent, err := deleteMatching(ctx, tx, "whatsmeow_retry_buffer", "message_id", "plaintext", x.quotesErased)
	if err != nil {
		return 0, err
	}
	unread, err := deleteMatching(ctx, tx, "dragoman_unread", "id", "data", x.erasesUndecrypted)
	return entries + sent + unread, err
}

// deleteRow deletes the rows with that value and returns their number.
func deleteRow(ctx context.Context, tx *sql.Tx, table, column, value string) (n int, err error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE `+column+` = $1`, value)
	if err != nil {
		return 0, fmt.Errorf("from %s: %w", table, err)
	}
	rows, err := done.RowsAffected()
	return int(rows), err
}

// deleteMatching deletes the rows for which gone returns true. It is for tables that name
// people only inside the column data.
func deleteMatching(ctx context.Context, tx *sql.Tx, table, key, data string, gone func(data []byte) bool) (n int, err error) {
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

// erasesUndecrypted reports whether a message that could not be decrypted belongs to an
// erased chat or person.
func (x *erasing) erasesUndecrypted(data []byte) bool {
	var u undecrypted
	if err := json.Unmarshal(data, &u); err != nil {
		return true // We cannot tell whose it is.
	}
	chat := u.Chat.ToNonAD()
	sender := u.Sender.ToNonAD()
	alt := u.SenderAlt.ToNonAD()
	private := !u.Group && (x.chatJIDs[sender] || x.chatJIDs[alt])
	return private || x.chatJIDs[chat] || x.people[sender] || x.people[alt]
}

// quotesErased reports whether an answer quotes an erased person. The answer may be in a
// group that is kept.
func (x *erasing) quotesErased(data []byte) bool {
	var m waE2E.Message
	if proto.Unmarshal(data, &m) != nil {
		return true
	}
	author, err := types.ParseJID(m.GetExtendedTextMessage().GetContextInfo().GetParticipant())
	return err == nil && x.people[author.ToNonAD()]
}

// vacuum rewrites the file and empties its log, so that no page has deleted data.
func (d *deviceFile) vacuum(ctx context.Context) error {
	if d.shared {
		return nil // The store reports what PostgreSQL keeps.
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
