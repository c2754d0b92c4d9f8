package whatsapp

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
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
	for _, t := range x.tables() {
		n, err := t.erase(ctx, tx)
		if err != nil {
			return 0, fmt.Errorf("whatsapp: erase from %s: %w", t.name, err)
		}
		if !t.quiet {
			entries += n
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("whatsapp: erase: %w", err)
	}
	if err := x.file.wipe(ctx); err != nil {
		return 0, fmt.Errorf("whatsapp: erase: traces are left in the device file; erase again: %w", err)
	}
	return entries, nil
}

// table is one of the device file, and which of its rows are to go.
type table struct {
	name, key, about string // columns, key first
	gone             func(about []sql.RawBytes) bool
	quiet            bool // its rows are no entries about a message
}

func (x *erasing) tables() []table {
	is := func(r []sql.RawBytes) bool { return x.jids[parsed(r[0])] }
	return []table{
		{name: "dragoman_expiry", key: "chat", about: "chat", gone: func(r []sql.RawBytes) bool {
			jid, ok := named(string(r[0]))
			return ok && x.jids[jid]
		}, quiet: true},
		{name: "dragoman_albums", key: "id, chat, author", about: "chat, author", gone: func(r []sql.RawBytes) bool {
			author, ok := named(string(r[1]))
			return x.chats[string(r[0])] || ok && x.people[author]
		}},
		{name: "dragoman_unread", key: "id", about: "data", gone: x.unread},
		{name: "dragoman_chats", key: "jid", about: "jid", gone: is, quiet: true},
		{name: "whatsmeow_retry_buffer", key: "our_jid, chat_jid, message_id", about: "chat_jid, format, plaintext", gone: x.sent},
		{name: "whatsmeow_message_secrets", key: "our_jid, chat_jid, sender_jid, message_id", about: "chat_jid, sender_jid", gone: x.secret},
		{name: "whatsmeow_contacts", key: "our_jid, their_jid", about: "their_jid", gone: is, quiet: true},
		{name: "whatsmeow_chat_settings", key: "our_jid, chat_jid", about: "chat_jid", gone: is, quiet: true},
	}
}

// erase reads the table, because most of what names somebody there is inside
// of JSON or protocol messages, and deletes row by row.
func (t table) erase(ctx context.Context, tx *sql.Tx) (n int, err error) {
	keys, err := t.find(ctx, tx)
	if err != nil {
		return 0, err
	}
	query := `DELETE FROM ` + t.name + ` WHERE (` + t.key + `) IN (VALUES (`
	for i := range strings.Count(t.key, ",") + 1 {
		query += fmt.Sprintf("$%d, ", i+1)
	}
	query = strings.TrimSuffix(query, ", ") + `))`
	for _, key := range keys {
		if _, err := tx.ExecContext(ctx, query, key...); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}

func (t table) find(ctx context.Context, tx *sql.Tx) (keys [][]any, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+t.key+`, `+t.about+` FROM `+t.name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	width := strings.Count(t.key, ",") + 1
	about := make([]sql.RawBytes, strings.Count(t.about, ",")+1)
	for rows.Next() {
		key, to := make([]any, width), []any(nil)
		for i := range key {
			to = append(to, &key[i])
		}
		for i := range about {
			to = append(to, &about[i])
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		if t.gone(about) {
			keys = append(keys, key)
		}
	}
	return keys, rows.Err()
}

// unread, secret and sent report whether a row is about what is erased.
func (x *erasing) unread(r []sql.RawBytes) bool {
	var u unread
	if err := json.Unmarshal(r[0], &u); err != nil {
		return true // nobody can read whose it is
	}
	chat, sender, alt := u.Chat.ToNonAD(), u.Sender.ToNonAD(), u.SenderAlt.ToNonAD()
	private := !u.Group && (x.chatJIDs[sender] || x.chatJIDs[alt])
	return private || x.chatJIDs[chat] || x.people[sender] || x.people[alt]
}

func (x *erasing) secret(r []sql.RawBytes) bool {
	chat, sender := parsed(r[0]), parsed(r[1])
	return x.chatJIDs[chat] || x.people[chat] || x.people[sender]
}

// sent is about what was written to a chat. An answer in a group that stays
// goes if it quotes somebody who does not.
func (x *erasing) sent(r []sql.RawBytes) bool {
	chat := parsed(r[0])
	if x.chatJIDs[chat] || x.people[chat] {
		return true
	}
	var m waE2E.Message
	if string(r[1]) != "wa" || proto.Unmarshal(r[2], &m) != nil {
		return true
	}
	return x.people[parsed([]byte(m.GetExtendedTextMessage().GetContextInfo().GetParticipant()))]
}

// parsed is a JID without its device, or zero.
func parsed(text []byte) types.JID {
	jid, err := types.ParseJID(string(text))
	if err != nil {
		return types.JID{}
	}
	return jid.ToNonAD()
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
