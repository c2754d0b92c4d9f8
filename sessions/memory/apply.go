package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// applied is what came of changes: for the dispatcher, and for the disk.
type applied struct {
	items  []dispatch.Item
	fenced []channels.Key
	Change
}

// rewrites reports whether ch changes more than it adds: then all of the key has
// to be here, and is written anew.
func rewrites(ch *rows.Chat) bool {
	return ch.Gone || ch.Anew || ch.Cleared || ch.Settled || len(ch.Moves)+len(ch.Drop)+len(ch.Forget)+len(ch.Rewritten) > 0
}

// apply makes changes to the state. With an error nothing was changed.
func (b *backend) apply(changes rows.Changes) (done applied, err error) {
	for _, ch := range changes.Chats {
		if err := b.bring(ch); err != nil {
			return done, err
		}
	}
	done.fenced = changes.Fenced
	for _, ch := range changes.Chats {
		done.Chats = append(done.Chats, b.applyChat(ch, &done))
	}
	for i, ch := range changes.Chats { // one may have taken in what another had
		if c := b.chats[ch.Key]; c != nil && rewrites(ch) && !ch.Gone {
			done.items = append(done.items, c.openItems(false)...)
			done.Chats[i] = c.anew(ch.Cleared && ch.Settled)
		}
	}
	b.applyRecords(changes, &done.Common)
	if changes.Name != nil {
		b.restored = *changes.Name
	}
	b.mark(&done, changes.Marks...)
	done.Common.Name, done.Common.Prefix = b.restored, b.prefix
	done.Common.LastIn, done.Common.LastOut, done.Common.LastFact, done.Common.Updates = b.lastIn, b.lastOut, b.lastFact, b.updates
	return done, nil
}

