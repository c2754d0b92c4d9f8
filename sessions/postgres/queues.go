package postgres

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// andOpen chooses open deliveries, andUnsent those that are not dead. They are written
// so that PostgreSQL uses the index of open deliveries.
const (
	andOpen   = ` AND state IN ('queued', 'sending', 'unknown', 'dead')`
	andUnsent = andOpen + ` AND state <> 'dead'`
)

// queueSpan returns the seqs that q chooses.
func queueSpan(q rows.QueueFilter) span {
	if q.Seq > 0 {
		return span{q.Seq, q.Seq, q.Newest}
	}
	return spanOf(-1, q.Before, q.Newest)
}

func (r reader) Inbox(ctx context.Context, k channels.Key, q rows.QueueFilter) iter.Seq2[rows.In, error] {
	if r.t != nil && r.t.cache != nil {
		return r.t.cache.inbox(k, q)
	}
	inbound := `inbound`
	if q.Light {
		inbound = `''`
	}
	if k.IsZero() {
		const query = `SELECT k.key, r.seq, r.state, r.data, r.inbound FROM inbox r JOIN keys k ON k.id = r.key_id WHERE `
		if !q.Since.IsZero() {
			return anyKey(ctx, r, query+`r.accepted >= $1 LIMIT $2`, scanIn, q.Since.UnixNano(), rows.MostSince)
		}
		return anyKey(ctx, r, query+`r.state = 'waiting'`, scanIn)
	}
	where, args := ``, []any(nil)
	if q.MessageID != "" {
		where, args = ` AND message_id = $5`, []any{rules.Hash(q.MessageID)}
	}
	if q.Open {
		where += ` AND state = 'waiting'`
	}
	return bySeq(ctx, r, k, queueSpan(q), `SELECT '', seq, state, data, `+inbound+` FROM inbox WHERE key_id = `+idOfKey+` AND seq BETWEEN $2 AND $3`+where, args, scanIn,
		func(row rows.In) int64 { return row.Seq })
}

// scanIn scans an inbox row. Its first column is the name of its key; empty: k.
func scanIn(k channels.Key, row pgx.CollectableRow) (in rows.In, err error) {
	var name, data, inbound string
	if err = row.Scan(&name, &in.Seq, &in.State, &data, &inbound); err == nil {
		err = decode(data, &inData{In: &in})
	}
	if err == nil && inbound != "" {
		err = decode(inbound, &in.Inbound)
		in.Inbound = rules.FormerInbound(in.Inbound)
	}
	in.Inbound.Key = k
	if err == nil && name != "" {
		in.Inbound.Key, err = channels.ParseKey(name)
	}
	return in, err
}

func (r reader) Outbox(ctx context.Context, k channels.Key, q rows.QueueFilter) iter.Seq2[rows.Out, error] {
	if r.t != nil && r.t.cache != nil {
		return r.t.cache.outbox(k, q)
	}
	where, args := ``, []any(nil)
	switch {
	case q.Unsent:
		where = andUnsent
	case q.Open:
		where = andOpen
	}
	switch {
	case k.IsZero() && !q.Since.IsZero():
		return anyKey(ctx, r, `SELECT k.key, r.seq, r.data, r.label FROM outbox r JOIN keys k ON k.id = r.key_id WHERE r.created >= $1 LIMIT $2`, scanOut, q.Since.UnixNano(), rows.MostSince)
	case k.IsZero() && q.ID == "":
		return anyKey(ctx, r, `SELECT k.key, r.seq, r.data, r.label FROM outbox r JOIN keys k ON k.id = r.key_id WHERE true`+andOpen, scanOut)
	case k.IsZero():
		return anyKey(ctx, r, `SELECT k.key, r.seq, r.data, r.label FROM outbox r JOIN keys k ON k.id = r.key_id WHERE r.id = $1`, scanOut, rules.Hash(q.ID))
	case q.ID != "":
		where, args = where+` AND id = $5`, []any{rules.Hash(q.ID)}
	}
	return bySeq(ctx, r, k, queueSpan(q), `SELECT '', seq, data, label FROM outbox WHERE key_id = `+idOfKey+` AND seq BETWEEN $2 AND $3`+where, args, scanOut,
		func(o rows.Out) int64 { return o.Seq })
}

// scanOut is scanIn for the outbox.
func scanOut(k channels.Key, row pgx.CollectableRow) (o rows.Out, err error) {
	var name, text, label string
	var seq int64
	var data outData
	err = row.Scan(&name, &seq, &text, &label)
	if err == nil {
		err = decode(text, &data)
	}
	o.OutboxRecord = data.OutboxRecord
	o.Seq, o.Node = seq, data.Node
	if err == nil {
		err = readLabel(&o.OutboxRecord, label)
	}
	o.Key = k
	if err == nil && name != "" {
		o.Key, err = channels.ParseKey(name)
	}
	return o, err
}

// anyKey yields rows of all keys.
func anyKey[T any](ctx context.Context, r reader, query string, scan func(channels.Key, pgx.CollectableRow) (T, error), args ...any) iter.Seq2[T, error] {
	return yieldAll(all(ctx, r.q, func(row pgx.CollectableRow) (T, error) { return scan(channels.Key{}, row) }, query, args...))
}
