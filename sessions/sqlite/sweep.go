package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// A conversation can be so large that nobody may wait for the one transaction
// that takes it in or throws it away. What belongs to it lies under the id of
// its key, so it is hidden while no key has that id: its rows are written, or
// removed, in parts, and others write in between. A row of sweeps stands for
// each id whose rows are to go. It is there before the first row is written,
// and goes with the commit that gives the id to a key, or with the last row. So
// whatever a crash leaves is swept later: by [Store.Run], or by an erasure.

// sweepsTable is made in older files as well: a program that does not know it
// sees nothing of what is hidden.
const sweepsTable = `CREATE TABLE IF NOT EXISTS sweeps (
	key_id INTEGER PRIMARY KEY,
	key    TEXT    NOT NULL DEFAULT ''
)`

// large reports whether ch deletes so much of r that it is to be removed in
// parts. A key that has something to do is not: those rows stay.
func (t *tx) large(r *keyRow, ch *rows.Chat) bool {
	much := r.conv != nil && r.conv.Messages > rules.PartMessages || r.seq > rules.PartMessages
	if !much || !ch.Cleared || !ch.Settled || len(ch.In)+len(ch.Out)+len(ch.Moves) > 0 || r.waiting > 0 {
		return false
	}
	from, to := span(r.id)
	unsent, err := t.reader().yes(context.Background(),
		`SELECT 1 FROM outbox WHERE state <> 'sent' AND state IN ('queued', 'sending', 'unknown') AND id BETWEEN ? AND ?`, from, to)
	t.fail(err)
	return !unsent
}

// fresh reports whether k has no rows at all: then it can get another id.
func (t *tx) fresh(k channels.Key) (bool, error) {
	r, err := t.find(k)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil || r.conv != nil {
		return false, err
	}
	from, to := span(r.id)
	any, err := t.reader().yes(context.Background(),
		`SELECT 1 FROM inbox WHERE id BETWEEN ?1 AND ?2 UNION ALL SELECT 1 FROM outbox WHERE id BETWEEN ?1 AND ?2`, from, to)
	return !any && err == nil, err
}

// freshID is an id that no key ever had.
func (t *tx) freshID() (id int64) {
	t.wrote = true
	t.scan([]any{&id}, `UPDATE meta SET last_key = 1 + max(coalesce((SELECT max(id) FROM keys), 0), last_key) RETURNING last_key`)
	return id
}

// detach deletes r's conversation and queues for everybody: its key gets another
// id. The rows have to be swept.
func (t *tx) detach(r *keyRow) (hidden int64) {
	delete(t.keys, r.key)
	t.hashes, t.rewrote = true, true
	t.on([]any{r.id, t.freshID(), r.key.String()},
		`DELETE FROM conversations WHERE key_id = ?1`,
		`DELETE FROM generations WHERE key_id = ?1`,
		`DELETE FROM steps WHERE key_id = ?1`,
		`INSERT INTO sweeps (key_id, key) VALUES (?1, ?3)`,
		`UPDATE keys SET id = ?2 WHERE id = ?1`)
	return r.id
}

// unswept lists the ids whose rows are to go.
func (w *writer) unswept() (ids []int64, err error) {
	return ints(context.Background(), &w.statements, `SELECT key_id FROM sweeps`)
}

