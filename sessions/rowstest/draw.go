package rowstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// What random rows are made of. Some values sort or compare in ways that a database may
// get wrong.
var (
	messageIDs = []string{"", "m1", "M1", "é"}
	turns      = []string{"", "t1", "T1", "t\x00"}
	words      = []string{"alpha", "Beta", "GAMMA", "x1", "naïve", "über", "東京都", "한국어는", "don't", "\x00", "'\"%_", "😀"}
	searched   = []string{"alpha", "beta", "gamma", "x1", "naïve", "über", "東", "京", "한국", "don", "t", "alph"}
	owners     = []string{"x", "É", "x y"}
	days       = []string{"20260501", "20260502"}
	moments    = []time.Time{
		{}, time.Unix(0, 0).UTC(), noon, noon.Add(1), noon.Add(time.Microsecond), noon.Add(time.Hour), noon.Add(-time.Hour), rules.LastMoment,
	}
)

func (d *differ) key() channels.Key {
	return channels.MustKey(pick(d.r, "x:1", "x:10", "x:B", "x:a", "x:é", "y:1"))
}

func (d *differ) time() time.Time { return pick(d.r, moments[1:]...) }

func (d *differ) text() string {
	var b strings.Builder
	for range d.r.IntN(5) {
		b.WriteString(pick(d.r, words...) + pick(d.r, " ", "\n", ", "))
	}
	return b.String()
}

// fresh is a number that was not used before.
func (d *differ) fresh() int {
	d.names++
	return d.names
}

func generation(n int) string { return fmt.Sprintf("20260501_%03d", n) }

// changes are random ones, and the keys that they are about.
func (d *differ) changes() (c rows.Changes, keys []channels.Key) {
	k, other := d.key(), d.key()
	switch ch := d.chat(k); {
	case other == k || d.r.IntN(3) > 0:
		c.Chats = []*rows.Chat{d.drawn(ch, &c)}
		keys = []channels.Key{k}
	case other.Channel() == k.Channel() && d.r.IntN(2) == 0:
		left := d.chat(other)
		d.join(ch, left)
		c.Chats = []*rows.Chat{&ch.Chat, &left.Chat}
		keys = []channels.Key{k, other}
	default:
		c.Chats = []*rows.Chat{d.drawn(ch, &c), d.drawn(d.chat(other), &c)}
		keys = []channels.Key{other, k}
	}
	if d.r.IntN(3) > 0 {
		return c, keys
	}
	for range d.r.IntN(3) {
		r := d.named()
		switch {
		case r.Note != nil:
			if r.Note.Kind != "" && r.Note.Owner != "" && r.Note.Name != "" {
				c.Removed = append(c.Removed, r)
			}
		case r.Count != nil:
			r.Count = &sessions.Count{Kind: "a", Owner: "x", Day: pick(d.r, days...)}
			c.Removed = append(c.Removed, r)
		case r.Fact != nil || r.Pairing != nil || r.Quarantined != nil:
			r.Kept = false
			c.Removed = append(c.Removed, r)
		}
	}
	for range d.r.IntN(4) {
		c.Records = append(c.Records, d.record())
	}
	for range d.r.IntN(4) {
		c.Add = append(c.Add, sessions.Count{Kind: pick(d.r, "a", "b"), Owner: pick(d.r, owners...), Day: pick(d.r, days...), N: int64(d.r.IntN(7) - 3)})
	}
	for range d.r.IntN(2) {
		c.Marks = append(c.Marks, fmt.Sprint("mark", d.fresh()))
	}
	if d.r.IntN(4) == 0 {
		c.Name = new(fmt.Sprint("name", d.fresh()))
	}
	c.Fenced = some(d.r, []channels.Key{k})
	return c, keys
}

