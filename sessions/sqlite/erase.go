package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Erase is part of [sessions.Lifetime]. The rows go in one transaction; after
// it the search index is written anew, the file is, and the log is emptied, so
// that no page holds what was erased. That takes the time and, for a moment,
// the room of a copy of the file, and nothing else is written meanwhile. If it
// fails after the transaction the error says so: call it again. What [Copies]
// lists is removed and named.
func (s *Store) Erase(ctx context.Context, e sessions.Erasure) (got sessions.Erased, err error) {
	done := false
	var rewrote []channels.Key
	err = s.updateAlone(ctx, "erase", func(t *tx) error {
		got, rewrote, err = t.erase(e)
		return err
	}, func() (err error) {
		done = true
		for _, k := range rewrote { // now that who reads finds it gone
			s.writer.rewritten[k] = s.now()
		}
		if got.Copies, err = s.wipe(); err != nil {
			return fmt.Errorf("it is erased, but traces may be left in the files, do it again: %w", err)
		}
		return nil
	})
	if !done {
		return sessions.Erased{}, err
	}
	return got, err
}

// eraser is one erasure.
type eraser struct {
	*tx
	got   sessions.Erased
	files map[string]bool
	// rewrote are conversations that go on without some of their messages.
	rewrote []channels.Key
}

func (t *tx) erase(e sessions.Erasure) (sessions.Erased, []channels.Key, error) {
	x := &eraser{tx: t, files: map[string]bool{}}
	if err := t.shred(); err != nil {
		return x.got, nil, err
	}
	if err := t.sweepAll(); err != nil {
		return x.got, nil, err
	}
	for _, k := range e.Keys {
		r, err := t.find(k)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err == nil {
			err = x.key(r)
		}
		if err != nil {
			return x.got, nil, err
		}
	}
	for _, scope := range e.Scopes {
		n, err := t.changed(`DELETE FROM facts WHERE scope = ?`, scope)
		if err != nil {
			return x.got, nil, err
		}
		x.got.Facts += int(n)
	}
	for channel, ids := range rules.SendersByChannel(e.Senders) {
		if err := x.people(channel, ids); err != nil {
			return x.got, nil, err
		}
	}
	if err := x.asides(e); err != nil {
		return x.got, nil, err
	}
	x.got.Files = slices.Sorted(maps.Keys(x.files))
	return x.got, x.rewrote, nil
}

// forgetDone removes of the queues of r what is done, and reports whether
// there was any.
func (t *tx) forgetDone(r *keyRow) (any bool, err error) {
	if err := t.shred(); err != nil {
		return false, err
	}
	x := &eraser{tx: t, files: map[string]bool{}}
	inbox, err := x.inbox(r, nil)
	if err != nil {
		return false, err
	}
	for _, w := range inbox {
		if w.state == rules.InWaiting {
			continue
		}
		any = true
		if err := x.forgetIn(r, w); err != nil {
			return any, err
		}
	}
	n, err := t.changed(`DELETE FROM outbox WHERE state IN ('sent', 'dead', 'dropped') AND id BETWEEN ? AND ?`, rowID(r.id, 0), rowID(r.id, maxSeq))
	return any || n > 0, err
}

// asides forgets what was set aside and names somebody or something that is
// erased.
func (x *eraser) asides(e sessions.Erasure) error {
	rows, err := x.rows(`SELECT id, channel, msg_id, raw FROM aside`)
	if err != nil {
		return err
	}
	var gone []int64
	err = each(rows, func() error {
		var id int64
		var a sessions.Aside
		err := rows.Scan(&id, &a.Channel, &a.ID, &a.Raw)
		if rules.AsideNames(a, e) {
			gone = append(gone, id)
		}
		return err
	})
	for _, id := range gone {
		err = errors.Join(err, x.exec(`DELETE FROM aside WHERE id = ?`, id))
		x.got.Queued++
	}
	return err
}

