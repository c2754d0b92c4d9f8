package sqlite

import (
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

// The queue's queries read what a [sessions.QueueItem] shows; the text, which
// can be long, only where one item is shown.
const (
	queueIn = `SELECT k.key, i.id, i.state, i.attempts, i.accepted, i.due, i.why, length(CAST(i.text AS BLOB)), %s, ''
		FROM inbox i JOIN keys k ON k.id = i.id >> 32 WHERE `
	queueOut = `SELECT k.key, o.id, o.state, o.attempts, o.created, o.due, o.why, length(CAST(o.text AS BLOB)), %s, o.did
		FROM outbox o JOIN keys k ON k.id = o.id >> 32 WHERE `
	queueAside = `SELECT channel, id, iif(dropped, 'dropped', 'aside'), 0, at, 0, why, length(raw), %s, '' FROM aside WHERE `
)

func (s *Store) scanQueue(row scanner, kind string) (it sessions.QueueItem, err error) {
	var id, at, due int64
	var text []byte
	err = row.Scan(&it.Key, &id, &it.State, &it.Attempts, &at, &due, &it.Error, &it.Bytes, &text, &it.Delivery)
	it.ID = fmt.Sprintf("%s-%d-%d", kind, id>>32, seqOf(id))
	if kind == "aside" {
		it.ID = fmt.Sprintf("%s-%d", kind, id)
	}
	if kind == "out" && it.Delivery == "" {
		it.Delivery = s.deliveryID(id)
	}
	it.Kind, it.At, it.NotBefore, it.Text = kind, timeOf(at), timeOf(due), rules.Text(string(text))
	it.State = rules.InState(it.State, it.NotBefore, s.now())
	return it, err
}

// ListQueue is part of [sessions.Queue].
func (s *Store) ListQueue(ctx context.Context, limit int) ([]sessions.QueueItem, error) {
	var items []sessions.QueueItem
	for _, part := range []struct{ kind, query string }{
		{"in", fmt.Sprintf(queueIn, "''") + `i.state = 'waiting' ORDER BY i.accepted LIMIT +?`},
		{"out", fmt.Sprintf(queueOut, "''") + `o.state <> 'sent' AND o.state IN ('queued', 'sending', 'unknown', 'dead') ORDER BY o.created LIMIT +?`},
		{"aside", fmt.Sprintf(queueAside, "''") + `dropped = 0 ORDER BY at LIMIT +?`},
	} {
		rows, err := s.rows(ctx, part.query, max(limit, 0))
		if err != nil {
			return nil, wrap("list queue", err)
		}
		err = each(rows, func() error {
			it, err := s.scanQueue(rows, part.kind)
			items = append(items, it)
			return err
		})
		if err != nil {
			return nil, wrap("list queue", err)
		}
	}
	return rules.SortQueue(items, limit), nil
}

// queueID is a parsed id of a queue item.
type queueID struct {
	kind string
	row  int64
}

// queueID finds the item called id. A delivery has two ids, the one that lists
// show and the one that networks and hooks are told.
func (s *Store) queueID(ctx context.Context, id string) (queueID, error) {
	row, ok := parseRowID(s.prefix, id)
	if !ok {
		row = -1
	}
	err := s.row(ctx, `SELECT id FROM outbox WHERE did = ?1 AND did <> ''
		UNION ALL SELECT id FROM outbox WHERE id = ?2 AND did = ''`, id, row).Scan(&row)
	switch {
	case err == nil:
		return queueID{"out", row}, nil
	case !errors.Is(err, sql.ErrNoRows):
		return queueID{}, err
	}
	return parseQueueID(id)
}

func parseQueueID(id string) (queueID, error) {
	for _, kind := range []string{"in", "out"} {
		if row, ok := parseRowID(kind, id); ok {
			return queueID{kind, row}, nil
		}
	}
	if n, ok := strings.CutPrefix(id, "aside-"); ok {
		if row, err := strconv.ParseInt(n, 10, 64); err == nil && row > 0 {
			return queueID{"aside", row}, nil
		}
	}
	return queueID{}, fmt.Errorf("%w: queue item %q", sessions.ErrNotFound, id)
}

// found turns a missing row into the error of a queue item.
func found(err error, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: queue item %q", sessions.ErrNotFound, id)
	}
	return err
}

// ShowQueue is part of [sessions.Queue].
func (s *Store) ShowQueue(ctx context.Context, id string) (sessions.QueueItem, error) {
	q, err := s.queueID(ctx, id)
	if err != nil {
		return sessions.QueueItem{}, wrap("show queue", err)
	}
	query := map[string]string{
		"in":    fmt.Sprintf(queueIn, "i.text") + `i.id = ?`,
		"out":   fmt.Sprintf(queueOut, "o.text") + `o.id = ?`,
		"aside": fmt.Sprintf(queueAside, "raw") + `id = ?`,
	}[q.kind]
	it, err := s.scanQueue(s.row(ctx, query, q.row), q.kind)
	if err != nil {
		return sessions.QueueItem{}, wrap("show queue", found(err, id))
	}
	return it, nil
}

