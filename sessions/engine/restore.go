package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Restore stores all records that next returns until io.EOF, or none of them. It does
// not merge: if the store already has one of the conversations or its queue, it
// returns ErrConflict, naming the key. Delivery ids, seqs and generation ids are
// kept; missing or taken generation ids are replaced by new ones. Waiting messages
// wait again. Restore returns how much was new. It reads all records before it
// changes anything. Facts, pairings, jobs, occurrences, quarantined messages, notes and
// sums that the store already has do not change.
func (s *Store) Restore(ctx context.Context, next func() (sessions.Record, error)) (got sessions.Restored, err error) {
	scratch := ""
	if room, ok := s.back.(Scratcher); ok {
		scratch = room.Scratch()
	}
	plan, err := readPlan(ctx, s.now(), scratch, next)
	if err != nil {
		return got, s.wrap("restore", err)
	}
	defer func() { err = errors.Join(err, plan.spool.Close()) }()
	err = s.update(ctx, "restore", func(st *step) error {
		x := &restorer{step: st, plan: plan, fresh: map[string]bool{}}
		got = sessions.Restored{}
		if err := x.check(); err != nil {
			return err
		}
		got = sessions.Restored{Conversations: len(plan.keys), Others: x.others()}
		for _, k := range plan.keys {
			x.restore(plan.chats[k])
		}
		return nil
	}, plan.keys...)
	return got, err
}

// restorer is one run of a restore's step.
type restorer struct {
	*step
	plan  *plan
	fresh map[string]bool // ids of generations that it begins

	people  map[sessions.Sender]bool
	codes   map[string]bool // of pairings
	facts   map[scopedText]bool
	factIDs map[int64]bool
	highest int64 // the highest ID that a fact ever had
}

// scopedText finds facts that a store already has: the same text may be a fact of
// several scopes.
type scopedText struct{ scope, text string }

// check refuses conversations, messages and deliveries that the store already has.
func (x *restorer) check() error {
	for _, k := range x.plan.keys {
		if x.hasRows(x.chat(k)) {
			return fmt.Errorf("%w: %s already exists", sessions.ErrConflict, k)
		}
		for _, r := range x.plan.chats[k].inbox {
			if _, seen, err := x.r.Accepted(x.ctx, r.Inbound); seen || err != nil {
				return cmp.Or(err, fmt.Errorf("%w: message %q of %s already exists", sessions.ErrConflict, r.Inbound.ID, k))
			}
		}
		for _, o := range x.plan.chats[k].outbox {
			for old := range x.outbox(channels.Key{}, rows.QueueFilter{ID: o.ID}) {
				return fmt.Errorf("%w: delivery %q of %s already exists", sessions.ErrConflict, o.ID, old.Key)
			}
		}
	}
	return nil
}

// others stores the records outside conversations, and counts the new ones.
func (x *restorer) others() (fresh int) {
	fresh = x.storeRecord()
	if len(x.plan.others) == 0 {
		return fresh
	}
	x.readOthers()
	for _, r := range x.plan.others {
		known := false
		switch {
		case r.Note != nil && Derived(r.Note.Kind):
			known = true // it follows from the conversations
		case r.Fact != nil:
			f := *r.Fact // knownFact may change it, and the step may run again
			known, r.Fact = x.knownFact(&f), &f
		case r.Pairing != nil:
			known = x.knownPerson(r.Pairing)
		case r.Note != nil:
			_, known = x.one(rows.Record{Note: &sessions.Note{Kind: r.Note.Kind, Owner: r.Note.Owner, Name: r.Note.Name}})
		default:
			_, known = x.one(r)
		}
		switch {
		case known:
			continue
		case r.Count != nil:
			x.changes.Add = append(x.changes.Add, *r.Count)
		default:
			x.record(r)
		}
		fresh++
	}
	return fresh
}

// storeRecord stores the record about the store as a whole. It returns 1 if that has
// something new.
func (x *restorer) storeRecord() (fresh int) {
	restored := x.plan.store
	if restored == nil {
		return 0
	}
	r, _ := x.one(rows.Record{Store: &rows.Store{}})
	current := cmp.Or(r.Store, &rows.Store{})
	x.changes.Name = &restored.Name
	if current.Name != restored.Name {
		fresh = 1
	}
	for day, n := range restored.Days {
		if n > current.Days[day] {
			x.count(day, n)
			fresh = 1
		}
	}
	for _, mark := range restored.Erased {
		if !x.marked(mark) {
			x.changes.Marks, fresh = append(x.changes.Marks, mark), 1
		}
	}
	return fresh
}

