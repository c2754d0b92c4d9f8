package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// addReplies puts replies into the outboxes of their keys.
func (t *tx) addReplies(r *keyRow, replies []sessions.Reply) error {
	for _, reply := range replies {
		to := r
		if !reply.Key.IsZero() && reply.Key != r.key {
			var err error
			if to, err = t.key(reply.Key); err != nil {
				return err
			}
		}
		t.touch(to, false)
		to.seq++
		id := rowID(to.id, to.seq)
		d := &sessions.Delivery{
			ID: t.store.deliveryID(id), Key: to.key, Seq: to.seq, State: sessions.DeliveryQueued, Created: timeOf(nanos(t.now)),
			Text: rules.Text(reply.Text), ReplyTo: rules.Text(reply.ReplyTo), Edit: rules.Text(reply.Edit),
		}
		did := rules.Text(reply.ID)
		d.ID = cmp.Or(did, d.ID)
		err := t.exec(`INSERT INTO outbox (id, state, created, reply_to, edit, text, did) VALUES (?, 'queued', ?, ?, ?, ?, ?)`,
			id, nanos(t.now), d.ReplyTo, d.Edit, d.Text, did)
		if err != nil {
			return err
		}
		it := dispatch.Item{Key: to.key, Seq: to.seq, Lane: dispatch.Delivery, Since: t.now, Row: id}
		if len(d.Text)+len(d.ReplyTo)+len(d.Edit) <= rememberMost {
			it.Body = d
		}
		t.items = append(t.items, it)
	}
	return nil
}

// deliveryID names a row of the outbox to networks that deduplicate: it holds
// the store's random name, so that a store that was begun anew does not repeat
// the ids of the one before.
func (s *Store) deliveryID(id int64) string {
	return fmt.Sprintf("%s-%d-%d", s.prefix, id>>32, seqOf(id))
}

// parseRowID reads the "12-7" behind the prefix of an id.
func parseRowID(prefix, s string) (id int64, ok bool) {
	rest, ok := strings.CutPrefix(s, prefix+"-")
	if !ok {
		return 0, false
	}
	key, seq, ok := strings.Cut(rest, "-")
	k, err := strconv.ParseUint(key, 10, 31)
	n, err2 := strconv.ParseUint(seq, 10, 32)
	id = rowID(int64(k), int64(n))
	return id, ok && err == nil && err2 == nil && rest == fmt.Sprintf("%d-%d", k, n)
}

const outColumns = `id, state, uncertain, attempts, due, created, reply_to, edit, why, text, did`

// scanOut reads a row of outColumns of key k.
func (s *Store) scanOut(row scanner, k channels.Key) (d sessions.Delivery, uncertain bool, err error) {
	var id, due, created int64
	err = row.Scan(&id, &d.State, &uncertain, &d.Attempts, &due, &created, &d.ReplyTo, &d.Edit, &d.Error, &d.Text, &d.ID)
	if d.ID == "" {
		d.ID = s.deliveryID(id)
	}
	d.Key, d.Seq, d.NotBefore, d.Created = k, seqOf(id), timeOf(due), timeOf(created)
	return d, uncertain, err
}

// Unsent is part of [sessions.Outbox].
func (s *Store) Unsent(ctx context.Context, c sessions.Claim, most int) ([]sessions.Delivery, error) {
	ds, err := s.unsent(ctx, c, most)
	if err != nil {
		return nil, wrap("unsent", err)
	}
	return ds, nil
}

func (s *Store) unsent(ctx context.Context, c sessions.Claim, most int) (ds []sessions.Delivery, err error) {
	items, err := s.work.Unsent(c, most)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		// Nearly always this is an answer that was committed a moment ago.
		if d, ok := it.Body.(*sessions.Delivery); ok {
			ds = append(ds, *d)
			continue
		}
		d, _, err := s.scanOut(s.row(ctx, `SELECT `+outColumns+` FROM outbox WHERE id = ?`, it.Row), c.Key)
		if err != nil {
			return nil, err
		}
		if rules.Unsent(d.State) { // the operator may have dropped it just now
			ds = append(ds, d)
		}
	}
	return ds, s.work.Check(c)
}

// outRow is what an attempt has to know of a delivery.
type outRow struct {
	id        int64
	state     sessions.DeliveryState
	uncertain bool
	attempts  int
	due       int64
	created   int64
	why       string
	messageID string
	did       string // its id if that is not made of the row's
}