// named is a record with a random name, or an example of records.
func (d *differ) named() rows.Record {
	first, second := pick(d.r, "a", "B", "é"), pick(d.r, "", "1", "10", "Z", "z")
	switch d.r.IntN(7) {
	case 5:
		return rows.Record{Note: &sessions.Note{Kind: pick(d.r, "", "a", "b"), Owner: pick(d.r, "", "x", "É"), Name: second, Due: some(d.r, d.time())}}
	case 6:
		return rows.Record{Count: &sessions.Count{Kind: pick(d.r, "", "a", "b"), Owner: pick(d.r, append(owners, "")...), Day: some(d.r, pick(d.r, days...))}}
	case 0:
		return rows.Record{Fact: &sessions.FactRecord{Scope: first, Fact: sessions.Fact{ID: some(d.r, int64(1+d.r.IntN(20)))}}}
	case 1:
		return rows.Record{Pairing: &sessions.Pairing{Channel: first, PersonID: second}}
	case 2:
		return rows.Record{Job: &sessions.JobRecord{Job: cmp.Or(second, first)}}
	case 3:
		return rows.Record{Occurrence: &sessions.Occurrence{Job: first}}
	}
	return rows.Record{Quarantined: &sessions.QuarantineRecord{Quarantined: sessions.Quarantined{Channel: first, ID: second}}, Kept: d.r.IntN(2) == 0}
}

// record is a random record.
func (d *differ) record() rows.Record {
	r := d.named()
	for r.Count != nil { // is only added
		r = d.named()
	}
	r.Kept = false
	switch {
	case r.Note != nil:
		n := r.Note
		n.Kind = cmp.Or(n.Kind, "a")
		n.Owner = cmp.Or(n.Owner, "x")
		n.Name = cmp.Or(n.Name, "n")
		n.Due = pick(d.r, moments...)
		n.At = d.time()
		n.Data = some(d.r, rules.JSON([]byte(`{"a":["<`+fmt.Sprint(d.fresh())+`>"]}`)))
	case r.Fact != nil:
		n := d.fresh() // an id belongs to one scope
		r.Fact.ID = int64(n)
		r.Fact.Text = d.text()
		r.Fact.At = d.time()
	case r.Pairing != nil:
		r.Pairing.PersonID = cmp.Or(r.Pairing.PersonID, "2")
		r.Pairing.Name = d.text()
		r.Pairing.Expires = d.time()
		r.Pairing.Approved = pick(d.r, moments...)
		r.Pairing.Code = some(d.r, fmt.Sprint("ab-", d.fresh())) // two people have different codes
	case r.Job != nil:
		r.Job.Due = d.time()
	case r.Occurrence != nil:
		r.Occurrence.Due = noon.Add(time.Duration(d.r.IntN(10)) * time.Hour)
		r.Occurrence.Outcome = "ran"
		r.Occurrence.Why = d.text()
		r.Occurrence.At = d.time()
		r.Occurrence.Changed = d.time()
	default:
		r.Quarantined.ID = cmp.Or(r.Quarantined.ID, "2")
		r.Quarantined.Raw = []byte{0, 255, byte(d.n)}
		r.Quarantined.Why = d.text()
		r.Quarantined.At = d.time()
		r.Quarantined.Dropped = d.r.IntN(2) == 0
	}
	if d.r.IntN(6) == 0 {
		r = rows.Record{Store: &rows.Store{Days: map[string]int64{pick(d.r, "20260501", "20260502"): int64(d.fresh())}}}
	}
	return r
}

// chat is a key as a step sees it, and its change.
type chat struct {
	rows.Chat
	in        []rows.In
	out       []rows.Out
	summaries []rows.Record
}

func (d *differ) chat(k channels.Key) *chat {
	c := &chat{Chat: rows.Chat{Head: d.headOf(k)}}
	if c.Conversation != nil {
		own := *c.Conversation
		c.Conversation = &own
	}
	c.in = list(d.T, d.ref.Inbox(d.Context(), k, rows.QueueFilter{}), func(r rows.In) rows.In { return r })
	c.out = list(d.T, d.ref.Outbox(d.Context(), k, rows.QueueFilter{}), func(o rows.Out) rows.Out { return o })
	c.summaries = list(d.T, d.ref.Records(d.Context(), rows.Record{Summary: &rows.Summary{Key: k}}), func(r rows.Record) rows.Record { return r })
	return c
}

