package sqlite

import (
	"context"

	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

func (t *tx) apply(changes rows.Changes) error {
	t.wrote, t.fenced = true, append(t.fenced, changes.Fenced...)
	t.outdate(&changes)
	if changes.Name != nil {
		t.run(`UPDATE meta SET name = ?`, *changes.Name)
	}
	for _, r := range changes.Removed {
		t.remove(r)
	}
	for _, r := range changes.Records {
		t.put(r)
	}
	for _, c := range changes.Add {
		t.add(c)
	}
	for _, ch := range changes.Chats { // after the occurrences that their inbox rows are for
		t.chat(ch)
	}
	t.mark(changes.Marks...)
	return t.err
}

func (t *tx) mark(marks ...string) {
	for _, mark := range marks {
		t.marks = true
		t.run(`INSERT INTO erased (hash) VALUES (?) ON CONFLICT DO NOTHING`, mark)
	}
}

// chat applies the change of one key.
func (t *tx) chat(ch *rows.Chat) {
	r := t.key(ch.Key)
	if ch.Gone {
		t.deleteKey(r)
		return
	}
	for _, m := range ch.Moves {
		t.move(r, m)
	}
	t.prune(r, ch)
	before := *r
	if ch.Cleared {
		before.Conversation = nil
	}
	r.Head = ch.Head
	t.putQueues(r, ch)
	t.putTranscript(r, ch)
	if len(ch.Moves) > 0 {
		t.tellOpen(r, false)
	}
	t.save(&before, r)
}

// deleteKey deletes everything of r. Its id is not used again.
func (t *tx) deleteKey(r *keyRow) {
	t.tellOpen(r, true)
	t.deleteInbox(r, ``)
	t.deleteTranscript(r)
	delete(t.keys, r.Key)
	from, to := span(r.id)
	t.runAll([]any{r.id, from, to},
		`DELETE FROM outbox WHERE id BETWEEN ?2 AND ?3`,
		`DELETE FROM steps WHERE key_id = ?1`,
		`UPDATE meta SET last_key = max(last_key, ?1)`,
		`DELETE FROM keys WHERE id = ?1`)
}

// deleteInbox deletes the inbox rows of r that a condition holds for, and marks their
// messages as accepted before.
func (t *tx) deleteInbox(r *keyRow, condition string, args ...any) {
	from, to := span(r.id)
	list, err := collect(t.reads.inbox(context.Background(), r.Key, false, `''`, ` WHERE r.id BETWEEN ? AND ?`+condition, append([]any{from, to}, args...)...))
	t.fail(err)
	for _, row := range list {
		id := rowID(r.id, row.Seq)
		if row.State == rules.InWaiting {
			row.State = rules.InDropped
			t.items = append(t.items, dispatch.In(&row))
		}
		t.run(`DELETE FROM inbox WHERE id = ?`, id)
		t.mark(rules.Marks(row.Inbound)...)
		t.run(`UPDATE occurrences SET inbox_id = 0 WHERE inbox_id = ? AND inbox_id <> 0`, id)
	}
}

// deleteTranscript deletes the transcript of r. The seqs and the day's count of
// generations go on.
func (t *tx) deleteTranscript(r *keyRow) {
	from, to := span(r.id)
	t.unindex(from, to)
	t.deleteGenerations(r)
	t.runAll([]any{r.id, from, to}, `DELETE FROM messages WHERE id BETWEEN ?2 AND ?3`, `DELETE FROM conversations WHERE key_id = ?1`)
}

// deleteGenerations deletes the generations and summaries of r.
func (t *tx) deleteGenerations(r *keyRow) {
	from, to := span(r.id)
	t.runAll([]any{r.id, from, to}, `DELETE FROM summaries WHERE id BETWEEN ?2 AND ?3`, `DELETE FROM generations WHERE key_id = ?1`)
}

// prune deletes what ch deletes of r.
func (t *tx) prune(r *keyRow, ch *rows.Chat) {
	from, to := span(r.id)
	if ch.Cleared {
		t.deleteTranscript(r)
	} else if ch.Reset {
		t.deleteGenerations(r)
	}
	if ch.DropFinished {
		t.deleteInbox(r, ` AND r.state <> 'waiting'`)
		t.run(`DELETE FROM outbox WHERE state IN ('sent', 'dead', 'dropped') AND id BETWEEN ? AND ?`, from, to)
	}
	for _, seq := range ch.Drop {
		t.deleteInbox(r, ` AND r.id = ?`, rowID(r.id, seq))
	}
	for _, covers := range ch.Forget {
		t.run(`DELETE FROM summaries WHERE id = ?`, rowID(r.id, covers))
	}
	for _, turn := range ch.Ended {
		t.run(`DELETE FROM steps WHERE key_id = ? AND turn = ?`, r.id, turn)
	}
}

// move gives the rows of another key to r, or renumbers those of r.
func (t *tx) move(r *keyRow, m rows.Move) {
	f := t.key(m.From)
	t.tellOpen(f, true)
	from, to := span(f.id)
	// A delivery keeps its id, which was made of its former row.
	t.run(`UPDATE outbox SET did = ? || '-' || (id >> 32) || '-' || (id & 4294967295) WHERE did = '' AND id BETWEEN ? AND ?`, t.b.prefix, from, to)
	if f.id != r.id {
		t.deleteGenerations(f)
		t.runAll([]any{f.id, r.id},
			`DELETE FROM steps WHERE key_id = ?2 AND turn IN (SELECT turn FROM steps WHERE key_id = ?1)`,
			`UPDATE steps SET key_id = ?2 WHERE key_id = ?1`)
	}
	t.runAll([]any{(r.id-f.id)<<32 + m.Queues, rowID(f.id, 1), to},
		`UPDATE inbox SET id = id + ? WHERE id BETWEEN ? AND ?`,
		`UPDATE outbox SET id = id + ? WHERE id BETWEEN ? AND ?`,
		`UPDATE occurrences SET inbox_id = inbox_id + ? WHERE inbox_id <> 0 AND inbox_id BETWEEN ? AND ?`)
	t.moveMessages(r, f, (r.id-f.id)<<32+m.Message)
}

// moveMessages adds a number to the ids of f's messages, which become r's, and indexes
// them again.
func (t *tx) moveMessages(r, f *keyRow, by int64) {
	from, to := span(f.id)
	t.unindex(from, to)
	var first, last int64
	t.scan([]any{&first, &last}, `SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM messages WHERE id BETWEEN ? AND ?`, from, to)
	t.run(`UPDATE messages SET id = id + ? WHERE id BETWEEN ? AND ?`, by, from, to)
	if t.err != nil || last < first {
		return
	}
	for m, err := range t.reads.transcript(context.Background(), first+by, last+by, rows.MessageFilter{}) {
		t.fail(err)
		if t.err != nil {
			return
		}
		if words := searchable(m); words != "" {
			t.run(`INSERT INTO words (rowid, said) VALUES (?, ?)`, rowID(r.id, m.Seq), words)
		}
	}
}