// readOut reads an outbox row to change it. Errors: sql.ErrNoRows.
func (t *tx) readOut(id int64) (*outRow, error) {
	o := &outRow{id: id}
	err := t.row(`SELECT state, uncertain, attempts, due, created, why, message_id, did FROM outbox WHERE id = ?`, id).
		Scan(&o.state, &o.uncertain, &o.attempts, &o.due, &o.created, &o.why, &o.messageID, &o.did)
	return o, err
}

// writeOut stores a changed outbox row of k.
func (t *tx) writeOut(k channels.Key, o *outRow) error {
	t.items = append(t.items, dispatch.Item{
		Key: k, Seq: seqOf(o.id), Lane: dispatch.Delivery, Due: timeOf(o.due), Since: timeOf(o.created),
		Uncertain: o.uncertain, Row: o.id, Gone: !rules.Unsent(o.state),
	})
	return t.exec(`UPDATE outbox SET state = ?, uncertain = ?, attempts = ?, due = ?, why = ?, message_id = ? WHERE id = ?`,
		string(o.state), o.uncertain, o.attempts, o.due, o.why, o.messageID, o.id)
}

// delivery reads the one called id. Its name tells its row, unless it came
// from elsewhere or was moved. Errors: sql.ErrNoRows.
func (t *tx) delivery(id string) (*outRow, error) {
	if row, ok := parseRowID(t.store.prefix, id); ok {
		if o, err := t.readOut(row); err == nil && o.did == "" || err != nil && !errors.Is(err, sql.ErrNoRows) {
			return o, err
		}
	}
	var row int64
	if err := t.row(`SELECT id FROM outbox WHERE did = ? AND did <> ''`, id).Scan(&row); err != nil {
		return nil, err
	}
	return t.readOut(row)
}

// deliver changes the delivery called id if it is one of the claim's that is
// not done yet.
func (s *Store) deliver(ctx context.Context, what string, c sessions.Claim, id string, f func(*outRow)) error {
	return s.claimed(ctx, what, c, func(t *tx, r *keyRow) error {
		o, err := t.delivery(id)
		if err == nil && o.id>>32 != r.id {
			err = sql.ErrNoRows
		}
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("%w: delivery %q of %s", sessions.ErrNotFound, id, c.Key)
		case err != nil:
			return err
		case !rules.Unsent(o.state):
			return fmt.Errorf("%w: delivery %s is %s", sessions.ErrConflict, id, o.state)
		}
		f(o)
		return t.writeOut(r.key, o)
	})
}

// MarkSending is part of [sessions.Outbox].
func (s *Store) MarkSending(ctx context.Context, c sessions.Claim, id string) error {
	return s.deliver(ctx, "mark sending", c, id, func(o *outRow) {
		// Whoever was sending before left no word of how it ended.
		o.uncertain = o.uncertain || o.state == sessions.DeliverySending
		o.state = sessions.DeliverySending
		o.attempts++
	})
}

// MarkSent is part of [sessions.Outbox].
func (s *Store) MarkSent(ctx context.Context, c sessions.Claim, id string, r channels.Receipt) error {
	return s.deliver(ctx, "mark sent", c, id, func(o *outRow) {
		o.state, o.messageID, o.why = sessions.DeliverySent, rules.Text(r.MessageID), ""
	})
}

// Defer is part of [sessions.Outbox].
func (s *Store) Defer(ctx context.Context, c sessions.Claim, id string, until time.Time, uncertain bool, why string) error {
	return s.deliver(ctx, "defer", c, id, func(o *outRow) {
		o.uncertain = o.uncertain || uncertain
		o.state = rules.PutBack(o.uncertain)
		o.due, o.why = nanos(until), rules.Text(why)
	})
}

// Bury is part of [sessions.Outbox].
func (s *Store) Bury(ctx context.Context, c sessions.Claim, id, why string) error {
	return s.deliver(ctx, "bury", c, id, func(o *outRow) {
		o.state, o.why = sessions.DeliveryDead, rules.Text(why)
	})
}

// Drop is part of [sessions.Outbox].
func (s *Store) Drop(ctx context.Context, c sessions.Claim, id, why string) error {
	return s.deliver(ctx, "drop", c, id, func(o *outRow) {
		o.state, o.why = sessions.DeliveryDropped, rules.Text(why)
	})
}