// drawn draws the change of c.
func (d *differ) drawn(c *chat, all *rows.Changes) *rows.Chat {
	finished := func(r rows.In) bool { return r.State != rules.InWaiting }
	switch d.r.IntN(16) {
	case 0:
		return &rows.Chat{Head: rows.Head{Key: c.Key}, Gone: true}
	case 1:
		c.Cleared = true
		c.DropFinished = true
		c.Conversation = nil
		c.in = slices.DeleteFunc(c.in, finished)
		c.out = slices.DeleteFunc(c.out, func(o rows.Out) bool { return !rules.Unsent(o.State) })
	case 2:
		c.DropFinished = true
		c.in = slices.DeleteFunc(c.in, finished)
		c.out = slices.DeleteFunc(c.out, func(o rows.Out) bool { return !rules.Unsent(o.State) })
	case 3:
		c.Cleared, c.Conversation = true, nil
	case 4:
		d.reset(c)
	case 5:
		for _, r := range c.in {
			if d.r.IntN(3) == 0 {
				c.Drop = append(c.Drop, r.Seq)
			}
		}
		c.in = slices.DeleteFunc(c.in, func(r rows.In) bool { return slices.Contains(c.Drop, r.Seq) })
	case 6, 7:
		d.rewrite(c)
	case 8:
		c.Ended = []string{pick(d.r, turns...)}
	}
	d.queues(c, all)
	if d.r.IntN(2) == 0 {
		d.transcript(c)
	}
	c.Waiting = 0
	for _, r := range c.in {
		if r.State == rules.InWaiting {
			c.Waiting++
		}
	}
	return &c.Chat
}

// reset has the current generation begin anew, as the only one.
func (d *differ) reset(c *chat) {
	v := c.Conversation
	if v == nil || v.Generation == "" {
		return
	}
	c.Reset, v.Covers = true, 0
	c.Begun = []sessions.Generation{{ID: v.Generation, FirstSeq: v.From + 1, Began: d.time()}}
}

// rewrite replaces messages, and forgets summaries.
func (d *differ) rewrite(c *chat) {
	v := c.Conversation
	if v == nil {
		return
	}
	v.Erasures++
	v.Owners = append(v.Owners[:len(v.Owners):len(v.Owners)], sessions.Owner{Identities: []string{"k:7"}, From: int64(v.Erasures)})
	for m, err := range d.ref.Messages(d.Context(), c.Key, rows.MessageFilter{}) {
		must(d.T, err)
		if d.r.IntN(3) == 0 {
			c.Rewritten = append(c.Rewritten, d.message(m.Seq))
		}
	}
	v.Covers = 0
	for _, r := range c.summaries {
		if d.r.IntN(2) == 0 {
			c.Forget = append(c.Forget, r.Summary.CoversSeq)
		} else {
			v.Covers = r.Summary.CoversSeq
		}
	}
}

// join gives everything of f to c, as engine.Store.Join does.
func (d *differ) join(c, f *chat) {
	base := max(f.Seq, c.Seq)
	own, theirs := rows.Move{From: c.Key, Queues: base + f.Seq}, rows.Move{From: f.Key, Queues: base}
	if a := f.Conversation; a != nil {
		b := c.Conversation
		if b == nil {
			b = &rows.Conversation{Created: d.time(), Updated: d.time()}
		}
		base := max(f.MessageSeq, c.MessageSeq)
		theirs.Message = base - (f.MessageSeq - int64(a.Messages))
		own.Message = base + int64(a.Messages) - (c.MessageSeq - int64(b.Messages))
		b.Generation = cmp.Or(b.Generation, a.Generation)
		b.From = base
		b.Covers = 0
		b.Messages = a.Messages + b.Messages
		c.Conversation = b
		c.MessageSeq = base + int64(b.Messages)
		c.Reset = true
		if b.Generation != "" {
			c.Begun = []sessions.Generation{{ID: b.Generation, FirstSeq: base + 1, Began: d.time()}}
		}
	}
	c.Seq, c.Waiting = c.Seq+base+f.Seq, c.Waiting+f.Waiting
	c.Moves = []rows.Move{own, theirs}
	f.Conversation = nil
	f.Waiting = 0
	f.Cleared = true
}

