package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// putRows puts the rows of the queues.
func (b *backend) putRows(c *chat, ch *rows.Chat, x *ChatChange, done *applied) {
	for _, p := range ch.In {
		r := c.row(p.Seq)
		if r == nil {
			r = &inRow{}
			c.in = append(c.in, r)
		}
		was := r.Inbound
		r.In = p.In
		if !p.Fresh {
			r.Inbound = was
		}
		if p.Fresh {
			b.seen.Put(Seen(r.Inbound), int32(r.Seq))
		}
		x.In = append(x.In, r.In)
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
		case r.Quarantined != nil:
			// An empty one stays: others are numbered after it.
			if a := b.aside(r.Quarantined.Channel, r.Quarantined.ID); a != nil {
				a.Quarantined, a.Dropped = sessions.Quarantined{Channel: a.Channel}, true
				out.Quarantined = append(out.Quarantined, *a)
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
func (s *state) aside(channel, id string) *QuarantineRow {
	for _, a := range s.asides {
		if a.Channel == channel && a.Quarantined.ID == id && !a.blank() {
			return a
		}
	}
	return nil
}

// blank says that nothing but the place of a is left.
func (a *QuarantineRow) blank() bool { return a.Dropped && a.Quarantined.ID == "" && a.Why == "" }

// put stores one record, and reports whether it is of a person.
func (b *backend) put(r rows.Record, out *Common) (person bool) {
	switch {
	case r.Store != nil:
		maps.Copy(b.days, r.Store.Days)
		out.Days = maps.Clone(b.days)
	case r.Fact != nil:
		b.lastFact = max(b.lastFact, r.Fact.ID)
		facts := b.facts[r.Fact.Scope]
		i, known := slices.BinarySearchFunc(facts, r.Fact.ID, func(f sessions.Fact, id int64) int { return cmp.Compare(f.ID, id) })
		if known {
			facts[i] = r.Fact.Fact
		} else {
			b.facts[r.Fact.Scope] = slices.Insert(facts, i, r.Fact.Fact)
		}
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
	case r.Quarantined != nil:
		a := b.aside(r.Quarantined.Channel, r.Quarantined.ID)
		if a == nil {
			a = &QuarantineRow{ID: fmt.Sprintf("aside-%d", len(b.asides)+1)}
			b.asides = append(b.asides, a)
		}
		a.QuarantineRecord = *r.Quarantined
		out.Quarantined = append(out.Quarantined, *a)
	}
	return false
}
