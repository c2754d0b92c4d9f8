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

// Messages: see rows.Reader. The newest ones of a conversation that was read
// lately come from memory.
func (r reader) Messages(ctx context.Context, k channels.Key, q rows.Said) iter.Seq2[sessions.Message, error] {
	changes := r.b.recent.now() // before anything is read
	key, err := r.keyID(ctx, k)
	if err != nil {
		return none[sessions.Message](err)
	}
	from, to := between(key, q)
	if r.pooled() && q.Newest && q.Again {
		return r.newest(ctx, key, seqOf(from), seqOf(to), changes)
	}
	return r.said(ctx, from, to, q)
}

// between are the ids of the messages of a key that q chooses.
func between(key int64, q rows.Said) (from, to int64) {
	from, to = rowID(key, max(q.After, 0)+1), rowID(key, maxSeq)
	if q.Before > 0 {
		to = rowID(key, min(q.Before-1, maxSeq))
	}
	return from, to
}

// said reads the messages with ids from one to another from the file.
func (r reader) said(ctx context.Context, from, to int64, q rows.Said) iter.Seq2[sessions.Message, error] {
	columns := `SELECT id, role, rest, content`
	if q.Light {
		columns = `SELECT id, role, rest, ''`
	}
	return stream(ctx, r.src, scanMessages(), columns+` FROM messages WHERE id BETWEEN ? AND ?`+orderBy(`id`, q.Newest), from, to)
}

// newest yields messages from the newest on: those that came since the last read
// of the same conversation, then those that are known from it, then the rest.
// What was yielded is known to the next one.
func (r reader) newest(ctx context.Context, key, first, last int64, changes uint64) iter.Seq2[sessions.Message, error] {
	return func(yield func(sessions.Message, error) bool) {
		known := r.b.recent.messages(key)
		for len(known) > 0 && known[len(known)-1].Seq > last {
			known = known[:len(known)-1]
		}
		more, failed := true, false
		read := func(first, last int64) (list []sessions.Message) {
			if !more || first > last {
				return nil
			}
			for m, err := range r.said(ctx, rowID(key, first), rowID(key, last), rows.Said{Newest: true}) {
				if failed = err != nil; failed {
					yield(m, err)
					more = false
				} else {
					list = append(list, m)
					more = yield(rules.Clone(m), nil)
				}
				if !more {
					break
				}
			}
			slices.Reverse(list)
			return list
		}
		after, before := first, first-1
		if n := len(known); n > 0 {
			after, before = max(first, known[n-1].Seq+1), known[0].Seq-1
		}
		newer := read(after, last)
		from := len(known)
		for more && from > 0 && known[from-1].Seq >= first {
			from--
			more = yield(rules.Clone(known[from]), nil)
		}
		older := read(first, before)
		used := known[from:]
		if len(newer)+len(older) > 0 {
			used = slices.Concat(older, used, newer)
		}
		if !failed && (len(newer)+len(older) > 0 || from > 0) {
			r.b.recent.put(key, used, changes)
		}
	}
}
