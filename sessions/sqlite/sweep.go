package sqlite

import (
	"context"
	"fmt"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// A conversation can be so large that nobody may wait for the one transaction
// that takes it in or throws it away. What belongs to it lies under the id of
// its key, so it is hidden while no key has that id: its rows are written, or
// removed, in parts, and others write in between. A row of sweeps stands for
// each id whose rows are to go. It is there before the first row is written,
// and goes with the commit that gives the id to a key, or with the last row. So
// whatever a crash leaves is swept later: by [Store.Run], or by an erasure.

// partRows is how many rows one part writes or removes, and partBytes about how
// much it writes: a message that is longer is a part of its own.
const (
	partRows  = 500
	partBytes = 1 << 20
)

// sweepsTable is made in older files as well: a program that does not know it
// sees nothing of what is hidden.
const sweepsTable = `CREATE TABLE IF NOT EXISTS sweeps (
	key_id INTEGER PRIMARY KEY,
	key    TEXT    NOT NULL DEFAULT ''
)`

// large reports whether r is to be removed in parts. One that has something to
// do is not: its rows are in use.
func (t *tx) large(r *keyRow) bool {
	return r.conv != nil && max(r.conv.messages, r.seq) > partRows && t.idle(r.key)
}

// freshID is an id that no key ever had.
func (t *tx) freshID() (id int64, err error) {
	err = t.row(`UPDATE meta SET last_key = 1 + max(coalesce((SELECT max(id) FROM keys), 0), last_key) RETURNING last_key`).Scan(&id)
	return id, err
}

// hide deletes r's conversation and queues for everybody: its key gets another
// id. The rows have to be swept.
func (t *tx) hide(r *keyRow) (hidden int64, err error) {
	id, err := t.freshID()
	if err != nil {
		return 0, err
	}
	for _, query := range []string{
		`DELETE FROM conversations WHERE key_id = ?`, `DELETE FROM generations WHERE key_id = ?`, `DELETE FROM steps WHERE key_id = ?`,
	} {
		if err := t.exec(query, r.id); err != nil {
			return 0, err
		}
	}
	if err := t.exec(`INSERT INTO sweeps (key_id, key) VALUES (?, ?)`, r.id, r.key.String()); err != nil {
		return 0, err
	}
	delete(t.keys, r.key)
	return r.id, t.exec(`UPDATE keys SET id = ? WHERE id = ?`, id, r.id)
}

// end deletes what is done of r, at once or, if that is much, hidden first; the
// id that is not 0 has to be swept then.
func (t *tx) end(r *keyRow) (hidden int64, err error) {
	if t.large(r) {
		return t.hide(r)
	}
	return 0, t.unsay(r)
}

// unswept lists the ids whose rows are to go.
func (w *writer) unswept() (ids []int64, err error) {
	rows, err := w.rows(`SELECT key_id FROM sweeps`)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// sweep removes the rows of hidden ids, a part in each commit. What it does not
// come to, because ctx or the store ends or the disk fails, is left to the next
// start; nobody sees it.
func (s *Store) sweep(ctx context.Context, ids []int64) {
	for _, id := range ids {
		for done := false; !done; {
			err := s.update(ctx, "sweep", func(t *tx) (err error) {
				done, err = t.sweepPart(id)
				return err
			})
			if err != nil {
				return
			}
		}
	}
}

// sweepAll removes all of what is hidden, in this transaction.
func (t *tx) sweepAll() error {
	ids, err := t.unswept()
	for _, id := range ids {
		for done := false; err == nil && !done; {
			done, err = t.sweepPart(id)
		}
	}
	return err
}

// sweepPart removes some rows of a hidden id and reports whether it was all.
func (t *tx) sweepPart(id int64) (done bool, err error) {
	var name string
	if err := t.row(`SELECT coalesce((SELECT key FROM sweeps WHERE key_id = ?), '-')`, id).Scan(&name); err != nil || name == "-" {
		return true, err // an erasure was faster
	}
	if err := t.shred(); err != nil {
		return false, err
	}
	for _, part := range []func(id int64, name string) (int, error){t.sweepMessages, t.sweepInbox, t.sweepOthers} {
		if n, err := part(id, name); n > 0 || err != nil {
			return false, err
		}
	}
	if err := t.mergeDeleted(10); err != nil {
		return false, err
	}
	return true, t.exec(`DELETE FROM sweeps WHERE key_id = ?`, id)
}

// mergeDeleted says at how many percent of deleted rows the search index writes
// a part of itself anew; 10 is its own choice, 0 never. To do that again and
// again took three quarters of the time of a sweep.
func (t *tx) mergeDeleted(percent int) error {
	return t.exec(`INSERT INTO words (words, rank) VALUES ('deletemerge', ?)`, percent)
}

func (t *tx) sweepMessages(id int64, _ string) (int, error) {
	var n int
	var last int64
	err := t.row(`SELECT count(*), coalesce(max(id), 0) FROM (SELECT id FROM messages WHERE id BETWEEN ? AND ? ORDER BY id LIMIT +?)`,
		rowID(id, 0), rowID(id, maxSeq), partRows).Scan(&n, &last)
	if err != nil || n == 0 {
		return 0, err
	}
	if err := t.mergeDeleted(0); err != nil {
		return 0, err
	}
	t.unsaid = append(t.unsaid, [2]int64{rowID(id, 0), last})
	return n, t.exec(`DELETE FROM messages WHERE id BETWEEN ? AND ?`, rowID(id, 0), last)
}

// sweepInbox leaves the hashes that a deletion leaves.
func (t *tx) sweepInbox(id int64, name string) (int, error) {
	if name == "" {
		return 0, nil // an import that came to nothing
	}
	r := &keyRow{id: id}
	if err := parseKey(&r.key, name); err != nil {
		return 0, err
	}
	rows, err := t.rows(`SELECT `+inColumns+` FROM inbox WHERE id BETWEEN ? AND ? ORDER BY id LIMIT +?`, rowID(id, 0), rowID(id, maxSeq), partRows)
	if err != nil {
		return 0, err
	}
	var part []inRow
	err = each(rows, func() error {
		w, err := scanIn(rows, r.key)
		part = append(part, w)
		return err
	})
	x := &eraser{tx: t, files: map[string]bool{}}
	for _, w := range part {
		if err == nil {
			err = x.forgetIn(r, w)
		}
	}
	return len(part), err
}

func (t *tx) sweepOthers(id int64, _ string) (int, error) {
	from, to := rowID(id, 0), rowID(id, maxSeq)
	for _, query := range []string{
		`DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE id BETWEEN ? AND ? ORDER BY id LIMIT +?)`,
		`DELETE FROM summaries WHERE id IN (SELECT id FROM summaries WHERE id BETWEEN ? AND ? ORDER BY id LIMIT +?)`,
	} {
		if n, err := t.changed(query, from, to, partRows); n > 0 || err != nil {
			return int(n), err
		}
	}
	return 0, nil
}

// hidden reports whether a message of k with that id of the network's is among
// what is being removed: a change of it is nothing, as it will be afterwards.
func (t *tx) hidden(k channels.Key, messageID string) (yes bool, err error) {
	err = t.row(`SELECT EXISTS (SELECT 1 FROM sweeps s CROSS JOIN inbox i ON i.id >> 32 = s.key_id AND i.message_id = ?1 AND i.message_id <> '' WHERE s.key = ?2)`,
		messageID, k.String()).Scan(&yes)
	return yes, err
}

// staged are the messages of a conversation that wait, hidden, for the rest of
// what a [Store.Take] takes in.
type staged struct {
	id    int64
	usage sessions.Usage
}

// stage stores the messages of large conversations ahead, in parts.
func (s *Store) stage(ctx context.Context, plan *rules.Plan) (ahead map[channels.Key]*staged, err error) {
	ahead = map[channels.Key]*staged{}
	for _, k := range plan.Keys {
		p := plan.Chats[k]
		if !p.Conversation || p.Messages <= partRows && p.Bytes <= partBytes {
			continue
		}
		st := &staged{}
		err := s.update(ctx, "restore", func(t *tx) (err error) {
			if st.id, err = t.freshID(); err == nil {
				err = t.exec(`INSERT INTO sweeps (key_id) VALUES (?)`, st.id)
			}
			return err
		})
		if err != nil {
			return ahead, err
		}
		ahead[k] = st
		err = plan.Each(p, func(stretch []sessions.Message) error {
			for len(stretch) > 0 {
				n := partOf(stretch)
				if err := s.stagePart(ctx, st, stretch[:n]); err != nil {
					return err
				}
				stretch = stretch[n:]
			}
			return nil
		})
		if err != nil {
			return ahead, err
		}
	}
	return ahead, nil
}

// partOf is how many of messages are one part, at least one.
func partOf(messages []sessions.Message) (n int) {
	for size := 0; n < min(partRows, len(messages)); n++ {
		if size += rules.Bytes(messages[n]); size > partBytes {
			return max(n, 1)
		}
	}
	return n
}

// stagePart stores some messages. They are made ready before the writer, who is
// everybody's, takes them up.
func (s *Store) stagePart(ctx context.Context, st *staged, part []sessions.Message) error {
	rows := messageRows(part, "", s.now())
	err := s.update(ctx, "restore", func(t *tx) error {
		var kept bool
		if err := t.row(`SELECT EXISTS (SELECT 1 FROM sweeps WHERE key_id = ?)`, st.id).Scan(&kept); err != nil {
			return err
		}
		if !kept {
			return errSwept
		}
		return t.insertMessages(st.id, part, rows)
	})
	for _, row := range rows {
		st.usage.Add(row.usage)
	}
	return err
}

var errSwept = fmt.Errorf("%w: something was erased meanwhile, do it again", sessions.ErrConflict)

// unstage gives the hidden messages to r, which has none.
func (t *tx) unstage(r *keyRow, st *staged) error {
	n, err := t.changed(`DELETE FROM sweeps WHERE key_id = ?`, st.id)
	if err == nil && n == 0 {
		err = errSwept
	}
	if err == nil {
		err = t.exec(`UPDATE keys SET id = ? WHERE id = ?`, st.id, r.id)
	}
	r.id = st.id
	r.conv.usage.Add(st.usage)
	return err
}
