package whatsapp

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
)

// noted is what the device file keeps of a message that was handed in, without
// a word of what it said: who may change it, and whether it was for us. People
// delete messages days later, so this has to outlive the program.
type noted struct {
	author    channels.Person
	addressed bool
}

// notedKept is how long that is kept. WhatsApp lets people delete a message for
// everybody for about two days; the rest is for a daemon that was off.
const notedKept = 30 * 24 * time.Hour

// notedTable has the newest message of each id that a sender gave, as senders
// choose the ids: nobody can take the place of another's.
const notedTable = `CREATE TABLE IF NOT EXISTS dragoman_seen (
	id TEXT NOT NULL, chat TEXT NOT NULL, author TEXT NOT NULL, addressed INTEGER NOT NULL, expires INTEGER NOT NULL, at INTEGER NOT NULL,
	PRIMARY KEY (id, chat, author)) WITHOUT ROWID`

// noteSeen keeps what changes of m will need.
func (d *deviceFile) noteSeen(ctx context.Context, m channels.Inbound, expires uint32) error {
	author, err := json.Marshal(m.Sender)
	if err != nil {
		return fmt.Errorf("whatsapp: note who wrote message %s: %w", m.MessageID, err)
	}
	now := time.Now()
	d.mu.Lock()
	sweep := now.Sub(d.swept) > 24*time.Hour
	if sweep {
		d.swept = now
	}
	d.mu.Unlock()
	if sweep {
		if _, err := d.db.ExecContext(ctx, `DELETE FROM dragoman_seen WHERE at < ?`, now.Add(-notedKept).UnixNano()); err != nil {
			return fmt.Errorf("whatsapp: forget old messages: %w", err)
		}
	}
	_, err = d.db.ExecContext(ctx, `INSERT OR REPLACE INTO dragoman_seen (id, chat, author, addressed, expires, at) VALUES (?, ?, ?, ?, ?, ?)`,
		m.MessageID, m.Key.Chat(), string(author), m.Addressed, expires, now.UnixNano())
	if err != nil {
		return fmt.Errorf("whatsapp: note message %s: %w", m.MessageID, err)
	}
	return nil
}

// seen is what is known of the messages with that id: those of one group, or
// with no chat all of them, because a person's chat may have another name now.
func (d *deviceFile) seen(ctx context.Context, chat, id string) (all []noted, err error) {
	rows, err := d.db.QueryContext(ctx, `SELECT author, addressed FROM dragoman_seen WHERE id = ?1 AND (chat = ?2 OR ?2 = '') ORDER BY at DESC`, id, chat)
	if err != nil {
		return nil, fmt.Errorf("whatsapp: look up message %s: %w", id, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n noted
		var author []byte
		if err = rows.Scan(&author, &n.addressed); err == nil {
			err = json.Unmarshal(author, &n.author)
		}
		if err != nil {
			return nil, fmt.Errorf("whatsapp: look up message %s: %w", id, err)
		}
		all = append(all, n)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("whatsapp: look up message %s: %w", id, err)
	}
	return all, nil
}

// by finds the message of that person among those with one id.
func by(all []noted, who channels.Person) (noted, bool) {
	i := slices.IndexFunc(all, func(n noted) bool {
		return slices.ContainsFunc(n.author.IDs, func(id string) bool { return slices.Contains(who.IDs, id) })
	})
	if i < 0 {
		return noted{}, false
	}
	return all[i], true
}

// expires is how long messages live in a chat, by the newest that was noted.
func (d *deviceFile) expires(ctx context.Context, chat string) (seconds uint32, err error) {
	err = d.db.QueryRowContext(ctx, `SELECT expires FROM dragoman_seen WHERE chat = ? ORDER BY at DESC LIMIT 1`, chat).Scan(&seconds)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("whatsapp: look up how long messages live: %w", err)
	}
	return seconds, nil
}