// sweep removes the rows of hidden ids, a part in each commit. What it does not
// come to, because ctx or the store ends or the disk fails, is left to the next
// start; nobody sees it.
func (s *backend) sweep(ctx context.Context, ids []int64) {
	for _, id := range ids {
		for done := false; !done; {
			err := s.do(ctx, op{run: func(t *tx) error {
				done = t.sweepPart(id)
				return nil
			}})
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
		for !t.sweepPart(id) {
		}
	}
	return err
}

// sweepPart removes some rows of a hidden id and reports whether it was all, or
// nothing more can be done after an error.
func (t *tx) sweepPart(id int64) (done bool) {
	name := "-"
	if t.scan([]any{&name}, `SELECT coalesce((SELECT key FROM sweeps WHERE key_id = ?), '-')`, id); name == "-" {
		return true // an erasure was faster
	}
	t.shred()
	for _, part := range []func(id int64, name string) int{t.sweepMessages, t.sweepInbox, t.sweepOthers} {
		if part(id, name) > 0 {
			return false
		}
	}
	t.mergeDeleted(10)
	t.run(`DELETE FROM sweeps WHERE key_id = ?`, id)
	return true
}

// mergeDeleted says at how many percent of deleted rows the search index writes
// a part of itself anew; 10 is its own choice, 0 never. To do that again and
// again took three quarters of the time of a sweep.
func (t *tx) mergeDeleted(percent int) {
	t.run(`INSERT INTO words (words, rank) VALUES ('deletemerge', ?)`, percent)
}

func (t *tx) sweepMessages(id int64, _ string) (n int) {
	var last int64
	t.scan([]any{&n, &last}, `SELECT count(*), coalesce(max(id), 0) FROM (SELECT id FROM messages WHERE id BETWEEN ? AND ? ORDER BY id LIMIT +?)`,
		rowID(id, 0), rowID(id, maxSeq), rules.PartMessages)
	if n == 0 {
		return 0
	}
	t.mergeDeleted(0)
	t.unindexed = append(t.unindexed, [2]int64{rowID(id, 0), last})
	t.run(`DELETE FROM messages WHERE id BETWEEN ? AND ?`, rowID(id, 0), last)
	return n
}

// sweepInbox leaves the hashes that a deletion leaves.
func (t *tx) sweepInbox(id int64, name string) int {
	if name == "" {
		return 0 // an import that came to nothing
	}
	r := &keyRow{id: id}
	t.fail(parseKey(&r.key, name))
	from, to := span(id)
	list, err := collect(t.reader().hidden(context.Background(), r.key, from, to, rules.PartMessages))
	t.fail(err)
	for _, row := range list {
		t.forgetIn(r, &row)
	}
	return len(list)
}

func (t *tx) sweepOthers(id int64, _ string) int {
	from, to := rowID(id, 0), rowID(id, maxSeq)
	for _, query := range []string{
		`DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE id BETWEEN ? AND ? ORDER BY id LIMIT +?)`,
		`DELETE FROM summaries WHERE id IN (SELECT id FROM summaries WHERE id BETWEEN ? AND ? ORDER BY id LIMIT +?)`,
	} {
		if n := t.run(query, from, to, rules.PartMessages); n > 0 {
			return int(n)
		}
	}
	return 0
}

// errBulky: a step adds so much that it is to be stored ahead, in parts.
var errBulky = errors.New("large changes are stored in parts")

// bulky are the messages of changes that are too many for one commit, of keys
// that begin with them, as an import does.
func (t *tx) bulky(changes rows.Changes) (map[channels.Key]iter.Seq2[[]sessions.Message, error], error) {
	var large map[channels.Key]iter.Seq2[[]sessions.Message, error]
	for _, ch := range changes.Chats {
		if ch.Large == nil {
			continue
		}
		fresh, err := t.fresh(ch.Key)
		if err != nil {
			return nil, err
		}
		if fresh && large == nil {
			large = map[channels.Key]iter.Seq2[[]sessions.Message, error]{}
		}
		if fresh {
			large[ch.Key] = ch.Large
		}
	}
	return large, nil
}

// stage stores messages ahead, hidden and in parts, and returns the ids under
// which they are.
func (s *backend) stage(ctx context.Context, large map[channels.Key]iter.Seq2[[]sessions.Message, error]) (ahead map[channels.Key]int64, err error) {
	ahead = map[channels.Key]int64{}
	for k, said := range large {
		var id int64
		err := s.do(ctx, op{run: func(t *tx) error {
			id = t.freshID()
			t.run(`INSERT INTO sweeps (key_id) VALUES (?)`, id)
			return nil
		}})
		if err != nil {
			return ahead, err
		}
		ahead[k] = id
		if err := s.stageAll(ctx, id, said); err != nil {
			return ahead, err
		}
	}
	return ahead, nil
}

// stageAll stores what said hands out, in parts.
func (s *backend) stageAll(ctx context.Context, id int64, said iter.Seq2[[]sessions.Message, error]) error {
	var part []sessions.Message
	for stretch, err := range said {
		if err != nil {
			return err
		}
		for part = append(part, stretch...); ; {
			n := partOf(part)
			if n == len(part) {
				break // more may fit
			}
			if err := s.stagePart(ctx, id, part[:n]); err != nil {
				return err
			}
			part = part[n:]
		}
	}
	return s.stagePart(ctx, id, part)
}

// partOf is how many of messages are one part, at least one.
func partOf(messages []sessions.Message) (n int) {
	for size := 0; n < min(rules.PartMessages, len(messages)); n++ {
		if size += rules.Bytes(messages[n]); size > rules.PartBytes {
			return max(n, 1)
		}
	}
	return n
}

func (s *backend) stagePart(ctx context.Context, id int64, part []sessions.Message) error {
	return s.do(ctx, op{run: func(t *tx) error {
		kept, err := t.reader().yes(ctx, `SELECT 1 FROM sweeps WHERE key_id = ?`, id)
		if err == nil && !kept {
			err = errSwept
		}
		if err == nil {
			t.addMessages(&keyRow{id: id}, part)
		}
		return err
	}})
}

var errSwept = fmt.Errorf("%w: something changed meanwhile; try again", sessions.ErrConflict)

// unstage gives the messages that are hidden under an id to r, which has none.
func (t *tx) unstage(r *keyRow, id int64) {
	if t.run(`DELETE FROM sweeps WHERE key_id = ?`, id) == 0 {
		t.fail(errSwept)
	}
	t.run(`UPDATE keys SET id = ? WHERE id = ?`, id, r.id)
	r.id, t.rewrote = id, true
}

// hiddenMarks are those that the rows will leave which are hidden and not swept
// yet: they are gone for everybody.
func (r reader) hiddenMarks(ctx context.Context) (marks []string, err error) {
	type hidden struct {
		id  int64
		key channels.Key
	}
	list, err := all(ctx, r.src, func(row scanner) (h hidden, err error) {
		var name string
		if err = row.Scan(&h.id, &name); err == nil {
			err = parseKey(&h.key, name)
		}
		return h, err
	}, `SELECT key_id, key FROM sweeps WHERE key <> ''`)
	for _, h := range list {
		from, to := span(h.id)
		for row, e := range r.hidden(ctx, h.key, from, to, -1) {
			if err == nil {
				err = e
			}
			marks = append(marks, rules.Marks(row.Inbound)...)
		}
	}
	return marks, err
}

// hidden reads inbox rows that belonged to k, at most so many.
func (r reader) hidden(ctx context.Context, k channels.Key, from, to int64, most int) iter.Seq2[rows.In, error] {
	return r.inbox(ctx, k, false, `''`, ` WHERE r.id BETWEEN ? AND ? ORDER BY r.id LIMIT +?`, from, to, most)
}