// key forgets all of r.
func (x *eraser) key(r *keyRow) error {
	x.fenced = append(x.fenced, r.key)
	if err := x.openItems(r, true); err != nil {
		return err
	}
	inbox, err := x.inbox(r, nil)
	if err != nil {
		return err
	}
	for _, w := range inbox {
		if err := x.forgetIn(r, w); err != nil {
			return err
		}
	}
	if r.conv != nil {
		x.got.Conversations++
		if _, _, err := x.messages(r, nil); err != nil {
			return err
		}
	}
	from, to := rowID(r.id, 0), rowID(r.id, maxSeq)
	for query, count := range map[string]*int{
		`DELETE FROM messages WHERE id BETWEEN ? AND ?`:  &x.got.Messages,
		`DELETE FROM summaries WHERE id BETWEEN ? AND ?`: &x.got.Summaries,
		`DELETE FROM outbox WHERE id BETWEEN ? AND ?`:    &x.got.Queued,
	} {
		n, err := x.changed(query, from, to)
		if err != nil {
			return err
		}
		*count += int(n)
	}
	if err := x.exec(`DELETE FROM steps WHERE key_id = ?`, r.id); err != nil {
		return err
	}
	if err := x.deleteConversation(r); err != nil {
		return err
	}
	delete(x.keys, r.key)
	if err := x.exec(`UPDATE meta SET last_key = max(last_key, ?)`, r.id); err != nil {
		return err
	}
	return x.exec(`DELETE FROM keys WHERE id = ?`, r.id)
}

// inbox reads the rows of r whose sender is one of ids, or all if ids is nil.
func (x *eraser) inbox(r *keyRow, ids []string) (list []inRow, err error) {
	rows, err := x.rows(`SELECT `+inColumns+` FROM inbox WHERE id BETWEEN ? AND ?`, rowID(r.id, 0), rowID(r.id, maxSeq))
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		w, err := scanIn(rows, r.key)
		mine := slices.ContainsFunc(w.inbound.Sender.IDs, func(id string) bool { return slices.Contains(ids, id) })
		if err == nil && (ids == nil || mine) {
			w.inbound.Text = "" // not needed, and it can be long
			list = append(list, w)
		}
		return err
	})
	return list, err
}

// forgetIn removes an inbox row; that it was there stays known.
func (x *eraser) forgetIn(r *keyRow, w inRow) error {
	rules.Files(x.files, w.inbound.Attachments)
	x.got.Queued++
	x.hashes = true
	id := rowID(r.id, w.seq)
	if err := x.exec(`DELETE FROM inbox WHERE id = ?`, id); err != nil {
		return err
	}
	for _, hash := range marks(w) {
		if err := x.exec(`INSERT INTO erased (hash) VALUES (?) ON CONFLICT DO NOTHING`, hash); err != nil {
			return err
		}
	}
	return x.exec(`UPDATE occurrences SET inbox_id = 0 WHERE inbox_id = ? AND inbox_id <> 0`, id)
}

// marks are the hashes by which w stays known when it is gone.
func marks(w inRow) []string {
	hashes := []string{rules.Hash(w.dedupe)}
	if mark, ok := rules.ErasedMark(w.inbound); ok {
		hashes = append(hashes, mark)
	}
	return hashes
}

// messages reads those of r that one of ids sent, all if ids is nil, notes
// their files and returns them without what they say, and so the copies of what
// anybody said there.
func (x *eraser) messages(r *keyRow, ids []string) (list, copies []sessions.Message, err error) {
	rows, err := x.rows(`SELECT id, role, rest, '' FROM messages WHERE id BETWEEN ? AND ?`, rowID(r.id, 0), rowID(r.id, maxSeq))
	if err != nil {
		return nil, nil, err
	}
	scan := newRowScan(rows)
	err = each(rows, func() error {
		m, err := scan.message()
		if err == nil && (ids == nil || m.Sender != "" && slices.Contains(ids, m.Sender)) {
			rules.Files(x.files, m.Attachments)
			if ids != nil {
				list = append(list, rules.EraseMessage(m))
			}
		} else if err == nil && rules.Copied(m) {
			copies = append(copies, rules.EraseCopy(m))
		}
		return err
	})
	return list, copies, err
}