// queues changes some rows and adds some.
func (d *differ) queues(c *chat, all *rows.Changes) {
	for i := range c.in {
		if d.r.IntN(4) > 0 {
			continue
		}
		p := &rows.InPut{In: c.in[i], Fresh: some(d.r, true)}
		p.State = d.state()
		p.Turn = pick(d.r, turns...)
		p.Why = d.text()
		p.Due = pick(d.r, moments...)
		p.Attempts++
		if p.Fresh {
			p.Rev++
			p.Inbound.Text = d.text()
			p.Inbound.Attachments = d.attachments()
			p.Inbound.At = d.time()
		} else {
			p.Inbound = pick(d.r, p.Inbound, channels.Inbound{})
		}
		c.in[i].State = p.State
		c.In = append(c.In, p)
	}
	for _, o := range c.out {
		if d.r.IntN(4) == 0 {
			o.State = d.delivery()
			o.Uncertain = d.r.IntN(2) == 0
			o.NotBefore = pick(d.r, moments...)
			o.MessageID = pick(d.r, messageIDs...)
			o.Error = d.text()
			o.Attempts++
			c.Out = append(c.Out, &o)
		}
	}
	for range d.r.IntN(3) {
		c.In = append(c.In, d.inbox(c, all))
	}
	for range d.r.IntN(3) {
		c.Seq++
		c.Out = append(c.Out, &rows.Out{Fresh: true, OutboxRecord: sessions.OutboxRecord{
			Delivery: sessions.Delivery{
				Label: d.label(), ID: some(d.r, fmt.Sprint("d-", d.fresh())), Key: c.Key, Seq: c.Seq, Text: d.text(), ReplyTo: pick(d.r, messageIDs...), Edit: pick(d.r, messageIDs...),
				State: d.delivery(), Attempts: d.r.IntN(3), NotBefore: pick(d.r, moments...), Created: d.time(), Error: d.text(),
			},
			Uncertain: d.r.IntN(2) == 0, MessageID: pick(d.r, messageIDs...),
		}})
	}
	for range d.r.IntN(3) {
		st := sessions.Step{Kind: sessions.StepNote, CallID: d.text(), MessageID: pick(d.r, messageIDs...), Within: pick(d.r, messageIDs...), Tool: d.text(), At: d.time()}
		if d.r.IntN(2) == 0 {
			m := d.message(0)
			st.Message = &m
		}
		c.Steps = append(c.Steps, rows.Step{Turn: pick(d.r, turns...), Step: st})
	}
}

func (d *differ) state() string {
	return pick(d.r, rules.InWaiting, rules.InWaiting, rules.InDone, rules.InClosed, rules.InDropped, rules.InWithdrawn, rules.InEdit)
}

func (d *differ) delivery() sessions.DeliveryState {
	return pick(d.r, sessions.DeliveryQueued, sessions.DeliverySending, sessions.DeliveryUnknown, sessions.DeliverySent, sessions.DeliveryDead, sessions.DeliveryDropped)
}

// label is that of a delivery, or of one stored before there were labels.
func (d *differ) label() sessions.Label {
	l := sessions.Label{
		Kind: channels.KindAnswer, Turn: pick(d.r, turns...), Job: d.text(), Part: 1 + d.r.IntN(2), Parts: 2, File: d.text(), Form: channels.FormNative,
		Kept: some(d.r, "x_1/a.ogg"), As: some(d.r, channels.AttachmentVoice),
	}
	return pick(d.r, l, sessions.Label{})
}

// inbox is a new inbox row, with the occurrence that it is made for, if any.
func (d *differ) inbox(c *chat, all *rows.Changes) *rows.InPut {
	c.Seq++
	p := &rows.InPut{Fresh: true, In: rows.In{
		Seq: c.Seq, Rev: d.r.IntN(3), Source: pick(d.r, sessions.SourceChat, sessions.SourceHeartbeat, sessions.SourceNotice), State: d.state(), Turn: pick(d.r, turns...),
		Attempts: d.r.IntN(3), Due: pick(d.r, moments...), Accepted: d.time(), Why: d.text(),
		Inbound: channels.Inbound{
			Key: c.Key, ID: fmt.Sprint("id", d.fresh()), Sender: channels.Person{IDs: some(d.r, []string{"7", d.text()}), Name: d.text()}, Text: d.text(), Prefix: some(d.r, d.text()),
			Private: d.r.IntN(2) == 0, Addressed: d.r.IntN(2) == 0, MessageID: pick(d.r, messageIDs...), Edits: some(d.r, "m1"), Deletes: some(d.r, channels.DeletedByAdmin),
			Reaction: some(d.r, "👍"), Quote: some(d.r, &channels.Quote{ID: "q", Name: d.text(), Text: d.text()}), Forwarded: some(d.r, &channels.Forward{Name: d.text()}),
			Attachments: d.attachments(), Album: some(d.r, "album"), At: pick(d.r, moments...),
		},
	}}
	if p.Source == sessions.SourceHeartbeat && d.r.IntN(2) == 0 {
		p.Job, p.JobDue = "job", noon.Add(time.Duration(d.fresh())*time.Minute)
		all.Records = append(all.Records, rows.Record{Occurrence: &sessions.Occurrence{Job: p.Job, Due: p.JobDue, Outcome: "fired", At: d.time()}})
	}
	c.in = append(c.in, p.In)
	return p
}

