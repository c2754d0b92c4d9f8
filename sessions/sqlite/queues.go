package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// The columns of the queues. inLight has those of an inbox row without the message, and
// inMessage those of the message. Of an outbox row, outState has those that change.
const (
	inLight   = `id, origin, state, rev, attempts, due, accepted, turn, why`
	inMessage = `dedupe, message_id, rest, text`
	outState  = `id, state, uncertain, attempts, due, message_id, why`
	outRest   = `created, reply_to, edit, text, kind, turn, job, part, parts, file, form, did`
	keyOfRow  = `(SELECT key FROM keys WHERE id = r.id >> 32)`
	// inFired is the occurrence that the inbox row r was made for; joinFired finds it.
	inFired   = `coalesce(job, ''), coalesce(job_due, 0)`
	joinFired = ` LEFT JOIN (SELECT job, due AS job_due, inbox_id FROM occurrences WHERE inbox_id <> 0) ON r.origin = 'heartbeat' AND inbox_id = r.id`

	waiting = ` AND r.state = 'waiting'`
	unsent  = ` AND r.state <> 'sent' AND r.state IN ('queued', 'sending', 'unknown')`
	// ofMessage follows the range of ids of a key, whose first is ?1.
	ofMessage = ` AND r.id >> 32 = ?1 >> 32 AND r.message_id = ? AND r.message_id <> ''`
	notSent   = ` AND r.state <> 'sent' AND r.state IN ('queued', 'sending', 'unknown', 'dead')`
)

// inLightFields are the fields of inLight. key is the id of the row's key.
func inLightFields(key *int64, r *rows.In) []any {
	return []any{asRowID{key, &r.Seq}, &r.Source, &r.State, &r.Rev, &r.Attempts, asTime(&r.Due), asTime(&r.Accepted), &r.Turn, &r.Why}
}

