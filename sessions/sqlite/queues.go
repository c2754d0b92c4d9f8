package sqlite

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// The columns of the queues. Those of inLight tell of an inbox row without what
// was said, inSaid what was; the first ones of outState change.
const (
	inLight  = `id, origin, state, rev, attempts, due, accepted, turn, why`
	inSaid   = `dedupe, message_id, rest, text`
	outState = `id, state, uncertain, attempts, due, message_id, why`
	outRest  = `created, reply_to, edit, text, did`
	keyOfRow = `(SELECT key FROM keys WHERE id = r.id >> 32)`
	// inFired is the occurrence that an inbox row r was made for, and fired finds it.
	inFired = `coalesce(job, ''), coalesce(job_due, 0)`
	fired   = ` LEFT JOIN (SELECT job, due AS job_due, inbox_id FROM occurrences WHERE inbox_id <> 0) ON r.origin = 'heartbeat' AND inbox_id = r.id`

	waiting = ` AND r.state = 'waiting'`
	unsent  = ` AND r.state <> 'sent' AND r.state IN ('queued', 'sending', 'unknown')`
	notSent = ` AND r.state <> 'sent' AND r.state IN ('queued', 'sending', 'unknown', 'dead')`
)

// inLightFields are those of a row of the key with that id.
func inLightFields(key *int64, r *rows.In) []any {
	return []any{place{key, &r.Seq}, &r.Origin, &r.State, &r.Rev, &r.Attempts, at(&r.Due), at(&r.Accepted), &r.Turn, &r.Why}
}

// inSaidFields are the others. rest is JSON.
func inSaidFields(m *channels.Inbound, rest *[]byte) []any {
	dedupe := column{
		write: func() any { return rules.Dedupe(*m) },
		read: func(v any) error {
			text, _ := v.(string)
			_, m.ID, _ = strings.Cut(text, ":")
			return nil
		},
	}
	return []any{dedupe, &m.MessageID, rest, &m.Text}
}

// outFields are those of a delivery, of which did is the id if its row does not
// tell it.
func outFields(key *int64, o *rows.Out, did *string) []any {
	return []any{
		place{key, &o.Seq},
		&o.State, &o.Uncertain, &o.Attempts, at(&o.NotBefore), &o.MessageID, &o.Error,
		at(&o.Created), &o.ReplyTo, &o.Edit, &o.Text, did,
	}
}

// where is what chooses rows of k with q, and the column with their key, which
// is not read where it is known. A zero k stands for all.
func (r reader) where(ctx context.Context, k channels.Key, q rows.Queued) (key, conditions string, args []any, err error) {
	if k.IsZero() {
		return keyOfRow, ` WHERE TRUE`, nil, nil
	}
	id, err := r.keyID(ctx, k)
	from, to := span(id)
	if q.Before > 0 {
		to = rowID(id, q.Before-1)
	}
	if q.Seq > 0 {
		from, to = rowID(id, q.Seq), rowID(id, q.Seq)
	}
	return `''`, ` WHERE r.id BETWEEN ? AND ?`, []any{from, to}, err
}

func order(k channels.Key, newest bool) string {
	if k.IsZero() {
		return ``
	}
	return orderBy(`r.id`, newest)
}

func orderBy(column string, newest bool) string {
	if newest {
		return ` ORDER BY ` + column + ` DESC`
	}
	return ` ORDER BY ` + column
}

// Inbox: see rows.Reader. What is open and short is in memory.
func (r reader) Inbox(ctx context.Context, k channels.Key, q rows.Queued) iter.Seq2[rows.In, error] {
	if q.Open && !k.IsZero() && r.current(k) {
		if list, ok := remembered[rows.In](r.b.work.Items(k, dispatch.Chat, dispatch.Heartbeat)); ok {
			return given(list)
		}
	}
	key, where, args, err := r.where(ctx, k, q)
	if err != nil {
		return none[rows.In](err)
	}
	switch {
	case q.MessageID != "":
		where, args = ` WHERE r.id >> 32 = ? >> 32 AND r.message_id = ? AND r.message_id <> ''`, []any{args[0], q.MessageID}
	case q.Open:
		where += waiting
	}
	return r.inbox(ctx, k, q.Light, key, where+order(k, q.Newest), args...)
}

