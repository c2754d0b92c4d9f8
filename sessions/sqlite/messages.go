package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

const (
	messageColumns = `id, role, rest, content`
	messageRange   = ` FROM messages WHERE id BETWEEN ? AND ? ORDER BY id`
)

// Messages: see rows.Reader. The newest ones of a conversation that was read
// lately come from memory.
func (r reader) Messages(ctx context.Context, k channels.Key, q rows.Said) iter.Seq2[sessions.Message, error] {
	return func(yield func(sessions.Message, error) bool) {
		err := r.messages(ctx, k, q, func(m sessions.Message) bool { return yield(m, nil) })
		if err != nil && !errors.Is(err, errEnough) && !errors.Is(err, sql.ErrNoRows) {
			yield(sessions.Message{}, explain(err))
		}
	}
}

func (r reader) messages(ctx context.Context, k channels.Key, q rows.Said, yield func(sessions.Message) bool) error {
	changes := r.b.recent.now() // before anything is read
	key, err := r.keyID(ctx, k)
	if err != nil {
		return err
	}
	first, last := max(q.After, 0)+1, int64(maxSeq)
	if q.Before > 0 {
		last = q.Before - 1
	}
	if r.pooled() && q.Newest && !q.Once {
		return r.newest(ctx, key, first, last, changes, yield)
	}
	return r.readMessages(ctx, q.Light, key, first, last, q.Newest, func(m sessions.Message) error { return give(m, yield) })
}

func give(m sessions.Message, yield func(sessions.Message) bool) error {
	if !yield(m) {
		return errEnough
	}
	return nil
}

func (r reader) readMessages(ctx context.Context, light bool, key, first, last int64, newest bool, f func(sessions.Message) error) error {
	query := `SELECT ` + messageColumns + messageRange
	if light {
		query = `SELECT id, role, rest, ''` + messageRange
	}
	if newest {
		query += ` DESC`
	}
	scan := newRowScan()
	return r.src.each(ctx, func(row scanner) error {
		m, err := scan.message(row)
		if err == nil {
			err = f(m)
		}
		return err
	}, query, rowID(key, first), rowID(key, last))
}

// newest yields messages from the newest on: those that came since the last read
// of the same conversation, then those that are known from it, then the rest.
// What was yielded is known to the next one.
func (r reader) newest(ctx context.Context, key, first, last int64, changes uint64, yield func(sessions.Message) bool) error {
	known := r.b.recent.stretch(key)
	for len(known) > 0 && known[len(known)-1].Seq > last {
		known = known[:len(known)-1]
	}
	read := func(first, last int64) (list []sessions.Message, err error) {
		if first <= last {
			err = r.readMessages(ctx, false, key, first, last, true, func(m sessions.Message) error {
				list = append(list, m)
				return give(rules.Clone(m), yield)
			})
		}
		slices.Reverse(list)
		return list, err
	}
	after, before := first, first-1
	if n := len(known); n > 0 {
		after, before = max(first, known[n-1].Seq+1), known[0].Seq-1
	}
	newer, err := read(after, last)
	from := len(known)
	for err == nil && from > 0 && known[from-1].Seq >= first {
		from--
		err = give(rules.Clone(known[from]), yield)
	}
	var older []sessions.Message
	if err == nil {
		older, err = read(first, before)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	used := known[from:]
	if len(newer)+len(older) > 0 {
		used = slices.Concat(older, used, newer)
	}
	if len(newer)+len(older) > 0 || from > 0 {
		r.b.recent.put(key, used, changes)
	}
	return err
}