// inMessageFields are the fields of inMessage. rest is JSON.
func inMessageFields(m *channels.Inbound, rest *[]byte) []any {
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

// outFields are the fields of outState and outRest. key is the id of the row's key, did
// the id of the delivery if it is not made of the row's.
func outFields(key *int64, o *rows.Out, did *string) []any {
	return []any{
		asRowID{key, &o.Seq},
		&o.State, &o.Uncertain, &o.Attempts, asTime(&o.NotBefore), &o.MessageID, &o.Error,
		asTime(&o.Created), &o.ReplyTo, &o.Edit, &o.Text,
		&o.Kind, &o.Turn, &o.Job, &o.Part, &o.Parts, asFile(&o.Label), &o.Form, did,
	}
}

// keptMark begins a column file that is JSON. No name of a file begins with it.
const keptMark = "\x01"

// keptFile is such a column: a label whose file is kept.
type keptFile struct {
	File string                  `json:"file"`
	Kept string                  `json:"kept"`
	As   channels.AttachmentKind `json:"as"`
}

// asFile is the column file of a label: the name of its file, or a [keptFile].
func asFile(l *sessions.Label) column {
	return column{
		write: func() any {
			if l.Kept == "" && l.As == "" && !strings.HasPrefix(l.File, keptMark) {
				return l.File
			}
			return keptMark + string(encode(keptFile{File: l.File, Kept: l.Kept, As: l.As}))
		},
		read: func(v any) error {
			text, _ := v.(string)
			kept, is := strings.CutPrefix(text, keptMark)
			if !is {
				l.File = text
				return nil
			}
			var f keptFile
			err := decode([]byte(kept), &f)
			l.File = f.File
			l.Kept = f.Kept
			l.As = f.As
			return err
		},
	}
}

// where returns the condition for rows of k with q and their order, and the column that has
// their key, which is empty where the caller knows it. A zero k chooses all rows, unsorted.
// at is the column with the time at which a row was stored.
func (r reader) where(ctx context.Context, k channels.Key, q rows.QueueFilter, at, also string) (key, where string, args []any, err error) {
	if k.IsZero() && !q.Since.IsZero() {
		return keyOfRow, ` WHERE r.` + at + ` >= ? LIMIT +?`, []any{q.Since.UnixNano(), rows.MostSince}, nil
	}
	if k.IsZero() {
		return keyOfRow, ` WHERE TRUE` + also, nil, nil
	}
	id, err := r.keyID(ctx, k)
	from, to := span(id)
	if q.Before > 0 {
		to = rowID(id, q.Before-1)
	}
	if q.Seq > 0 {
		from, to = rowID(id, q.Seq), rowID(id, q.Seq)
	}
	return `''`, ` WHERE r.id BETWEEN ? AND ?` + also + orderBy(`r.id`, q.Newest), []any{from, to}, err
}

func orderBy(column string, newest bool) string {
	if newest {
		return ` ORDER BY ` + column + ` DESC`
	}
	return ` ORDER BY ` + column
}

// Inbox is of rows.Reader. Short open rows come from memory.
func (r reader) Inbox(ctx context.Context, k channels.Key, q rows.QueueFilter) iter.Seq2[rows.In, error] {
	if q == (rows.QueueFilter{Open: true, Light: q.Light}) && !k.IsZero() && r.sameAsMemory(k) {
		if list, ok := bodies[rows.In](r.b.work.Items(k, dispatch.Chat, dispatch.Heartbeat)); ok {
			return given(list, nil)
		}
	}
	also := ``
	if q.Open {
		also = waiting
	}
	if q.MessageID != "" {
		also += ofMessage
	}
	key, where, args, err := r.where(ctx, k, q, "accepted", also)
	switch {
	case err != nil:
		return given[rows.In](nil, err)
	case q.MessageID != "":
		args = append(args, q.MessageID)
	case q.Writers:
		return r.writers(ctx, k, where, args...)
	}
	return r.inbox(ctx, k, q.Light, key, where, args...)
}

// writers reads who wrote the rows of k, each once.
func (r reader) writers(ctx context.Context, k channels.Key, where string, args ...any) iter.Seq2[rows.In, error] {
	return stream(ctx, r.src, func(row scanner) (in rows.In, err error) {
		var rest sql.RawBytes
		if err = row.Scan(&rest); err == nil {
			err = decode(rest, &inboundRest{Inbound: &in.Inbound})
		}
		in.Inbound.Key = k
		return in, err
	}, `SELECT DISTINCT `+restWith("sender", "private")+` FROM inbox r`+where, args...)
}

// inbox reads rows of k, or of the key in the column.
func (r reader) inbox(ctx context.Context, k channels.Key, light bool, key, where string, args ...any) iter.Seq2[rows.In, error] {
	query := `SELECT ` + key + `, ` + inLight + `, ` + inMessage + `, ` + inFired + ` FROM inbox r` + joinFired
	if light {
		query = `SELECT ` + key + `, ` + inLight + ` FROM inbox r`
	}
	return stream(ctx, r.src, func(row scanner) (in rows.In, err error) {
		var rest []byte
		m := &in.Inbound
		m.Key = k
		fields := append([]any{asKey(&m.Key)}, inLightFields(new(int64), &in)...)
		if light {
			err = row.Scan(fields...)
			return in, err
		}
		fields = append(append(fields, inMessageFields(m, &rest)...), &in.Job, asTime(&in.JobDue))
		if err = row.Scan(fields...); err == nil {
			err = decode(rest, &inboundRest{Inbound: m})
		}
		return in, err
	}, query+where, args...)
}

// Outbox is of rows.Reader. Short unsent rows come from memory.
func (r reader) Outbox(ctx context.Context, k channels.Key, q rows.QueueFilter) iter.Seq2[rows.Out, error] {
	if q.ID != "" {
		return given(r.delivery(ctx, k, q.ID))
	}
	if q == (rows.QueueFilter{Unsent: true}) && !k.IsZero() && r.sameAsMemory(k) {
		if list, ok := bodies[rows.Out](r.b.work.Items(k, dispatch.Delivery)); ok {
			return given(list, nil)
		}
	}
	also := ``
	switch {
	case q.Unsent:
		also = unsent
	case q.Open || k.IsZero():
		also = notSent
	}
	key, where, args, err := r.where(ctx, k, q, "created", also)
	if err != nil {
		return given[rows.Out](nil, err)
	}
	return r.outbox(ctx, k, key, where, args...)
}

// outbox reads rows of k, or of the key in the column.
func (r reader) outbox(ctx context.Context, k channels.Key, key, where string, args ...any) iter.Seq2[rows.Out, error] {
	return stream(ctx, r.src, func(row scanner) (o rows.Out, err error) {
		o.Key = k
		var id int64
		if err = row.Scan(append([]any{asKey(&o.Key)}, outFields(&id, &o, &o.ID)...)...); err == nil && o.ID == "" {
			o.ID = r.b.deliveryID(rowID(id, o.Seq))
		}
		return o, err
	}, `SELECT `+key+`, `+outState+`, `+outRest+` FROM outbox r`+where, args...)
}

// delivery reads the delivery called id, of any key if k is zero. The id is made of the
// row's, unless it was imported or the row has moved.
func (r reader) delivery(ctx context.Context, k channels.Key, id string) ([]rows.Out, error) {
	if !k.IsZero() && r.sameAsMemory(k) {
		for _, it := range r.b.work.Items(k, dispatch.Delivery) {
			if o, ok := it.Body.(*rows.Out); ok && o.ID == id {
				return []rows.Out{*o}, nil
			}
		}
	}
	list, err := collect(r.outbox(ctx, channels.Key{}, keyOfRow, ` WHERE r.id = ? AND r.did = '' OR r.did = ? AND r.did <> ''`, r.b.deliveryRow(id), id))
	return slices.DeleteFunc(list, func(o rows.Out) bool { return !k.IsZero() && o.Key != k }), err
}

// sameAsMemory reports whether r would read the open rows of k as the dispatcher has
// them: r sees what is durable, and this commit has not changed k.
func (r reader) sameAsMemory(k channels.Key) bool {
	return r.committed() || r.t != nil && !r.t.touched[k]
}

// bodies are the rows of items. ok is false if one of them has to be read.
func bodies[T any](items []dispatch.Item) (list []T, ok bool) {
	for _, it := range items {
		row, ok := it.Body.(*T)
		if !ok {
			return nil, false
		}
		list = append(list, *row)
	}
	return list, true
}

// deliveryID is the id of a delivery for networks that deduplicate. It begins with the
// store's random name, so that a new store does not repeat the ids of a former one.
func (b *backend) deliveryID(id int64) string {
	return b.prefix + "-" + strconv.FormatInt(id>>32, 10) + "-" + strconv.FormatInt(seqOf(id), 10)
}

// deliveryRow is the inverse of deliveryID, 0 for an id from elsewhere.
func (b *backend) deliveryRow(id string) int64 {
	var key, seq int64
	_, err := fmt.Sscanf(id, b.prefix+"-%d-%d", &key, &seq)
	if row := rowID(key, seq); err == nil && b.deliveryID(row) == id {
		return row
	}
	return 0
}