func (d *differ) attachments() []channels.Attachment {
	return some(d.r, []channels.Attachment{{Kind: "image", Name: d.text(), Type: "image/png", Bytes: int64(d.n), Ref: "ref", File: "file", Missing: d.text()}})
}

// transcript adds messages, and sometimes a generation before or a summary after them.
func (d *differ) transcript(c *chat) {
	v := c.Conversation
	if v == nil {
		v = &rows.Conversation{Created: d.time()}
		c.Conversation = v
	}
	v.Updated = d.time()
	v.Title = some(d.r, d.text())
	v.Settings = some(d.r, sessions.Settings{Model: "m", Tags: []string{"a"}})
	v.Usage = sessions.Usage{Input: d.n, Output: 2, Cached: 1, Cost: 0.1 * float64(d.r.IntN(4))}
	if v.Generation == "" || d.r.IntN(5) == 0 {
		v.Generation = generation(d.fresh())
		v.From = c.MessageSeq
		v.Covers = 0
		c.Begun = append(c.Begun, sessions.Generation{ID: v.Generation, FirstSeq: c.MessageSeq + 1, Began: d.time()})
	}
	var added []sessions.Message
	for range d.r.IntN(6) {
		c.MessageSeq++
		v.Messages++
		added = append(added, d.message(c.MessageSeq))
	}
	n := some(d.r, len(added)/2)
	c.Messages, c.Large = added[n:], large(added[:n])
	if from := max(v.From, v.Covers); c.MessageSeq > from && d.r.IntN(3) == 0 {
		v.Covers = from + 1 + d.r.Int64N(c.MessageSeq-from)
		c.Summaries = []sessions.Summary{{
			Text: d.text(), CoversSeq: v.Covers, Generation: v.Generation, Model: some(d.r, "m"), At: d.time(), Fields: some(d.r, json.RawMessage(`{"a":[1]}`)),
			Origins: some(d.r, []sessions.Origin{sessions.OriginWeb}),
		}}
	}
}

// large yields messages one by one, or is nil without any.
func large(all []sessions.Message) iter.Seq2[[]sessions.Message, error] {
	if len(all) == 0 {
		return nil
	}
	return func(yield func([]sessions.Message, error) bool) {
		for part := range slices.Chunk(all, 1) {
			if !yield(part, nil) {
				return
			}
		}
	}
}

// parts are those that large yields.
func parts(large iter.Seq2[[]sessions.Message, error]) iter.Seq[[]sessions.Message] {
	return func(yield func([]sessions.Message) bool) {
		if large != nil {
			large(func(part []sessions.Message, _ error) bool { return yield(part) })
		}
	}
}

func (d *differ) message(seq int64) sessions.Message {
	m := sessions.Message{
		Seq: seq, Role: pick(d.r, sessions.RoleUser, sessions.RoleAssistant, sessions.RoleTool), Content: d.text(), Name: pick(d.r, "", "Ann", "search_history"),
		Sender: pick(d.r, "", "7"), ToolCallID: some(d.r, "c"), At: d.time(), Turn: pick(d.r, turns...), Model: some(d.r, "m"), Synthetic: some(d.r, true), Summary: some(d.r, true),
		Failed: some(d.r, true), Replaces: some(d.r, int64(2)), Attachments: d.attachments(), Usage: some(d.r, &sessions.Usage{Input: 1, Cost: 0.3}),
		Kind:      pick(d.r, "", sessions.MessageAgain, sessions.MessageStopped),
		ForModel:  some(d.r, []sessions.Mark{{Start: 1, End: 3}}),
		Origins:   pick(d.r, nil, []sessions.Origin{sessions.OriginWeb}, []sessions.Origin{sessions.OriginHistory, sessions.OriginOthers}),
		ToolCalls: some(d.r, []sessions.ToolCall{{ID: "c", Name: "f", Arguments: d.text()}}),
		Attached:  some(d.r, &sessions.Attached{By: sessions.Provenance{API: "chat"}, Data: json.RawMessage(`{"s":1}`)}),
		Extra:     some(d.r, map[string]json.RawMessage{"mood": json.RawMessage(`"calm"`)}),
	}
	if d.r.IntN(20) == 0 {
		m.Content = strings.Repeat(m.Content+"alpha ", 1000)
	}
	return m
}
