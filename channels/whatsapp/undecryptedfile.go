//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.mau.fi/whatsmeow/types"
)

// undecrypted is what we know about a message that could not be decrypted. Its JSON is
// stored in the device file and shown to the operator.
type undecrypted struct {
	ID        string    `json:"id"`
	Chat      types.JID `json:"chat"`
	Sender    types.JID `json:"sender"`
	SenderAlt types.JID `json:"sender_alt,omitzero"`
	Name      string    `json:"name,omitempty"`
	Time      time.Time `json:"time"`
	Group     bool      `json:"group,omitempty"`
	FromMe    bool      `json:"from_me,omitempty"`
	// Quiet says that it is a reaction or a change of another message. Nobody waits for
	// an answer to it.
	Quiet bool `json:"quiet,omitempty"`
	// ViewOnce says that WhatsApp shows it only on phones and never sends it here.
	ViewOnce bool      `json:"view_once,omitempty"`
	Since    time.Time `json:"since"`

	state undecryptedState
}

// undecryptedState is a set of the steps that are done.
type undecryptedState int

const (
	stateQuarantined undecryptedState = 1 << iota // it is on the operator's list
	stateReported                                 // its conversation has a message about it
	stateArrived                                  // a new copy was stored
)

// undecryptedKept is how long a row is kept. It covers the time in which a phone may send
// further copies of the message.
const undecryptedKept = 30 * 24 * time.Hour

// maxUndecryptedPerHour bounds the rows of one sender, who may be a stranger. Further
// messages are requested again and stored if they come, but get no row.
const maxUndecryptedPerHour = 20

func (u *undecrypted) is(s undecryptedState) bool { return u.state&s != 0 }

// info is the library's form of what we know about the message.
func (u *undecrypted) info() *types.MessageInfo {
	return &types.MessageInfo{
		MessageSource: types.MessageSource{Chat: u.Chat, Sender: u.Sender, SenderAlt: u.SenderAlt, IsGroup: u.Group, IsFromMe: u.FromMe},
		ID:            u.ID, Timestamp: u.Time, PushName: u.Name,
	}
}

// isOf reports whether i is the same message. The new copy may have the sender's other
// name.
func (u *undecrypted) isOf(i *types.MessageInfo) bool {
	was := identify(u.Sender, u.SenderAlt)
	return u.ID == i.ID && (was.is(i.Sender) || was.is(i.SenderAlt))
}

// addUndecrypted saves u. It returns false if u is saved already or its sender has too
// many. It also deletes old rows.
func (d *deviceFile) addUndecrypted(ctx context.Context, u *undecrypted) (added bool, err error) {
	known, err := d.findUndecrypted(ctx, u.info())
	if err != nil || known != nil {
		return false, err
	}
	recent, err := d.listUndecrypted(ctx, `since > $1`, u.Since.Add(-time.Hour).Unix())
	if err != nil {
		return false, err
	}
	recent = slices.DeleteFunc(recent, func(old *undecrypted) bool {
		was := identify(old.Sender, old.SenderAlt)
		return !was.is(u.Sender) && !was.is(u.SenderAlt)
	})
	if len(recent) >= maxUndecryptedPerHour {
		return false, nil
	}
	data, err := json.Marshal(u)
	if err == nil {
		_, err = d.db.ExecContext(ctx, `DELETE FROM dragoman_unread WHERE since < $1`, time.Now().Add(-undecryptedKept).Unix())
	}
	if err == nil {
		_, err = d.db.ExecContext(ctx, `INSERT INTO dragoman_unread (id, since, state, data) VALUES ($1, $2, 0, $3) ON CONFLICT DO NOTHING`,
			inboundID(u.info()), u.Since.Unix(), data)
	}
	if err != nil {
		return false, fmt.Errorf("whatsapp: save a message that could not be decrypted: %w", err)
	}
	return true, nil
}

// listUndecrypted returns the rows that match where, oldest first.
func (d *deviceFile) listUndecrypted(ctx context.Context, where string, arg any) ([]*undecrypted, error) {
	fail := func(err error) ([]*undecrypted, error) {
		return nil, fmt.Errorf("whatsapp: read the messages that could not be decrypted: %w", err)
	}
	rows, err := d.db.QueryContext(ctx, `SELECT state, data FROM dragoman_unread WHERE `+where, arg)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = rows.Close() }()
	var all []*undecrypted
	for rows.Next() {
		u, data := &undecrypted{}, []byte(nil)
		if err := rows.Scan(&u.state, &data); err != nil {
			return fail(err)
		}
		if json.Unmarshal(data, u) == nil { // A newer version may write rows that we cannot decode.
			all = append(all, u)
		}
	}
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	slices.SortStableFunc(all, func(a, b *undecrypted) int { return a.Since.Compare(b.Since) })
	return all, nil
}

// findUndecrypted returns nil if there is no row for the message. Ids alone do not
// name a message: every sender has their own.
func (d *deviceFile) findUndecrypted(ctx context.Context, i *types.MessageInfo) (*undecrypted, error) {
	all, err := d.listUndecrypted(ctx, `id LIKE $1`, i.ID+"/%")
	for _, u := range all {
		if u.isOf(i) {
			return u, nil
		}
	}
	return nil, err
}

// markUndecrypted adds step to what was done for u. The steps may come in any
// order.
func (d *deviceFile) markUndecrypted(ctx context.Context, step undecryptedState, u *undecrypted) error {
	if _, err := d.db.ExecContext(ctx, `UPDATE dragoman_unread SET state = state | $1 WHERE id = $2`, int(step), inboundID(u.info())); err != nil {
		return fmt.Errorf("whatsapp: mark a message: %w", err)
	}
	u.state |= step
	return nil
}