// RetryQueue is part of [sessions.Queue].
func (s *Store) RetryQueue(ctx context.Context, id string) error {
	return s.operate(ctx, "retry queue", id, map[string]func(*tx, string, int64) error{
		"in": (*tx).retryIn, "out": (*tx).retryOut,
		"aside": func(*tx, string, int64) error {
			return fmt.Errorf("%w: what was set aside cannot be tried again", sessions.ErrConflict)
		},
	})
}

// DropQueue is part of [sessions.Queue].
func (s *Store) DropQueue(ctx context.Context, id string) error {
	return s.operate(ctx, "drop queue", id, map[string]func(*tx, string, int64) error{
		"in": (*tx).dropIn, "out": (*tx).dropOut, "aside": (*tx).dropAside,
	})
}

// operate does what the operator asks with the item called id. What was set
// aside is looked up first, so that a wrong id is told from a wrong wish.
func (s *Store) operate(ctx context.Context, what, id string, verbs map[string]func(*tx, string, int64) error) error {
	q, err := s.queueID(ctx, id)
	if err != nil {
		return wrap(what, err)
	}
	return s.update(ctx, what, func(t *tx) error {
		if q.kind == "aside" {
			var n int
			if err := t.row(`SELECT 1 FROM aside WHERE id = ?`, q.row).Scan(&n); err != nil {
				return found(err, id)
			}
		}
		return found(verbs[q.kind](t, id, q.row), id)
	})
}

// keyOf finds the key of an inbox or outbox row.
func (t *tx) keyOf(row int64) (*keyRow, error) {
	var name string
	if err := t.row(`SELECT key FROM keys WHERE id = ?`, row>>32).Scan(&name); err != nil {
		return nil, err
	}
	var k channels.Key
	if err := parseKey(&k, name); err != nil {
		return nil, err
	}
	return t.key(k)
}

func isDone(id, state string) error {
	return fmt.Errorf("%w: %s is %s", sessions.ErrConflict, id, state)
}

func (t *tx) busy(k channels.Key, id string) error {
	if t.store.work.Claimed(k) {
		return fmt.Errorf("%w: %s is being worked on", sessions.ErrConflict, id)
	}
	return nil
}

// idleIn reads an inbox row that waits and that no claim works on.
func (t *tx) idleIn(id string, row int64) (*keyRow, inRow, error) {
	r, err := t.keyOf(row)
	if err != nil {
		return nil, inRow{}, err
	}
	w, err := scanIn(t.row(`SELECT `+inColumns+` FROM inbox WHERE id = ?`, row), r.key)
	switch {
	case err != nil:
	case w.state != rules.InWaiting:
		err = isDone(id, w.state)
	case !w.due.After(t.now):
		err = t.busy(r.key, id)
	}
	return r, w, err
}

func (t *tx) retryIn(id string, row int64) error {
	r, w, err := t.idleIn(id, row)
	if err != nil {
		return err
	}
	items := t.store.work.Bound(r.key, w.turn) // a turn is retried whole
	if w.turn == "" || len(items) == 0 {
		items = []dispatch.Item{t.item(r, w)}
	}
	for _, it := range items {
		if err := t.exec(`UPDATE inbox SET due = 0 WHERE id = ?`, rowID(r.id, it.Seq)); err != nil {
			return err
		}
		it.Due = time.Time{}
		t.items = append(t.items, it)
	}
	return nil
}

func (t *tx) dropIn(id string, row int64) error {
	r, w, err := t.idleIn(id, row)
	if err != nil {
		return err
	}
	if err := t.closeIn(r, w, rules.InDropped, w.why, "dropped by the operator"); err != nil {
		return err
	}
	if w.turn == "" {
		return nil
	}
	return t.exec(`DELETE FROM steps WHERE key_id = ?1 AND turn = ?2
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE state = 'waiting' AND turn = ?2 AND id >> 32 = ?1)`, r.id, w.turn)
}

// idleOut reads an outbox row that is not done and that nobody sends now.
func (t *tx) idleOut(id string, row int64) (*keyRow, *outRow, error) {
	r, err := t.keyOf(row)
	if err != nil {
		return nil, nil, err
	}
	o, err := t.readOut(row)
	switch {
	case err != nil:
	case !rules.Unsent(o.state) && o.state != sessions.DeliveryDead:
		err = isDone(id, string(o.state))
	case o.state == sessions.DeliverySending:
		err = t.busy(r.key, id)
	}
	return r, o, err
}

func (t *tx) retryOut(id string, row int64) error {
	r, o, err := t.idleOut(id, row)
	if err != nil {
		return err
	}
	if o.state == sessions.DeliveryDead {
		o.attempts = 0 // a new life with all its attempts
	}
	o.uncertain = o.uncertain || o.state == sessions.DeliverySending
	o.state, o.due = rules.PutBack(o.uncertain), 0
	return t.writeOut(r.key, o)
}

func (t *tx) dropOut(id string, row int64) error {
	r, o, err := t.idleOut(id, row)
	if err != nil {
		return err
	}
	o.state = sessions.DeliveryDropped
	return t.writeOut(r.key, o)
}
