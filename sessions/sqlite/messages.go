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
func (r reader) newest(ctx context.Context, key, first, last int64, changes uint64, yield func(sessions.Message) bool) (err error) {
	known := r.b.recent.stretch(key)
	for len(known) > 0 && known[len(known)-1].Seq > last {
		known = known[:len(known)-1]
	}
	var read []sessions.Message // newest first
	note := func(m sessions.Message) error {
		read = append(read, m)
		return give(rules.Clone(m), yield)
	}
	since := first
	if n := len(known); n > 0 {
		since = max(first, known[n-1].Seq+1)
	}
	if since <= last {
		err = r.readMessages(ctx, false, key, since, last, true, note)
	}
	if err != nil || len(known) == 0 {
		slices.Reverse(read)
		if err == nil || errors.Is(err, errEnough) {
			r.remember(key, known, read, changes)
		}
		return err
	}
	slices.Reverse(read)
	from := len(known)
	for ; from > 0 && known[from-1].Seq >= first; from-- {
		if err = give(rules.Clone(known[from-1]), yield); err != nil {
			from--
			break
		}
	}
	if errors.Is(err, errEnough) || err == nil {
		used := since
		if from < len(known) {
			used = known[from].Seq
		}
		if len(read) > 0 {
			r.b.recent.put(key, used, read, changes)
		} else {
			r.b.recent.trim(key, used)
		}
	}
	if err != nil || from > 0 || known[0].Seq <= first {
		return err
	}
	return r.readMessages(ctx, false, key, first, known[0].Seq-1, true, func(m sessions.Message) error { return give(m, yield) })
}

// remember keeps rows that were read where nothing was known, or that did not
// reach what was.
func (r reader) remember(key int64, known, read []sessions.Message, changes uint64) {
	if len(read) > 0 && len(known) == 0 {
		r.b.recent.put(key, read[0].Seq, read, changes)
	}
}
