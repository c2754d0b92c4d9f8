package sqlite

import (
	"context"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// apply makes changes. Messages of the keys of ahead are stored already, hidden
// under an id. It returns the ids whose rows are hidden now and have to be swept.
func (t *tx) apply(changes rows.Changes, ahead map[channels.Key]int64) (hidden []int64, err error) {
	t.wrote, t.fenced = true, append(t.fenced, changes.Fenced...)
	for _, ch := range changes.Chats {
		id, err := t.chat(ch, ahead[ch.Key])
		if err != nil {
			return nil, err
		}
		if id != 0 {
			hidden = append(hidden, id)
		}
	}
	if changes.Name != nil {
		if err := t.exec(`UPDATE meta SET name = ?`, *changes.Name); err != nil {
			return nil, err
		}
	}
	for _, r := range changes.Removed {
		if err := t.remove(r); err != nil {
			return nil, err
		}
	}
	for _, r := range changes.Records {
		if err := t.put(r); err != nil {
			return nil, err
		}
	}
	for _, l := range t.links { // now that the occurrences are there
		if err := t.exec(`UPDATE occurrences SET inbox_id = ? WHERE job = ? AND due = ?`, l.inbox, l.job, l.due); err != nil {
			return nil, err
		}
	}
	t.links = nil
	return hidden, t.mark(changes.Marks...)
}

func (t *tx) mark(marks ...string) error {
	for _, mark := range marks {
		t.hashes = true
		if err := t.exec(`INSERT INTO erased (hash) VALUES (?) ON CONFLICT DO NOTHING`, mark); err != nil {
			return err
		}
	}
	return nil
}

// deletes reports whether ch takes something away that is not to be read again
// from a freed page.
func deletes(ch *rows.Chat) bool {
	return ch.Gone || ch.Cleared || ch.Settled || len(ch.Drop)+len(ch.Forget)+len(ch.Rewritten) > 0
}

// chat makes the changes of one key.
func (t *tx) chat(ch *rows.Chat, ahead int64) (hidden int64, err error) {
	r, err := t.key(ch.Key)
	if err != nil {
		return 0, err
	}
	t.touched[ch.Key] = true
	if deletes(ch) {
		if err := t.shred(); err != nil {
			return 0, err
		}
	}
	if ch.Gone {
		return 0, t.gone(r)
	}
	if large, err := t.large(r, ch); large || err != nil {
		if err != nil {
			return 0, err
		}
		return t.detach(r)
	}
	for _, m := range ch.Moves {
		if err := t.move(r, m); err != nil {
			return 0, err
		}
	}
	if err := t.prune(r, ch); err != nil {
		return 0, err
	}
	if ahead != 0 {
		if err := t.unstage(r, ahead); err != nil {
			return 0, err
		}
		ch.Large = nil
	}
	before := *r
	if ch.Cleared {
		before.conv = nil
	}
	r.seq, r.msgSeq, r.conv, r.waiting = ch.Seq, ch.MessageSeq, ch.Conversation, int64(ch.Waiting)
	if err := t.putQueues(r, ch); err != nil {
		return 0, err
	}
	if err := t.putTranscript(r, ch); err != nil {
		return 0, err
	}
	if len(ch.Moves) > 0 {
		if err := t.openItems(r, false); err != nil {
			return 0, err
		}
	}
	return 0, t.save(&before, r)
}

// gone deletes all of r. Its id is not used again.
func (t *tx) gone(r *keyRow) error {
	if err := t.openItems(r, true); err != nil {
		return err
	}
	if err := t.dropIn(r, ``); err != nil {
		return err
	}
	if err := t.clearTranscript(r); err != nil {
		return err
	}
	delete(t.keys, r.key)
	from, to := span(r.id)
	return t.on([]any{r.id, from, to},
		`DELETE FROM outbox WHERE id BETWEEN ?2 AND ?3`,
		`DELETE FROM steps WHERE key_id = ?1`,
		`UPDATE meta SET last_key = max(last_key, ?1)`,
		`DELETE FROM keys WHERE id = ?1`)
}

// dropIn deletes inbox rows of r for which a condition holds. That they were
// there stays known.
func (t *tx) dropIn(r *keyRow, condition string, args ...any) error {
	from, to := span(r.id)
	list, err := collect(t.reader().inbox(context.Background(), r.key, false, `''`, ` WHERE r.id BETWEEN ? AND ?`+condition, append([]any{from, to}, args...)...))
	for _, row := range list {
		if err == nil {
			err = t.forgetIn(r, &row)
		}
	}
	return err
}

func (t *tx) forgetIn(r *keyRow, row *rows.In) error {
	id := rowID(r.id, row.Seq)
	if row.State == rules.InWaiting {
		gone := *row
		gone.State = rules.InDropped
		t.items = append(t.items, dispatch.In(&gone))
	}
	if err := t.exec(`DELETE FROM inbox WHERE id = ?`, id); err != nil {
		return err
	}
	if err := t.mark(rules.Marks(row.Inbound)...); err != nil {
		return err
	}
	return t.exec(`UPDATE occurrences SET inbox_id = 0 WHERE inbox_id = ? AND inbox_id <> 0`, id)
}

// clearTranscript deletes the transcript of r. The seqs and the count of the day's
// generations go on.
func (t *tx) clearTranscript(r *keyRow) error {
	from, to := span(r.id)
	t.unindexed = append(t.unindexed, [2]int64{from, to})
	if err := t.anew(r); err != nil {
		return err
	}
	return t.on([]any{r.id, from, to}, `DELETE FROM messages WHERE id BETWEEN ?2 AND ?3`, `DELETE FROM conversations WHERE key_id = ?1`)
}

// anew deletes the generations and summaries of r.
func (t *tx) anew(r *keyRow) error {
	from, to := span(r.id)
	return t.on([]any{r.id, from, to}, `DELETE FROM summaries WHERE id BETWEEN ?2 AND ?3`, `DELETE FROM generations WHERE key_id = ?1`)
}

// prune deletes what ch deletes of r.
func (t *tx) prune(r *keyRow, ch *rows.Chat) error {
	from, to := span(r.id)
	if ch.Cleared {
		if err := t.clearTranscript(r); err != nil {
			return err
		}
	} else if ch.Anew {
		if err := t.anew(r); err != nil {
			return err
		}
	}
	if ch.Settled {
		if err := t.dropIn(r, ` AND r.state <> 'waiting'`); err != nil {
			return err
		}
		if err := t.exec(`DELETE FROM outbox WHERE state IN ('sent', 'dead', 'dropped') AND id BETWEEN ? AND ?`, from, to); err != nil {
			return err
		}
	}
	for _, seq := range ch.Drop {
		if err := t.dropIn(r, ` AND r.id = ?`, rowID(r.id, seq)); err != nil {
			return err
		}
	}
	for _, covers := range ch.Forget {
		if err := t.exec(`DELETE FROM summaries WHERE id = ?`, rowID(r.id, covers)); err != nil {
			return err
		}
	}
	for _, turn := range ch.Ended {
		if err := t.exec(`DELETE FROM steps WHERE key_id = ? AND turn = ?`, r.id, turn); err != nil {
			return err
		}
	}
	return nil
}

// move takes in the rows of another key, or renumbers those of r.
func (t *tx) move(r *keyRow, m rows.Move) error {
	f, err := t.key(m.From)
	if err != nil {
		return err
	}
	t.touched[m.From] = true
	if err := t.openItems(f, true); err != nil {
		return err
	}
	from, to := span(f.id)
	// A delivery keeps its name, which was made of the row that it was.
	err = t.exec(`UPDATE outbox SET did = ? || '-' || (id >> 32) || '-' || (id & 4294967295) WHERE did = '' AND id BETWEEN ? AND ?`, t.store.prefix, from, to)
	if err != nil {
		return err
	}
	if f.id != r.id {
		if err := t.anew(f); err != nil {
			return err
		}
		err := t.on([]any{f.id, r.id},
			`DELETE FROM steps WHERE key_id = ?2 AND turn IN (SELECT turn FROM steps WHERE key_id = ?1)`,
			`UPDATE steps SET key_id = ?2 WHERE key_id = ?1`)
		if err != nil {
			return err
		}
	}
	err = t.on([]any{(r.id-f.id)<<32 + m.Queues, rowID(f.id, 1), to},
		`UPDATE inbox SET id = id + ? WHERE id BETWEEN ? AND ?`,
		`UPDATE outbox SET id = id + ? WHERE id BETWEEN ? AND ?`,
		`UPDATE occurrences SET inbox_id = inbox_id + ? WHERE inbox_id <> 0 AND inbox_id BETWEEN ? AND ?`)
	if err != nil {
		return err
	}
	return t.moveMessages(r, f, (r.id-f.id)<<32+m.Message)
}

// moveMessages gives the messages of f to r, and has the search index find them
// there.
func (t *tx) moveMessages(r, f *keyRow, by int64) error {
	from, to := span(f.id)
	if err := t.exec(`DELETE FROM words WHERE rowid BETWEEN ? AND ?`, from, to); err != nil {
		return err
	}
	var first, last int64
	if err := t.row(context.Background(), `SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM messages WHERE id BETWEEN ? AND ?`, from, to).Scan(&first, &last); err != nil {
		return err
	}
	if err := t.exec(`UPDATE messages SET id = id + ? WHERE id BETWEEN ? AND ?`, by, from, to); err != nil || last < first {
		return err
	}
	return t.reader().readMessages(context.Background(), false, r.id, seqOf(first+by), seqOf(last+by), false, func(m sessions.Message) error {
		words := searchable(m)
		if words == "" {
			return nil
		}
		return t.exec(`INSERT INTO words (rowid, said) VALUES (?, ?)`, rowID(r.id, m.Seq), words)
	})
}