// bring makes sure that what ch changes is here.
func (b *backend) bring(ch *rows.Chat) error {
	keys := []channels.Key{ch.Key}
	for _, m := range ch.Moves {
		keys = append(keys, m.From)
	}
	for _, k := range keys {
		c, err := b.chat(k)
		if err == nil && rewrites(ch) {
			err = b.fill(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *backend) applyChat(ch *rows.Chat, done *applied) ChatChange {
	c := b.chats[ch.Key]
	c.touched++
	if rewrites(ch) {
		done.items = append(done.items, c.openItems(true)...)
		for _, m := range ch.Moves {
			if m.From != ch.Key {
				done.items = append(done.items, b.chats[m.From].openItems(true)...)
			}
		}
	}
	if ch.Gone {
		b.remove(c, done)
		return ChatChange{Head: Head{Key: c.key}, Gone: true}
	}
	for _, m := range ch.Moves {
		b.move(b.chats[m.From], c, m)
	}
	if ch.Cleared || ch.Settled || len(ch.Drop) > 0 {
		b.prune(c, ch, done)
	}
	x := ChatChange{Ended: ch.Ended}
	for _, turn := range ch.Ended {
		delete(c.steps, turn)
	}
	c.seq, c.msgSeq = ch.Seq, ch.MessageSeq
	b.putRows(c, ch, &x, done)
	b.putTranscript(c, ch, &x)
	for _, st := range ch.Steps {
		c.steps[st.Turn] = append(c.steps[st.Turn], st.Step)
		x.Steps = append(x.Steps, TurnStep{st.Turn, st.Step})
	}
	if c.conv != nil {
		b.ranked.put(c)
	} else {
		b.ranked.drop(c)
	}
	x.Head = c.head()
	return x
}

// remove forgets c.
func (b *backend) remove(c *chat, done *applied) {
	for _, r := range c.in {
		b.forget(r, done)
	}
	b.forgetGenerations(c)
	b.ranked.drop(c)
	delete(b.chats, c.key)
}

// forget forgets an inbox row except that it was there.
func (b *backend) forget(r *inRow, done *applied) {
	b.seen.Drop(Seen(r.Inbound))
	b.mark(done, rules.Marks(r.Inbound)...)
}

func (b *backend) mark(done *applied, marks ...string) {
	for _, mark := range marks {
		if !b.erased[mark] {
			b.erased[mark] = true
			done.Common.Erased = append(done.Common.Erased, mark)
		}
	}
}

func (b *backend) forgetGenerations(c *chat) {
	if c.conv == nil {
		return
	}
	for _, g := range c.conv.generations {
		if b.begins[g.ID]--; b.begins[g.ID] <= 0 {
			delete(b.begins, g.ID)
		}
	}
}

// prune deletes rows of c.
func (b *backend) prune(c *chat, ch *rows.Chat, done *applied) {
	drop := map[int64]bool{}
	for _, seq := range ch.Drop {
		drop[seq] = true
	}
	c.in = slices.DeleteFunc(slices.Clone(c.in), func(r *inRow) bool {
		gone := drop[r.Seq] || ch.Settled && !r.open()
		if gone {
			b.forget(r, done)
		}
		return gone
	})
	if ch.Settled {
		c.out = slices.DeleteFunc(slices.Clone(c.out), func(o *rows.Out) bool { return !rules.Unsent(o.State) })
	}
	if ch.Cleared {
		b.forgetGenerations(c)
		c.conv = nil
	}
}

// move takes in the rows of f, or renumbers those of c.
func (b *backend) move(f, c *chat, m rows.Move) {
	in, out := f.in, f.out
	for _, r := range in {
		r.Seq += m.Queues
		r.Inbound.Key = c.key
		b.seen.Put(Seen(r.Inbound), int32(r.Seq))
	}
	for _, o := range out {
		o.Seq += m.Queues
		o.Key = c.key
	}
	var said []sessions.Message
	if f.conv != nil {
		said = slices.Clone(f.conv.messages)
		for i := range said {
			said[i].Seq += m.Message
		}
		f.conv.messages = nil
	}
	f.in, f.out = nil, nil
	c.in, c.out = slices.Concat(in, c.in), slices.Concat(out, c.out)
	slices.SortFunc(c.in, func(a, b *inRow) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortFunc(c.out, func(a, b *rows.Out) int { return cmp.Compare(a.Seq, b.Seq) })
	if f != c {
		maps.Copy(c.steps, f.steps)
		f.steps = map[string][]sessions.Step{}
		if f.conv != nil {
			b.forgetGenerations(f)
			f.conv.generations, f.conv.summaries = nil, nil
		}
	}
	if len(said) > 0 {
		if c.conv == nil {
			c.conv = &conversation{}
		}
		c.conv.messages = slices.Concat(said, c.conv.messages)
	}
}

// putRows puts the rows of the queues.
func (b *backend) putRows(c *chat, ch *rows.Chat, x *ChatChange, done *applied) {
	for _, p := range ch.In {
		r := c.row(p.Seq)
		if r == nil {
			r = &inRow{n: b.lastIn + 1}
			b.lastIn++
			c.in = append(c.in, r)
		}
		was := r.Inbound
		r.In = p.In
		if !p.Fresh {
			r.Inbound = was
		}
		r.ID = inID(r.n)
		if p.Fresh {
			b.seen.Put(Seen(r.Inbound), int32(r.Seq))
		}
		x.In = append(x.In, r.image())
		done.items = append(done.items, r.item())
	}
	for _, p := range ch.Out {
		o := c.delivery(p.Seq)
		if o == nil {
			o = &rows.Out{}
			c.out = append(c.out, o)
		}
		*o = *p
		o.Fresh = false
		if o.ID == "" {
			b.lastOut++
			o.ID = b.deliveryID(b.lastOut)
		}
		b.lastOut = max(b.lastOut, b.deliveryNumber(o.ID)) // none of these is given again
		o.QueueID = o.ID
		b.sent.add(o.ID)
		x.Out = append(x.Out, o.OutboxRecord)
		done.items = append(done.items, outItem(o))
	}
}

// putTranscript puts what changes of the transcript.
func (b *backend) putTranscript(c *chat, ch *rows.Chat, x *ChatChange) {
	if ch.Conversation == nil {
		return
	}
	if c.conv == nil {
		c.conv = &conversation{}
	}
	v := c.conv
	if !v.Updated.Equal(ch.Conversation.Updated) || len(ch.Messages)+len(ch.Begun) > 0 {
		b.updates++
		v.order = b.updates
	}
	v.Conversation = *ch.Conversation
	if ch.Anew {
		b.forgetGenerations(c)
		v.generations, v.summaries = nil, nil
	}
	for _, g := range ch.Begun {
		g.LastSeq = 0
		v.generations = append(slices.Clip(v.generations), g)
		b.begins[g.ID]++
	}
	if len(ch.Begun) > 0 {
		v.summaries = nil
	}
	if len(ch.Rewritten) > 0 {
		v.messages = slices.Clone(v.messages) // what is read now must not change
		for _, m := range ch.Rewritten {
			if i, found := find(v.messages, m.Seq); found {
				v.messages[i] = m
			}
		}
	}
	v.messages = append(v.messages, ch.Messages...)
	v.summaries = slices.DeleteFunc(slices.Clone(v.summaries), func(s sessions.Summary) bool { return slices.Contains(ch.Forget, s.CoversSeq) })
	v.summaries = append(v.summaries, ch.Summaries...)
	x.Messages = ch.Messages
	if len(ch.Begun)+len(ch.Summaries) > 0 {
		x.Summaries = list(v.summaries)
	}
}

func find(messages []sessions.Message, seq int64) (int, bool) {
	return slices.BinarySearchFunc(messages, seq, func(m sessions.Message, seq int64) int { return cmp.Compare(m.Seq, seq) })
}

// row finds an inbox row by its seq.
func (c *chat) row(seq int64) *inRow {
	i, found := slices.BinarySearchFunc(c.in, seq, func(r *inRow, seq int64) int { return cmp.Compare(r.Seq, seq) })
	if !found {
		return nil
	}
	return c.in[i]
}

// delivery finds a delivery by its seq.
func (c *chat) delivery(seq int64) *rows.Out {
	i, found := slices.BinarySearchFunc(c.out, seq, func(o *rows.Out, seq int64) int { return cmp.Compare(o.Seq, seq) })
	if !found {
		return nil
	}
	return c.out[i]
}

// anew is all of c.
func (c *chat) anew(deleted bool) ChatChange {
	all := c.content()
	x := ChatChange{Head: c.head(), Anew: true, Deleted: deleted, Messages: all.Messages, In: all.In, Out: all.Out, Summaries: list(all.Summaries)}
	for turn, steps := range all.Journals {
		for _, step := range steps {
			x.Steps = append(x.Steps, TurnStep{turn, step})
		}
	}
	return x
}

// list is a copy that is not nil: none and no change are two things.
func list(summaries []sessions.Summary) *[]sessions.Summary {
	all := append([]sessions.Summary{}, summaries...)
	return &all
}

func (r *inRow) image() InRow {
	return InRow{r.n, sessions.InboxRecord{
		Seq: r.Seq, Rev: r.Rev, Inbound: r.Inbound, Origin: r.Origin, State: r.State, Turn: r.Turn,
		Attempts: r.Attempts, Due: rules.Time(r.Due), Accepted: rules.Time(r.Accepted), Why: r.Why, Job: r.Job, JobDue: r.JobDue,
	}}
}

// deliveryID names a delivery to networks that deduplicate. Over a disk it has
// the store's random name in it, so that a store that was begun anew does not
// repeat the ids of the one before.
func (s *state) deliveryID(n int64) string { return fmt.Sprintf("out-%s%d", s.prefix, n) }

// deliveryNumber is the n of deliveryID, 0 for ids of other stores.
func (s *state) deliveryNumber(id string) int64 {
	rest, _ := strings.CutPrefix(id, "out-"+s.prefix)
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil || id != s.deliveryID(n) {
		return 0
	}
	return n
}

// applyRecords puts and removes what belongs to no key.
func (b *backend) applyRecords(changes rows.Changes, out *Common) {
	people := false
	for _, r := range changes.Removed {
		switch {
		case r.Fact != nil:
			b.facts[r.Fact.Scope] = slices.DeleteFunc(b.facts[r.Fact.Scope], func(f sessions.Fact) bool { return r.Fact.ID == 0 || f.ID == r.Fact.ID })
			out.Forgotten = append(out.Forgotten, Forgotten{r.Fact.Scope, r.Fact.ID})
		case r.Pairing != nil:
			people = true
			b.pairings = slices.DeleteFunc(b.pairings, func(p *sessions.Pairing) bool { return samePerson(p, r.Pairing) })
		case r.Aside != nil:
			// An empty one stays: others are numbered after it.
			if a := b.aside(r.Aside.Channel, r.Aside.ID); a != nil {
				a.Aside, a.Dropped = sessions.Aside{Channel: a.Channel}, true
				out.Asides = append(out.Asides, *a)
			}
		}
	}
	for _, r := range changes.Records {
		people = b.put(r, out) || people
	}
	if people {
		out.Pairings = b.pairingList()
	}
}

func samePerson(p, o *sessions.Pairing) bool {
	return p.Channel == o.Channel && p.PersonID == o.PersonID
}

// aside finds what was set aside under an id.
func (s *state) aside(channel, id string) *AsideRow {
	for _, a := range s.asides {
		if a.Channel == channel && a.Aside.ID == id && !a.blank() {
			return a
		}
	}
	return nil
}

// blank says that nothing but the place of a is left.
func (a *AsideRow) blank() bool { return a.Dropped && a.Aside.ID == "" && a.Why == "" }

// put stores one record, and reports whether it is of a person.
func (b *backend) put(r sessions.Record, out *Common) (person bool) {
	switch {
	case r.Store != nil:
		maps.Copy(b.days, r.Store.Days)
		out.Days = maps.Clone(b.days)
	case r.Fact != nil:
		b.lastFact = max(b.lastFact, r.Fact.ID)
		facts := append(b.facts[r.Fact.Scope], r.Fact.Fact)
		if n := len(facts); n > 1 && facts[n-2].ID > r.Fact.ID {
			slices.SortFunc(facts, func(a, b sessions.Fact) int { return cmp.Compare(a.ID, b.ID) })
		}
		b.facts[r.Fact.Scope] = facts
		out.Facts = append(out.Facts, *r.Fact)
	case r.Pairing != nil:
		own := *r.Pairing
		i := slices.IndexFunc(b.pairings, func(p *sessions.Pairing) bool { return samePerson(p, &own) })
		if i >= 0 {
			b.pairings[i] = &own
		} else {
			b.pairings = append(b.pairings, &own)
		}
		return true
	case r.Job != nil:
		b.due[r.Job.Job] = r.Job.Due
		if out.Due == nil {
			out.Due = map[string]time.Time{}
		}
		out.Due[r.Job.Job] = r.Job.Due
	case r.Occurrence != nil:
		b.setOccurrence(*r.Occurrence)
		out.Occurrences = append(out.Occurrences, *r.Occurrence)
	case r.Aside != nil:
		a := b.aside(r.Aside.Channel, r.Aside.ID)
		if a == nil {
			a = &AsideRow{ID: fmt.Sprintf("aside-%d", len(b.asides)+1)}
			b.asides = append(b.asides, a)
		}
		a.AsideRecord = *r.Aside
		out.Asides = append(out.Asides, *a)
	}
	return false
}

func inID(n int64) string { return fmt.Sprintf("in-%d", n) }
