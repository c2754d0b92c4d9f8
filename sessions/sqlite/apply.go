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
	t.fenced = append(t.fenced, changes.Fenced...)
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
	if large(r, ch) {
		return t.hide(r)
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
		ch.Messages = nil
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
	if err := t.unsay(r); err != nil {
		return err
	}
	from, to := span(r.id)
	if err := t.exec(`DELETE FROM outbox WHERE id BETWEEN ? AND ?`, from, to); err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM steps WHERE key_id = ?`, r.id); err != nil {
		return err
	}
	delete(t.keys, r.key)
	if err := t.exec(`UPDATE meta SET last_key = max(last_key, ?)`, r.id); err != nil {
		return err
	}
	return t.exec(`DELETE FROM keys WHERE id = ?`, r.id)
}

// dropIn deletes inbox rows of r for which a condition holds. That they were
// there stays known.
func (t *tx) dropIn(r *keyRow, condition string, args ...any) error {
	from, to := span(r.id)
	list, err := all(context.Background(), t, of(r.key, reader{}.scanIn), `SELECT `+inColumns+inFrom+` WHERE r.id BETWEEN ? AND ?`+condition, append([]any{from, to}, args...)...)
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
		t.inItem(&gone)
	}
	if err := t.exec(`DELETE FROM inbox WHERE id = ?`, id); err != nil {
		return err
	}
	if err := t.mark(rules.Marks(row.Inbound)...); err != nil {
		return err
	}
	return t.exec(`UPDATE occurrences SET inbox_id = 0 WHERE inbox_id = ? AND inbox_id <> 0`, id)
}

// unsay deletes the transcript of r. The seqs and the count of the day's
// generations go on.
func (t *tx) unsay(r *keyRow) error {
	from, to := span(r.id)
	t.unsaid = append(t.unsaid, [2]int64{from, to})
	if err := t.exec(`DELETE FROM messages WHERE id BETWEEN ? AND ?`, from, to); err != nil {
		return err
	}
	if err := t.anew(r); err != nil {
		return err
	}
	return t.exec(`DELETE FROM conversations WHERE key_id = ?`, r.id)
}

// anew deletes the generations and summaries of r.
func (t *tx) anew(r *keyRow) error {
	from, to := span(r.id)
	if err := t.exec(`DELETE FROM summaries WHERE id BETWEEN ? AND ?`, from, to); err != nil {
		return err
	}
	return t.exec(`DELETE FROM generations WHERE key_id = ?`, r.id)
}

// prune deletes what ch deletes of r.
func (t *tx) prune(r *keyRow, ch *rows.Chat) error {
	from, to := span(r.id)
	if ch.Cleared {
		if err := t.unsay(r); err != nil {
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

// putQueues puts rows and journals.
func (t *tx) putQueues(r *keyRow, ch *rows.Chat) error {
	for _, p := range ch.In {
		if err := t.putIn(r, p); err != nil {
			return err
		}
	}
	for _, o := range ch.Out {
		if err := t.putOut(r, o); err != nil {
			return err
		}
	}
	for _, st := range ch.Steps {
		if err := t.exec(`INSERT INTO steps (key_id, turn, data) VALUES (?, ?, ?)`, r.id, st.Turn, encode(st.Step)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) putIn(r *keyRow, p *rows.InPut) error {
	id, m := rowID(r.id, p.Seq), p.Inbound
	p.Inbound.Key = r.key
	t.inItem(&p.In)
	if !p.Fresh {
		return t.exec(`UPDATE inbox SET rev = ?, state = ?, turn = ?, attempts = ?, due = ?, why = ? WHERE id = ?`,
			p.Rev, p.State, p.Turn, p.Attempts, nanos(p.Due), p.Why, id)
	}
	rest := restOf(m)
	err := t.exec(`INSERT INTO inbox (id, dedupe, message_id, origin, state, rev, attempts, due, accepted, turn, why, rest, text)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, state = excluded.state, turn = excluded.turn, attempts = excluded.attempts,
		due = excluded.due, why = excluded.why, rest = excluded.rest, text = excluded.text`,
		id, rules.Dedupe(m), m.MessageID, string(p.Origin), p.State, p.Rev, p.Attempts, nanos(p.Due), nanos(p.Accepted), p.Turn, p.Why, rest, m.Text)
	if p.Job == "" {
		own := p.In
		own.ID, own.Inbound.Reaction, own.Inbound.Album = queueID("in", id), "", "" // as it will be read
		t.remember(&own, len(m.Text)+len(rest))
	}
	if err == nil && p.Job != "" {
		t.links = append(t.links, link{id, p.Job, nanos(p.JobDue)})
	}
	return err
}

// link is an inbox row and the occurrence that fired it.
type link struct {
	inbox int64
	job   string
	due   int64
}

// inItem tells the dispatcher what became of an inbox row.
func (t *tx) inItem(p *rows.In) {
	lane := dispatch.Chat
	if p.Origin == sessions.OriginHeartbeat {
		lane = dispatch.Heartbeat
	}
	t.items = append(t.items, dispatch.Item{
		Key: p.Inbound.Key, Seq: p.Seq, Lane: lane, Due: p.Due, Turn: p.Turn, Since: p.Accepted, Gone: p.State != rules.InWaiting,
	})
}

// remember hands the row that was put last to who asks for it next, unless it is
// long: with a full queue there is one for each key.
func (t *tx) remember(body any, size int) {
	if size <= rememberMost {
		t.items[len(t.items)-1].Body = body
	}
}

// rememberMost is how many bytes a row has at most that is remembered.
const rememberMost = 4 << 10

func (t *tx) outItem(o *rows.Out) {
	t.items = append(t.items, dispatch.Item{
		Key: o.Key, Seq: o.Seq, Lane: dispatch.Delivery, Due: o.NotBefore, Since: o.Created, Uncertain: o.Uncertain, Gone: !rules.Unsent(o.State),
	})
	own := *o
	own.Fresh = false
	t.remember(&own, len(o.Text)+len(o.ReplyTo)+len(o.Edit))
}

func (t *tx) putOut(r *keyRow, o *rows.Out) error {
	id, did := rowID(r.id, o.Seq), o.ID
	if did == t.store.deliveryID(id) {
		did = ""
	}
	o.Key, o.QueueID = r.key, queueID("out", id)
	if o.ID == "" {
		o.ID = t.store.deliveryID(id)
	}
	t.outItem(o)
	if !o.Fresh {
		return t.exec(`UPDATE outbox SET state = ?, uncertain = ?, attempts = ?, due = ?, message_id = ?, why = ? WHERE id = ?`,
			string(o.State), o.Uncertain, o.Attempts, nanos(o.NotBefore), o.MessageID, o.Error, id)
	}
	return t.exec(`INSERT INTO outbox (id, state, uncertain, attempts, due, created, reply_to, edit, message_id, why, text, did)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, string(o.State), o.Uncertain, o.Attempts, nanos(o.NotBefore), nanos(o.Created), o.ReplyTo, o.Edit, o.MessageID, o.Error, o.Text, did)
}

