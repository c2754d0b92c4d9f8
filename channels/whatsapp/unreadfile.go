package whatsapp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/types"
)

// unread is what is known about a message that could not be decrypted. As JSON
// it is what the operator sees of it, and a row of the device file.
type unread struct {
	ID        string    `json:"id"`
	Chat      types.JID `json:"chat"`
	Sender    types.JID `json:"sender"`
	SenderAlt types.JID `json:"sender_alt,omitzero"`
	Name      string    `json:"name,omitempty"`
	Time      time.Time `json:"time"`
	Group     bool      `json:"group,omitempty"`
	FromMe    bool      `json:"from_me,omitempty"`
	// Quiet: it is a reaction or a change of another message, which nobody
	// waits for an answer to.
	Quiet bool `json:"quiet,omitempty"`
	// ViewOnce: WhatsApp shows it on phones only and will never send it here.
	ViewOnce bool      `json:"view_once,omitempty"`
	Since    time.Time `json:"since"`

	state unreadState
}

// unreadState are the steps that were taken.
type unreadState int

const (
	unreadAside unreadState = 1 << iota // it is on the operator's list
	unreadTold                          // its conversation was told
	unreadCame                          // it came again and was taken
)

// unreadKept is how long a row is kept: as long as a phone might still send
// the message, so that a second copy of it is known.
const unreadKept = 30 * 24 * time.Hour

// unreadMost bounds the rows of one sender in an hour, who may be a stranger. Any
// more are asked for again and taken when they come, and leave no trace else.
const unreadMost = 20

func (u *unread) is(s unreadState) bool { return u.state&s != 0 }

// info is what WhatsApp said about the message.
func (u *unread) info() *types.MessageInfo {
	return &types.MessageInfo{
		MessageSource: types.MessageSource{Chat: u.Chat, Sender: u.Sender, SenderAlt: u.SenderAlt, IsGroup: u.Group, IsFromMe: u.FromMe},
		ID:            u.ID, Timestamp: u.Time, PushName: u.Name,
	}
}

// isOf reports whether i is about the same message. It may come under the
// sender's other name.
func (u *unread) isOf(i *types.MessageInfo) bool {
	was := identify(u.Sender, u.SenderAlt)
	return u.ID == i.ID && (was.is(i.Sender) || was.is(i.SenderAlt))
}

// noteUnread keeps u; false if it is kept already, or if its sender has too many.
// Old ones are forgotten on the way.
func (d *deviceFile) noteUnread(ctx context.Context, u *unread) (added bool, err error) {
	known, err := d.unreadOf(ctx, u.info())
	if err != nil || known != nil {
		return false, err
	}
	recent, err := d.listUnread(ctx, `since > $1`, u.Since.Add(-time.Hour).Unix())
	if err != nil {
		return false, err
	}
	recent = slices.DeleteFunc(recent, func(old *unread) bool {
		was := identify(old.Sender, old.SenderAlt)
		return !was.is(u.Sender) && !was.is(u.SenderAlt)
	})
	if len(recent) >= unreadMost {
		return false, nil
	}
	data, err := json.Marshal(u)
	if err == nil {
		_, err = d.db.ExecContext(ctx, `DELETE FROM dragoman_unread WHERE since < $1`, time.Now().Add(-unreadKept).Unix())
	}
	if err == nil {
		_, err = d.db.ExecContext(ctx, `INSERT INTO dragoman_unread (id, since, state, data) VALUES ($1, $2, 0, $3) ON CONFLICT DO NOTHING`,
			inboundID(u.info()), u.Since.Unix(), data)
	}
	if err != nil {
		return false, fmt.Errorf("whatsapp: note a message: %w", err)
	}
	return true, nil
}

// listUnread reads the rows for which where holds, oldest first.
func (d *deviceFile) listUnread(ctx context.Context, where string, arg any) ([]*unread, error) {
	fail := func(err error) ([]*unread, error) {
		return nil, fmt.Errorf("whatsapp: read what could not be decrypted: %w", err)
	}
	rows, err := d.db.QueryContext(ctx, `SELECT state, data FROM dragoman_unread WHERE `+where, arg)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = rows.Close() }()
	var all []*unread
	for rows.Next() {
		u, data := &unread{}, []byte(nil)
		if err := rows.Scan(&u.state, &data); err != nil {
			return fail(err)
		}
		if json.Unmarshal(data, u) == nil { // else it was written by a version that knows more
			all = append(all, u)
		}
	}
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	slices.SortStableFunc(all, func(a, b *unread) int { return a.Since.Compare(b.Since) })
	return all, nil
}

// openUnread lists, oldest first, what did not come again so far.
func (d *deviceFile) openUnread(ctx context.Context) ([]*unread, error) {
	return d.listUnread(ctx, `state & $1 = 0`, int(unreadCame))
}

// unreadOf finds the message among those that could not be decrypted; nil if
// it is none of them.
func (d *deviceFile) unreadOf(ctx context.Context, i *types.MessageInfo) (*unread, error) {
	all, err := d.listUnread(ctx, `id LIKE $1`, i.ID+"/%")
	for _, u := range all {
		if u.isOf(i) {
			return u, nil
		}
	}
	return nil, err
}

// markUnread notes that a step was taken with u.
func (d *deviceFile) markUnread(ctx context.Context, step unreadState, u *unread) error {
	if _, err := d.db.ExecContext(ctx, `UPDATE dragoman_unread SET state = state | $1 WHERE id = $2`, int(step), inboundID(u.info())); err != nil {
		return fmt.Errorf("whatsapp: mark a message: %w", err)
	}
	u.state |= step
	return nil
}
