package sqlite

import (
	"context"

	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

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
	rest := encode(inboundRest{Inbound: &m})
	err := t.exec(`INSERT INTO inbox (id, dedupe, message_id, origin, state, rev, attempts, due, accepted, turn, why, rest, text)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, state = excluded.state, turn = excluded.turn, attempts = excluded.attempts,
		due = excluded.due, why = excluded.why, rest = excluded.rest, text = excluded.text`,
		id, rules.Dedupe(m), m.MessageID, string(p.Origin), p.State, p.Rev, p.Attempts, nanos(p.Due), nanos(p.Accepted), p.Turn, p.Why, rest, m.Text)
	if p.Job == "" {
		own := p.In
		own.Inbound.Reaction = "" // as it will be read
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

func (t *tx) outItem(o *rows.Out) {
	t.items = append(t.items, dispatch.Item{
		Key: o.Key, Seq: o.Seq, Lane: dispatch.Delivery, Due: o.NotBefore, Since: o.Created, Uncertain: o.Uncertain, Gone: !rules.Unsent(o.State),
	})
	own := *o
	own.Fresh = false
	t.remember(&own, len(o.Text)+len(o.ReplyTo)+len(o.Edit))
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

func (t *tx) putOut(r *keyRow, o *rows.Out) error {
	id, did := rowID(r.id, o.Seq), o.ID
	if did == t.store.deliveryID(id) {
		did = ""
	}
	o.Key = r.key
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
	for list, err := range ch.Added() {
		for _, m := range list {
			if err == nil {
				err = t.addMessage(r, m)
			}
		}
		if err != nil {
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

func (t *tx) addMessage(r *keyRow, m sessions.Message) error {
	id, row := rowID(r.id, m.Seq), rowOf(m)
	err := t.exec(`INSERT INTO messages (id, role, bytes, rest, content) VALUES (?, ?, ?, ?, ?)`, id, string(row.role), row.bytes, row.rest, row.content)
	if err == nil && row.words != "" {
		t.words = append(t.words, wordsRow{id, row.words})
	}
	t.said = append(t.said, saidRow{r.id, m})
	return err
}

// openItems tells the dispatcher what r has to do, or that it is gone.
func (t *tx) openItems(r *keyRow, gone bool) error {
	read := t.reader()
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