// putTranscript adds to the transcript of r, or rewrites messages of it.
func (t *tx) putTranscript(r *keyRow, ch *rows.Chat) error {
	for _, m := range ch.Messages {
		if err := t.say(r, m); err != nil {
			return err
		}
	}
	for _, m := range ch.Rewritten {
		id, row := rowID(r.id, m.Seq), rowOf(m)
		if err := t.exec(`UPDATE messages SET bytes = ?, rest = ?, content = ? WHERE id = ?`, row.bytes, row.rest, row.content, id); err != nil {
			return err
		}
		if err := t.exec(`DELETE FROM words WHERE rowid = ?`, id); err != nil {
			return err
		}
		if row.words != "" {
			t.words = append(t.words, wordsRow{id, row.words})
		}
	}
	for _, g := range ch.Begun {
		day, n, err := rules.ParseGeneration(g.ID)
		if err != nil {
			return damaged("a generation is called %q", g.ID)
		}
		err = t.exec(`INSERT INTO generations (key_id, day, number, from_seq, began) VALUES (?, ?, ?, ?, ?)`, r.id, day, n, g.FirstSeq-1, nanos(g.Began))
		if err != nil {
			return err
		}
	}
	for _, s := range ch.Summaries {
		err := t.exec(`INSERT INTO summaries (id, generation, model, at, text, fields) VALUES (?, ?, ?, ?, ?, ?)`,
			rowID(r.id, s.CoversSeq), s.Generation, s.Model, nanos(s.At), s.Text, string(s.Fields))
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) say(r *keyRow, m sessions.Message) error {
	id, row := rowID(r.id, m.Seq), rowOf(m)
	err := t.exec(`INSERT INTO messages (id, role, bytes, rest, content) VALUES (?, ?, ?, ?, ?)`, id, string(row.role), row.bytes, row.rest, row.content)
	if err == nil && row.words != "" {
		t.words = append(t.words, wordsRow{id, row.words})
	}
	return err
}

// openItems tells the dispatcher what r has to do, or that it is gone.
func (t *tx) openItems(r *keyRow, gone bool) error {
	read := reader{t, t.store, t}
	for row, err := range read.Inbox(context.Background(), r.key, rows.Queued{Open: true, Light: true}) {
		if err != nil {
			return err
		}
		t.inItem(&row)
		t.items[len(t.items)-1].Gone = gone
	}
	for o, err := range read.Outbox(context.Background(), r.key, rows.Queued{Unsent: true}) {
		if err != nil {
			return err
		}
		t.outItem(&o)
		t.items[len(t.items)-1].Gone = gone
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
		for _, query := range []string{
			`DELETE FROM steps WHERE key_id = ?2 AND turn IN (SELECT turn FROM steps WHERE key_id = ?1)`,
			`UPDATE steps SET key_id = ?2 WHERE key_id = ?1`,
		} {
			if err := t.exec(query, f.id, r.id); err != nil {
				return err
			}
		}
	}
	for _, query := range []string{
		`UPDATE inbox SET id = id + ? WHERE id BETWEEN ? AND ?`,
		`UPDATE outbox SET id = id + ? WHERE id BETWEEN ? AND ?`,
		`UPDATE occurrences SET inbox_id = inbox_id + ? WHERE inbox_id <> 0 AND inbox_id BETWEEN ? AND ?`,
	} {
		if err := t.exec(query, (r.id-f.id)<<32+m.Queues, rowID(f.id, 1), to); err != nil {
			return err
		}
	}
	return t.moveMessages(r, f, (r.id-f.id)<<32+m.Message)
}

// moveMessages gives the messages of f to r, and has the search index find them
// there. It reads them in pages: a message can be long.
func (t *tx) moveMessages(r, f *keyRow, by int64) error {
	from, to := span(f.id)
	if err := t.exec(`DELETE FROM words WHERE rowid BETWEEN ? AND ?`, from, to); err != nil {
		return err
	}
	var first, last int64
	if err := t.row(context.Background(), `SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM messages WHERE id BETWEEN ? AND ?`, from, to).Scan(&first, &last); err != nil {
		return err
	}
	if err := t.exec(`UPDATE messages SET id = id + ? WHERE id BETWEEN ? AND ?`, by, from, to); err != nil {
		return err
	}
	for id := first + by; id <= last+by; {
		list, err := all(context.Background(), t, func(row scanner) (w wordsRow, err error) {
			m, err := newRowScan(row).message()
			return wordsRow{rowID(r.id, m.Seq), searchable(m)}, err
		}, `SELECT `+messageColumns+` FROM messages WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 100`, id, last+by)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, w := range list {
			if w.words == "" {
				continue
			}
			if err := t.exec(`INSERT INTO words (rowid, said) VALUES (?, ?)`, w.id, w.words); err != nil {
				return err
			}
		}
		id = list[len(list)-1].id + 1
	}
	return nil
}
