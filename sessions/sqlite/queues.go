package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
)

// where builds the conditions of q for rows of a key.
func where(q rows.Queued, key int64) (conditions string, args []any) {
	from, to := span(key)
	if q.Before > 0 {
		to = rowID(key, q.Before-1)
	}
	if len(q.Seqs) == 1 {
		from, to = rowID(key, q.Seqs[0]), rowID(key, q.Seqs[0])
	}
	return ` WHERE r.id BETWEEN ? AND ?`, []any{from, to}
}

func order(newest bool) string {
	if newest {
		return ` ORDER BY r.id DESC`
	}
	return ` ORDER BY r.id`
}

const (
	lightColumns = `r.id, r.origin, r.state, r.rev, r.attempts, r.due, r.accepted, r.turn, r.why`
	inColumns    = lightColumns + `, iif(r.origin = 'heartbeat', (SELECT o.job || ' ' || o.due FROM occurrences o WHERE o.inbox_id = r.id AND o.inbox_id <> 0), ''),
		r.dedupe, r.message_id, r.rest, r.text`
	inFrom     = ` FROM inbox r`
	outColumns = `r.id, r.state, r.uncertain, r.attempts, r.due, r.created, r.reply_to, r.edit, r.message_id, r.why, r.text, r.did`
	outFrom    = ` FROM outbox r`
	// The key of a row, where it is not known.
	keyColumn = `SELECT (SELECT key FROM keys WHERE id = r.id >> 32), `
)

// Inbox: see rows.Reader. What is open and short is in memory.
func (r reader) Inbox(ctx context.Context, k channels.Key, q rows.Queued) iter.Seq2[rows.In, error] {
	if k.IsZero() {
		return stream(ctx, r.src, anyKey(r.scanIn), keyColumn+inColumns+inFrom+` WHERE r.state = 'waiting'`)
	}
	if q.Open && r.current(k) {
		if list, ok := remembered[rows.In](r.b.work.Items(k, dispatch.Chat, dispatch.Heartbeat)); ok {
			return given(list)
		}
	}
	key, err := r.keyID(ctx, k)
	if err != nil {
		return none[rows.In](err)
	}
	columns, scan := inColumns, r.scanIn
	if q.Light {
		columns, scan = lightColumns, scanLight
	}
	conditions, args := where(q, key)
	switch {
	case q.MessageID != "":
		conditions, args = ` WHERE r.id >> 32 = ? AND r.message_id = ? AND r.message_id <> ''`, []any{key, q.MessageID}
	case q.Open:
		conditions += ` AND r.state = 'waiting'`
	}
	return stream(ctx, r.src, of(k, scan), `SELECT `+columns+inFrom+conditions+order(q.Newest), args...)
}

// current reports whether what the dispatcher remembers of k is what r would
// read: everything that is durable, and inside of an update everything but what
// earlier steps of the same commit changed.
func (r reader) current(k channels.Key) bool {
	return r.pooled() || r.t != nil && !r.t.touched[k]
}

// pooled reports whether r reads what is durable, one row or another.
func (r reader) pooled() bool { return r.src == &r.b.reads }

// remembered are the rows of items, by their seqs, unless one of them has to be
// read.
func remembered[T any](items []dispatch.Item) (list []T, ok bool) {
	for _, it := range items {
		row, ok := it.Body.(*T)
		if !ok {
			return nil, false
		}
		list = append(list, *row)
	}
	return list, true
}