// readOthers reads the pairings and facts that the store has.
func (x *restorer) readOthers() {
	x.people, x.codes = map[sessions.Sender]bool{}, map[string]bool{}
	for r := range x.records(rows.Record{Pairing: &sessions.Pairing{}}) {
		x.knownPerson(r.Pairing)
	}
	x.highest = x.lastFact()
	x.facts = map[scopedText]bool{}
	x.factIDs = map[int64]bool{}
	for r := range x.records(factsOf("")) {
		x.facts[scopedText{r.Fact.Scope, r.Fact.Text}], x.factIDs[r.Fact.ID] = true, true
	}
}

// knownPerson reports whether there is a pairing with the person or the code of p.
// If not, it remembers p.
func (x *restorer) knownPerson(p *sessions.Pairing) bool {
	who, code := sessions.Sender{Channel: p.Channel, ID: p.PersonID}, rules.Code(p.Code)
	if x.people[who] || code != "" && x.codes[code] {
		return true
	}
	x.people[who], x.codes[code] = true, true
	return false
}

// knownFact reports whether the scope of f has its text. If not, it remembers f, and
// gives it a new ID if its own is taken.
func (x *restorer) knownFact(f *sessions.FactRecord) bool {
	text := scopedText{f.Scope, f.Text}
	if x.facts[text] {
		return true
	}
	if f.ID <= 0 || x.factIDs[f.ID] {
		f.ID = x.highest + 1
	}
	x.highest = max(x.highest, f.ID)
	x.facts[text], x.factIDs[f.ID] = true, true
	return false
}

// restore stores the conversation and queues of p.
func (x *restorer) restore(p *chatPlan) {
	c := x.chat(p.head.Key)
	ch := x.touch(c)
	c.Seq, c.MessageSeq = max(c.Seq, p.head.Seq), max(c.MessageSeq, p.head.MessageSeq)
	if p.conversation {
		c.MessageSeq = p.head.MessageSeq
		x.transcript(c, p)
	}
	ch.Steps = p.steps
	for _, rec := range p.inbox {
		if rec.State == rules.InWaiting {
			c.Waiting++
		}
		ch.In = append(ch.In, &rows.InPut{In: rec, Fresh: true})
	}
	for _, rec := range p.outbox {
		ch.Out = append(ch.Out, &rows.Out{Fresh: true, OutboxRecord: rec})
	}
}

// transcript stores the transcript of p.
func (x *restorer) transcript(c *chat, p *chatPlan) {
	ch := x.touch(c)
	v := &rows.Conversation{
		Title: p.head.Title, Created: p.head.Created, Updated: p.head.Updated, Settings: p.head.Settings, Owners: p.head.Owners,
		Messages: p.messages, Usage: p.usage, From: c.MessageSeq, Erasures: p.replacements,
	}
	if v.Created.IsZero() {
		v.Created = rules.Time(x.now)
	}
	if v.Updated.IsZero() {
		v.Updated = v.Created
	}
	c.Conversation = v
	if messages := x.plan.messages(p); p.messages > rules.PartMessages || p.bytes > rules.PartBytes {
		ch.Large = messages
	} else {
		for stretch := range each(&x.view, messages) {
			ch.Messages = append(ch.Messages, stretch...)
		}
	}
	for _, g := range p.head.Generations {
		x.generation(&g)
		ch.Begun = append(ch.Begun, g)
		v.Generation, v.From = g.ID, g.FirstSeq-1
	}
	for _, sum := range p.head.Summaries {
		sum.Generation = v.Generation
		ch.Summaries, v.Covers = append(ch.Summaries, sum), sum.CoversSeq
	}
}

// generation gives g a new id if its own is taken or invalid.
func (x *restorer) generation(g *sessions.Generation) {
	at := g.Began
	if at.IsZero() {
		at = x.now
	}
	g.Began, g.LastSeq = rules.Time(at), 0
	day, n, err := rules.ParseGeneration(g.ID)
	taken := err != nil || x.fresh[g.ID]
	if !taken {
		_, taken = x.one(rows.Record{Generation: &rows.Generation{Generation: sessions.Generation{ID: g.ID}}})
	}
	if taken {
		g.ID = x.nextGeneration(at)
	} else {
		x.count(day, max(x.begun(day), n))
	}
	x.fresh[g.ID] = true
}