// inbox reads rows of k, or of the key in the column.
func (r reader) inbox(ctx context.Context, k channels.Key, light bool, key, where string, args ...any) iter.Seq2[rows.In, error] {
	query := `SELECT ` + key + `, ` + inLight + `, ` + inSaid + `, ` + inFired + ` FROM inbox r` + fired
	if light {
		query = `SELECT ` + key + `, ` + inLight + ` FROM inbox r`
	}
	return stream(ctx, r.src, func(row scanner) (in rows.In, err error) {
		var rest []byte
		m := &in.Inbound
		m.Key = k
		fields := append([]any{named(&m.Key)}, inLightFields(new(int64), &in)...)
		if light {
			err = row.Scan(fields...)
			return in, err
		}
		fields = append(append(fields, inSaidFields(m, &rest)...), &in.Job, at(&in.JobDue))
		if err = row.Scan(fields...); err == nil {
			err = decode(rest, &inboundRest{Inbound: m})
		}
		return in, err
	}, query+where, args...)
}

// Outbox: see rows.Reader. What is open and short is in memory.
func (r reader) Outbox(ctx context.Context, k channels.Key, q rows.Queued) iter.Seq2[rows.Out, error] {
	if q.ID != "" {
		return r.delivery(ctx, k, q.ID)
	}
	if q.Unsent && !k.IsZero() && r.current(k) {
		if list, ok := remembered[rows.Out](r.b.work.Items(k, dispatch.Delivery)); ok {
			return given(list)
		}
	}
	key, where, args, err := r.where(ctx, k, q)
	if err != nil {
		return none[rows.Out](err)
	}
	switch {
	case q.Unsent:
		where += unsent
	case q.Open || k.IsZero():
		where += notSent
	}
	return r.outbox(ctx, k, key, where+order(k, q.Newest), args...)
}

// outbox reads rows of k, or of the key in the column.
func (r reader) outbox(ctx context.Context, k channels.Key, key, where string, args ...any) iter.Seq2[rows.Out, error] {
	return stream(ctx, r.src, func(row scanner) (o rows.Out, err error) {
		o.Key = k
		var id int64
		if err = row.Scan(append([]any{named(&o.Key)}, outFields(&id, &o, &o.ID)...)...); err == nil && o.ID == "" {
			o.ID = r.b.deliveryID(rowID(id, o.Seq))
		}
		return o, err
	}, `SELECT `+key+`, `+outState+`, `+outRest+` FROM outbox r`+where, args...)
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
	row, _ := r.b.rowOf(id)
	return func(yield func(rows.Out, error) bool) {
		for o, err := range r.outbox(ctx, channels.Key{}, keyOfRow, ` WHERE r.id = ? AND r.did = '' OR r.did = ? AND r.did <> ''`, row, id) {
			if err != nil || k.IsZero() || o.Key == k {
				yield(o, err)
			}
			return
		}
	}
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

// deliveryID names a row of the outbox to networks that deduplicate: it holds
// the store's random name, so that a store that was begun anew does not repeat
// the ids of the one before.
func (s *backend) deliveryID(id int64) string {
	return s.prefix + "-" + strconv.FormatInt(id>>32, 10) + "-" + strconv.FormatInt(seqOf(id), 10)
}

// rowOf is the row that an id was made of, if it was made here.
func (s *backend) rowOf(id string) (row int64, ok bool) {
	var key, seq int64
	_, err := fmt.Sscanf(id, s.prefix+"-%d-%d", &key, &seq)
	row = rowID(key, seq)
	return row, err == nil && s.deliveryID(row) == id
}
