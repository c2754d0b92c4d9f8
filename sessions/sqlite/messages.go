package sqlite

import (
	"context"
	"iter"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Messages is of rows.Reader. The newest messages of a conversation that was read
// recently come from the cache.
func (r reader) Messages(ctx context.Context, k channels.Key, q rows.MessageFilter) iter.Seq2[sessions.Message, error] {
	key, err := r.keyID(ctx, k)
	if err != nil {
		return given[sessions.Message](nil, err)
	}
	from, to := between(key, q)
	if r.committed() && q.Newest && q.Again {
		return r.newest(ctx, key, seqOf(from), seqOf(to))
	}
	return r.transcript(ctx, from, to, q)
}

// between is the first and the last row id of the messages that q chooses.
func between(key int64, q rows.MessageFilter) (from, to int64) {
	from, to = rowID(key, max(q.After, 0)+1), rowID(key, maxSeq)
	if q.Before > 0 {
		to = rowID(key, q.Before-1)
	}
	return from, to
}

// transcript reads the messages between two row ids from the file.
func (r reader) transcript(ctx context.Context, from, to int64, q rows.MessageFilter) iter.Seq2[sessions.Message, error] {
	columns := `SELECT id, role, rest, content`
	if q.Light {
		columns = `SELECT id, role, rest, ''`
	}
	condition := orderBy(`id`, q.Newest)
	if q.Writers {
		columns, condition = `SELECT DISTINCT 0, role, `+restWith("sender", "name")+`, ''`, ` AND role = 'user'`
	}
	return stream(ctx, r.src, scanMessages(), columns+` FROM messages WHERE id BETWEEN ? AND ?`+condition, from, to)
}

// newest yields messages from the newest on: those that came after the cached ones, the
// cached ones, and the older ones. It caches what it yielded, and drops the older ones
// only if it was asked for all that are left.
func (r reader) newest(ctx context.Context, key, first, last int64) iter.Seq2[sessions.Message, error] {
	return func(yield func(sessions.Message, error) bool) {
		cached, version := r.b.cache.messages(key)
		for len(cached) > 0 && cached[len(cached)-1].Seq > last {
			cached = cached[:len(cached)-1]
		}
		after, before := first, first-1
		if n := len(cached); n > 0 {
			after, before = max(first, cached[n-1].Seq+1), cached[0].Seq-1
		}
		more := true
		read := func(first, last int64) (list []sessions.Message) {
			if !more || first > last {
				return nil
			}
			for m, err := range r.transcript(ctx, rowID(key, first), rowID(key, last), rows.MessageFilter{Newest: true}) {
				more = yield(rules.Clone(m), err) && err == nil
				if err == nil {
					list = append(list, m)
				}
				if !more {
					break
				}
			}
			slices.Reverse(list)
			return list
		}
		newer, from := read(after, last), len(cached)
		for ; more && from > 0 && cached[from-1].Seq >= first; from-- {
			more = yield(rules.Clone(cached[from-1]), nil)
		}
		older := read(first, before)
		if !more { // who wants only the newest says nothing about what the next reader wants
			from = 0
		}
		if from > 0 || len(newer)+len(older) > 0 { // else the cache has it so
			r.b.cache.put(key, slices.Concat(older, cached[from:], newer), version)
		}
	}
}