func given[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// of has a key for all rows that scan reads.
func of[T any](k channels.Key, scan func(channels.Key, scanner) (T, error)) func(scanner) (T, error) {
	return func(row scanner) (T, error) { return scan(k, row) }
}

// anyKey reads the key of each row before its columns.
func anyKey[T any](scan func(channels.Key, scanner) (T, error)) func(scanner) (T, error) {
	return func(row scanner) (T, error) {
		named := &after{row: row}
		v, err := scan(channels.Key{}, named)
		if err != nil {
			return v, err
		}
		var k channels.Key
		err = parseKey(&k, named.first)
		switch v := any(&v).(type) {
		case *rows.In:
			v.Inbound.Key = k
		case *rows.Out:
			v.Key = k
		}
		return v, err
	}
}

// after scans its own first column before those that it is asked for.
type after struct {
	row   scanner
	first string
}

func (a *after) Scan(dest ...any) error { return a.row.Scan(append([]any{&a.first}, dest...)...) }

func scanLight(k channels.Key, row scanner) (r rows.In, err error) {
	return r, scanRow(k, row, &r)
}

// scanRow reads lightColumns and more.
func scanRow(k channels.Key, row scanner, r *rows.In, more ...any) error {
	var id, due, accepted int64
	dest := []any{&id, &r.Origin, &r.State, &r.Rev, &r.Attempts, &due, &accepted, &r.Turn, &r.Why}
	if err := row.Scan(append(dest, more...)...); err != nil {
		return err
	}
	r.Inbound.Key = k
	r.Seq, r.Due, r.Accepted = seqOf(id), timeOf(due), timeOf(accepted)
	return nil
}

func (reader) scanIn(k channels.Key, row scanner) (r rows.In, err error) {
	m := &r.Inbound
	var dedupe string
	var fired sql.NullString
	var raw []byte
	if err := scanRow(k, row, &r, &fired, &dedupe, &m.MessageID, &raw, &m.Text); err != nil {
		return r, err
	}
	if i := strings.LastIndexByte(fired.String, ' '); i >= 0 {
		due, err := strconv.ParseInt(fired.String[i+1:], 10, 64)
		if err != nil {
			return r, damaged("an occurrence has no time (%v)", err)
		}
		r.Job, r.JobDue = fired.String[:i], timeOf(due)
	}
	_, m.ID, _ = strings.Cut(dedupe, ":")
	return r, decode(raw, &inboundRest{Inbound: m})
}

// Outbox: see rows.Reader. What is open and short is in memory.
func (r reader) Outbox(ctx context.Context, k channels.Key, q rows.Queued) iter.Seq2[rows.Out, error] {
	if q.ID != "" {
		return r.delivery(ctx, k, q.ID)
	}
	const open = ` AND r.state <> 'sent' AND r.state IN ('queued', 'sending', 'unknown', 'dead')`
	if k.IsZero() {
		return stream(ctx, r.src, anyKey(r.scanOut), keyColumn+outColumns+outFrom+` WHERE TRUE`+open)
	}
	if q.Unsent && r.current(k) {
		if list, ok := remembered[rows.Out](r.b.work.Items(k, dispatch.Delivery)); ok {
			return given(list)
		}
	}
	key, err := r.keyID(ctx, k)
	if err != nil {
		return none[rows.Out](err)
	}
	conditions, args := where(q, key)
	switch {
	case q.Unsent:
		conditions += ` AND r.state <> 'sent' AND r.state IN ('queued', 'sending', 'unknown')`
	case q.Open:
		conditions += open
	}
	return stream(ctx, r.src, of(k, r.scanOut), `SELECT `+outColumns+outFrom+conditions+order(q.Newest), args...)
}

// delivery reads the delivery called id, of k unless that is zero. Its name tells
// its row, unless it came from elsewhere or was moved.
func (r reader) delivery(ctx context.Context, k channels.Key, id string) iter.Seq2[rows.Out, error] {
	if !k.IsZero() && r.current(k) {
		for _, it := range r.b.work.Items(k, dispatch.Delivery) {
			if o, ok := it.Body.(*rows.Out); ok && o.ID == id {
				return given([]rows.Out{*o})
			}
		}
	}
	query, scan := keyColumn+outColumns, anyKey(r.scanOut)
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if !k.IsZero() {
		key, err := r.keyID(ctx, k)
		if err != nil {
			return none[rows.Out](err)
		}
		query, scan = `SELECT `+outColumns, of(k, r.scanOut)
		from, to = span(key)
	}
	return func(yield func(rows.Out, error) bool) {
		if row, ok := parseRowID(r.b.prefix, id); ok {
			for o, err := range stream(ctx, r.src, scan, query+outFrom+` WHERE r.id = ? AND r.did = '' AND r.id BETWEEN ? AND ?`, row, from, to) {
				yield(o, err)
				return
			}
		}
		for o, err := range stream(ctx, r.src, scan, query+outFrom+` WHERE r.did = ? AND r.did <> '' AND r.id BETWEEN ? AND ?`, id, from, to) {
			yield(o, err)
			return
		}
	}
}

func (r reader) scanOut(k channels.Key, row scanner) (o rows.Out, err error) {
	var id, due, created int64
	err = row.Scan(&id, &o.State, &o.Uncertain, &o.Attempts, &due, &created, &o.ReplyTo, &o.Edit, &o.MessageID, &o.Error, &o.Text, &o.ID)
	if err != nil {
		return o, err
	}
	if o.ID == "" {
		o.ID = r.b.deliveryID(id)
	}
	o.Key = k
	o.Seq, o.NotBefore, o.Created = seqOf(id), timeOf(due), timeOf(created)
	return o, nil
}

// deliveryID names a row of the outbox to networks that deduplicate: it holds
// the store's random name, so that a store that was begun anew does not repeat
// the ids of the one before.
func (s *backend) deliveryID(id int64) string {
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
