package sqlite

import (
	"cmp"
	"context"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

var (
	insertIn  = upsert("inbox", inLight+", "+inMessage, "id", "rev, state, turn, attempts, due, why, rest, text")
	insertOut = insert("outbox", outState+", "+outRest)

	insertMessage = insert("messages", "id, role, bytes, rest, content")
	insertSummary = insert("summaries", "id, generation, model, at, text, fields, origins")
)

func (t *tx) putQueues(r *keyRow, ch *rows.Chat) {
	for _, p := range ch.In {
		t.putIn(r, p)
	}
	for _, o := range ch.Out {
		t.putOut(r, o)
	}
	for _, st := range ch.Steps {
		t.run(`INSERT INTO steps (key_id, turn, data) VALUES (?, ?, ?)`, r.id, st.Turn, encode(st.Step))
	}
}

func (t *tx) putIn(r *keyRow, p *rows.InPut) {
	p.Inbound.Key = r.Key
	item := dispatch.In(&p.In)
	defer func() { t.items = append(t.items, item) }()
	if !p.Fresh {
		t.run(`UPDATE inbox SET state = ?, rev = ?, attempts = ?, due = ?, turn = ?, why = ? WHERE id = ?`,
			p.State, p.Rev, p.Attempts, nanos(p.Due), p.Turn, p.Why, rowID(r.id, p.Seq))
		return
	}
	m := p.Inbound
	rest := encode(inboundRest{Inbound: &m})
	if p.Job != "" {
		t.run(`UPDATE occurrences SET inbox_id = ? WHERE job = ? AND due = ?`, rowID(r.id, p.Seq), p.Job, nanos(p.JobDue))
	} else {
		body := p.In
		body.Inbound.Reaction = "" // as the row has it
		setBody(&item, &body, len(m.Text)+len(rest))
	}
	t.run(insertIn, append(inLightFields(&r.id, &p.In), inMessageFields(&m, &rest)...)...)
}

// setBody gives a row to the dispatcher, for the reader that needs it next. A long row is
// read again instead: every key may have one.
func setBody(item *dispatch.Item, row any, size int) {
	if size <= 4<<10 {
		item.Body = row
	}
}

func (t *tx) putOut(r *keyRow, o *rows.Out) {
	id, did := rowID(r.id, o.Seq), o.ID
	made := t.b.deliveryID(id)
	if did == made {
		did = ""
	}
	o.Key, o.ID = r.Key, cmp.Or(o.ID, made)
	item, body := dispatch.Out(&o.OutboxRecord), *o
	body.Fresh = false
	setBody(&item, &body, len(o.Text)+len(o.ReplyTo)+len(o.Edit))
	t.items = append(t.items, item)
	if o.Fresh {
		t.run(insertOut, outFields(&r.id, o, &did)...)
		return
	}
	t.run(`UPDATE outbox SET state = ?, uncertain = ?, attempts = ?, due = ?, message_id = ?, why = ? WHERE id = ?`,
		string(o.State), o.Uncertain, o.Attempts, nanos(o.NotBefore), o.MessageID, o.Error, id)
}

func (t *tx) putTranscript(r *keyRow, ch *rows.Chat) {
	for list, err := range ch.Added() {
		t.fail(err)
		if t.err != nil {
			break
		}
		t.addMessages(r, list)
		if ch.Large != nil { // too many for memory
			t.added = nil
			t.index()
		}
	}
	for _, m := range ch.Rewritten {
		id := rowID(r.id, m.Seq)
		t.run(`UPDATE messages SET role = ?, bytes = ?, rest = ?, content = ? WHERE id = ?`, string(m.Role), rules.Bytes(m), encode(messageRest{Message: &m}), m.Content, id)
		t.unindex(id, id)
		t.indexLater(id, m)
	}
	for _, g := range ch.Begun {
		day, n, err := rules.ParseGeneration(g.ID)
		if err != nil {
			t.fail(damaged("a generation is called %q", g.ID))
		}
		t.run(`INSERT INTO generations (key_id, day, number, from_seq, began) VALUES (?, ?, ?, ?, ?)`, r.id, day, n, g.FirstSeq-1, nanos(g.Began))
	}
	for _, s := range ch.Summaries {
		t.run(insertSummary, summaryFields(&r.id, &s)...)
	}
}

func (t *tx) addMessages(r *keyRow, list []sessions.Message) {
	for _, m := range list {
		id := rowID(r.id, m.Seq)
		t.run(insertMessage, id, string(m.Role), rules.Bytes(m), encode(messageRest{Message: &m}), m.Content)
		t.indexLater(id, m)
		t.added = append(t.added, addedMessage{r.id, m})
	}
}

// tellOpen has the dispatcher add the open rows of r, or forget them.
func (t *tx) tellOpen(r *keyRow, gone bool) {
	items, err := t.reads.open(r.Key)
	t.fail(err)
	for _, it := range items {
		it.Gone = gone
		t.items = append(t.items, it)
	}
}

// open reads the open rows of k, or of all keys if k is zero.
func (r reader) open(k channels.Key) (items []dispatch.Item, err error) {
	for row, err := range r.Inbox(context.Background(), k, rows.QueueFilter{Open: true, Light: true}) {
		if err != nil {
			return nil, err
		}
		items = append(items, dispatch.In(&row))
	}
	for o, err := range r.Outbox(context.Background(), k, rows.QueueFilter{Unsent: true}) {
		if err != nil {
			return nil, err
		}
		items = append(items, dispatch.Out(&o.OutboxRecord))
	}
	return items, nil
}
