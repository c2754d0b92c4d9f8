package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Restore is part of [sessions.Copies].
func (s *Store) Restore(ctx context.Context, next func() (sessions.Record, error)) error {
	_, err := s.Take(ctx, next)
	return err
}

// Take is part of [sessions.Copies]. All records are read before anything is
// changed. What is there already of facts, people, jobs and occurrences and
// things set aside stays as it is.
func (s *Store) Take(ctx context.Context, next func() (sessions.Record, error)) (taken sessions.Taken, err error) {
	plan, err := rules.ReadPlan(ctx, nil, next) // they stay in memory anyway
	if err != nil {
		return taken, s.wrap("restore", err)
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	err = s.update(ctx, "restore", func(ch *change) error {
		if err := s.checkRestore(plan); err != nil {
			return err
		}
		taken.Others = s.restoreStore(ch, plan) + s.restoreOthers(ch, plan)
		generations := s.generationIDs()
		for _, k := range plan.Keys {
			if err := s.restoreChat(ch, plan, plan.Chats[k], generations); err != nil {
				return err
			}
		}
		taken.Conversations = len(plan.Keys)
		for _, k := range plan.Keys {
			for _, r := range s.chats[k].in {
				if link, ok := plan.Links[rules.Dedupe(r.inbound)]; ok && r.fired == nil {
					r.fired = s.occurrence(link.Job, link.Due)
				}
			}
		}
		return nil
	})
	if err != nil {
		return sessions.Taken{}, err
	}
	return taken, nil
}

// checkRestore refuses what the store has already.
func (s *Store) checkRestore(plan *rules.Plan) error {
	ids := map[string]channels.Key{}
	for _, k := range plan.Keys {
		c, err := s.chat(k)
		if err == nil {
			err = s.fill(c)
		}
		if err != nil {
			return err
		}
		if c.conv != nil || len(c.in)+len(c.out) > 0 {
			return fmt.Errorf("%w: %s is here already", sessions.ErrConflict, k)
		}
		for _, r := range plan.Chats[k].Inbox {
			if _, seen := s.seen.Seq(Seen(r.Inbound)); seen {
				return fmt.Errorf("%w: message %q of %s is here already", sessions.ErrConflict, r.Inbound.ID, k)
			}
		}
		for _, o := range plan.Chats[k].Outbox {
			ids[o.ID] = k
		}
	}
	return s.checkDeliveries(ids)
}

// checkDeliveries refuses ids of deliveries that are taken. It looks through
// all conversations once, and then only if one may be.
func (s *Store) checkDeliveries(ids map[string]channels.Key) error {
	if len(ids) == 0 {
		return nil
	}
	maybe := s.sent == nil
	for id := range ids {
		maybe = maybe || s.sent.has(id)
	}
	if !maybe {
		return nil
	}
	all := idFilter{}
	for _, c := range s.chats {
		c, err := s.look(c)
		if err != nil {
			return err
		}
		for _, o := range c.out {
			if k, taken := ids[o.ID]; taken {
				return fmt.Errorf("%w: delivery %q of %s is here already", sessions.ErrConflict, o.ID, k)
			}
			all.add(o.ID)
		}
	}
	s.sent = all
	return nil
}

// restoreStore returns 1 if the record said something new.
func (s *Store) restoreStore(ch *change, plan *rules.Plan) (fresh int) {
	if plan.Store == nil {
		return 0
	}
	if s.restored != plan.Store.Name {
		fresh = 1
	}
	s.restored, ch.days = plan.Store.Name, true
	for day, n := range plan.Store.Days {
		if n > s.days[day] {
			s.days[day], fresh = n, 1
		}
	}
	for _, h := range plan.Store.Erased {
		if !s.erased[h] {
			s.erased[h], fresh = true, 1
		}
	}
	ch.common.Erased = append(ch.common.Erased, plan.Store.Erased...)
	return fresh
}

// generationIDs are those that are taken.
func (s *Store) generationIDs() map[string]bool {
	ids := map[string]bool{}
	for _, c := range s.chats {
		if c.conv != nil {
			for _, g := range c.conv.generations {
				ids[g.ID] = true
			}
		}
	}
	return ids
}

// restoreChat stores p. It adds the ids of its generations to those that are
// taken.
func (s *Store) restoreChat(ch *change, plan *rules.Plan, p *rules.ChatPlan, generations map[string]bool) error {
	c := s.chats[p.Head.Key] // checkRestore has made it
	ch.touch(c).anew, ch.days = true, true
	c.seq, c.msgSeq = max(c.seq, p.Head.Seq), p.Head.MessageSeq
	if p.Conversation {
		if err := s.restoreConversation(ch, c, plan, p, generations); err != nil {
			return err
		}
	}
	for _, rec := range p.Inbox {
		s.lastIn++
		r := &inRow{
			n: s.lastIn, seq: rec.Seq, rev: rec.Rev, inbound: rec.Inbound, origin: rec.Origin, state: rec.State,
			turn: rec.Turn, attempts: rec.Attempts, due: rec.Due, accepted: rec.Accepted, why: rec.Why,
		}
		if len(rec.Steps) > 0 {
			c.steps[r.turn] = append(c.steps[r.turn], rec.Steps...)
		}
		c.in = append(c.in, r)
		s.seen.Put(Seen(r.inbound), int32(r.seq))
	}
	for _, rec := range p.Outbox {
		o := &outRow{Delivery: rec.Delivery, uncertain: rec.Uncertain, messageID: rec.MessageID}
		s.lastOut = max(s.lastOut, s.deliveryNumber(o.ID)) // none of these is given again
		c.out = append(c.out, o)
		s.sent.add(o.ID)
	}
	c.openItems(ch, false)
	c.used, c.read = time.Time{}, false // it need not stay in memory until somebody uses it
	return nil
}

func (s *Store) restoreConversation(ch *change, c *chat, plan *rules.Plan, p *rules.ChatPlan, generations map[string]bool) error {
	s.updates++
	conv := &conversation{
		title: p.Head.Title, created: p.Head.Created, updated: p.Head.Updated, order: s.updates, settings: p.Head.Settings,
		count: p.Messages, from: c.msgSeq,
	}
	if conv.created.IsZero() {
		conv.created = ch.now
	}
	if conv.updated.IsZero() {
		conv.updated = conv.created
	}
	c.conv = conv
	err := plan.Each(p, func(stretch []sessions.Message) error {
		for _, m := range stretch {
			if m.Usage != nil {
				conv.usage.Add(*m.Usage)
			}
		}
		conv.messages = append(conv.messages, stretch...)
		return nil
	})
	if err != nil {
		return err
	}
	for _, g := range p.Head.Generations {
		day, n, err := rules.ParseGeneration(g.ID)
		if err != nil || generations[g.ID] {
			g.ID = s.nextGeneration(cmp.Or(g.Began, ch.now))
		} else {
			s.days[day] = max(s.days[day], n)
		}
		generations[g.ID] = true
		g.Began, g.LastSeq = rules.Time(cmp.Or(g.Began, ch.now)), 0
		conv.generations = append(conv.generations, g)
		conv.generation, conv.from = g.ID, g.FirstSeq-1
	}
	for _, sum := range p.Head.Summaries {
		sum.Generation = conv.generation
		conv.summaries = append(conv.summaries, sum)
	}
	return nil
}

// restoreOthers returns how many of them were new.
func (s *Store) restoreOthers(ch *change, plan *rules.Plan) (fresh int) {
	fresh = s.restoreAsides(ch, plan.Asides) + s.restoreFacts(ch, plan.Facts)
	for _, p := range plan.Pairings {
		if !slices.ContainsFunc(s.pairings, func(old *sessions.Pairing) bool {
			return old.Channel == p.Channel && old.PersonID == p.PersonID || p.Code != "" && rules.Code(old.Code) == rules.Code(p.Code)
		}) {
			s.pairings, ch.people = append(s.pairings, &p), true
			fresh++
		}
	}
	for _, j := range plan.Jobs {
		if _, planned := s.due[j.Job]; !planned {
			s.plan(ch, j.Job, j.Due)
			fresh++
		}
	}
	for _, o := range plan.Occurrences {
		if s.occurrence(o.Job, o.Due) == nil {
			ch.occurred(s.addOccurrence(o))
			fresh++
		}
	}
	return fresh
}

func (s *Store) restoreAsides(ch *change, list []sessions.AsideRecord) (fresh int) {
	type name struct{ channel, id string }
	here := map[name]bool{}
	for _, old := range s.asides {
		here[name{old.aside.Channel, old.aside.ID}] = true
	}
	for _, a := range list {
		if n := (name{a.Channel, a.ID}); !here[n] {
			here[n] = true
			row := &asideRow{id: fmt.Sprintf("aside-%d", len(s.asides)+1), aside: a.Aside, at: a.At, dropped: a.Dropped}
			s.asides = append(s.asides, row)
			ch.aside(row)
			fresh++
		}
	}
	return fresh
}

// restoreFacts keeps the ids that are free.
func (s *Store) restoreFacts(ch *change, list []sessions.FactRecord) (fresh int) {
	type known struct{ scope, text string }
	here, ids, scopes := map[known]bool{}, map[int64]bool{}, map[string]bool{}
	for scope, facts := range s.facts {
		for _, old := range facts {
			here[known{scope, old.Text}], ids[old.ID] = true, true
		}
	}
	for _, f := range list {
		if here[known{f.Scope, f.Text}] {
			continue
		}
		if f.ID <= 0 || ids[f.ID] {
			f.ID = s.lastFact + 1
		}
		s.lastFact = max(s.lastFact, f.ID)
		here[known{f.Scope, f.Text}], ids[f.ID], scopes[f.Scope] = true, true, true
		ch.common.Facts = append(ch.common.Facts, f)
		s.facts[f.Scope] = append(s.facts[f.Scope], f.Fact)
		fresh++
	}
	for scope := range scopes {
		slices.SortFunc(s.facts[scope], func(a, b sessions.Fact) int { return cmp.Compare(a.ID, b.ID) })
	}
	return fresh
}
