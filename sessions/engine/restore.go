package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Restore stores records and tells what was new: see sessions.Copies. All records
// are read before anything is changed. Facts, people, jobs, occurrences and
// things set aside that are there already are left alone.
func (s *Store) Restore(ctx context.Context, next func() (sessions.Record, error)) (got sessions.Restored, err error) {
	var scratch func() (*os.File, error)
	if room, ok := s.back.(Scratcher); ok {
		scratch = room.Scratch
	}
	plan, err := rules.ReadPlan(ctx, scratch, next)
	if err != nil {
		return got, s.wrap("restore", err)
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	err = s.update(ctx, "restore", func(st *step) error {
		x := &restorer{step: st, plan: plan, fresh: map[string]bool{}}
		if err := x.check(); err != nil {
			return err
		}
		others, err := x.others()
		if err != nil {
			return err
		}
		for _, k := range plan.Keys {
			if err := x.restore(plan.Chats[k]); err != nil {
				return err
			}
		}
		got = sessions.Restored{Conversations: len(plan.Keys), Others: others}
		return nil
	}, plan.Keys...)
	if err != nil {
		return sessions.Restored{}, err
	}
	return got, nil
}

// restorer is one restore on its way.
type restorer struct {
	*step
	plan  *rules.Plan
	fresh map[string]bool // generations that it begins
}

// check refuses what the store has already.
func (x *restorer) check() error {
	for _, k := range x.plan.Keys {
		c, err := x.chat(k)
		if err != nil {
			return err
		}
		if any, err := x.any(c); any || err != nil {
			return cmp.Or(err, fmt.Errorf("%w: %s is here already", sessions.ErrConflict, k))
		}
		for _, r := range x.plan.Chats[k].Inbox {
			if _, seen, err := x.r.Accepted(x.ctx, r.Inbound); seen || err != nil {
				return cmp.Or(err, fmt.Errorf("%w: message %q of %s is here already", sessions.ErrConflict, r.Inbound.ID, k))
			}
		}
		for _, o := range x.plan.Chats[k].Outbox {
			for old, err := range x.r.Outbox(x.ctx, channels.Key{}, rows.Queued{ID: o.ID}) {
				return cmp.Or(err, fmt.Errorf("%w: delivery %q of %s is here already", sessions.ErrConflict, o.ID, old.Key))
			}
		}
	}
	return nil
}

// others stores what belongs to no conversation, and returns how much of it was
// new.
func (x *restorer) others() (fresh int, err error) {
	if fresh, err = x.aboutStore(); err != nil {
		return 0, err
	}
	var all []rows.Record
	for _, a := range x.plan.Quarantined {
		all = append(all, rows.Record{Quarantined: &a})
	}
	for _, j := range x.plan.Jobs {
		all = append(all, rows.Record{Job: &j})
	}
	for _, o := range x.plan.Occurrences {
		all = append(all, rows.Record{Occurrence: &o})
	}
	for _, r := range all {
		_, known, err := x.one(r)
		if err != nil {
			return 0, err
		}
		if !known {
			x.record(r)
			fresh++
		}
	}
	people, err := x.people()
	if err != nil {
		return 0, err
	}
	facts, err := x.facts()
	return fresh + people + facts, err
}

// aboutStore returns 1 if the record of the store said something new.
func (x *restorer) aboutStore() (fresh int, err error) {
	said := x.plan.Store
	if said == nil {
		return 0, nil
	}
	r, _, err := x.one(rows.Record{Store: &rows.Store{}})
	if err != nil {
		return 0, err
	}
	now := cmp.Or(r.Store, &rows.Store{})
	x.changes.Name = &said.Name
	if now.Name != said.Name {
		fresh = 1
	}
	for day, n := range said.Days {
		if n > now.Days[day] {
			fresh = 1
			if x.days == nil {
				x.days = map[string]int64{}
			}
			x.days[day] = n
		}
	}
	for _, mark := range said.Erased {
		known, err := x.marked(mark)
		if err != nil {
			return 0, err
		}
		if !known {
			x.changes.Marks, fresh = append(x.changes.Marks, mark), 1
		}
	}
	return fresh, nil
}

func (x *restorer) people() (fresh int, err error) {
	if len(x.plan.Pairings) == 0 {
		return 0, nil
	}
	here, err := collect(x.r.Records(x.ctx, rows.Record{Pairing: &sessions.Pairing{}}))
	if err != nil {
		return 0, err
	}
	people, codes := map[sessions.Sender]bool{}, map[string]bool{}
	note := func(p *sessions.Pairing) {
		people[sessions.Sender{Channel: p.Channel, ID: p.PersonID}] = true
		if p.Code != "" {
			codes[rules.Code(p.Code)] = true
		}
	}
	for _, r := range here {
		note(r.Pairing)
	}
	for _, p := range x.plan.Pairings {
		if !people[sessions.Sender{Channel: p.Channel, ID: p.PersonID}] && (p.Code == "" || !codes[rules.Code(p.Code)]) {
			note(&p)
			x.record(rows.Record{Pairing: &p})
			fresh++
		}
	}
	return fresh, nil
}

// facts keeps the ids that are free.
func (x *restorer) facts() (fresh int, err error) {
	if len(x.plan.Facts) == 0 {
		return 0, nil
	}
	type known struct{ scope, text string }
	here, ids := map[known]bool{}, map[int64]bool{}
	for r, err := range x.r.Records(x.ctx, rows.Record{Fact: &sessions.FactRecord{}}) {
		if err != nil {
			return 0, err
		}
		here[known{r.Fact.Scope, r.Fact.Text}], ids[r.Fact.ID] = true, true
	}
	about, err := x.store()
	if err != nil {
		return 0, err
	}
	last := about.LastFact
	for _, f := range x.plan.Facts {
		if here[known{f.Scope, f.Text}] {
			continue
		}
		if f.ID <= 0 || ids[f.ID] {
			f.ID = last + 1
		}
		last = max(last, f.ID)
		here[known{f.Scope, f.Text}], ids[f.ID] = true, true
		x.record(rows.Record{Fact: &f})
		fresh++
	}
	return fresh, nil
}

// restore stores p.
func (x *restorer) restore(p *rules.ChatPlan) error {
	c, err := x.chat(p.Head.Key)
	if err != nil {
		return err
	}
	ch := x.touch(c)
	c.Seq, c.MessageSeq = max(c.Seq, p.Head.Seq), max(c.MessageSeq, p.Head.MessageSeq)
	if p.Conversation {
		c.MessageSeq = p.Head.MessageSeq
		if err := x.conversation(c, p); err != nil {
			return err
		}
	}
	for _, rec := range p.Inbox {
		for _, one := range rec.Steps {
			ch.Steps = append(ch.Steps, rows.Step{Turn: rec.Turn, Step: one})
		}
		rec.Steps = nil
		if rec.State == rules.InWaiting {
			c.waiting++
		}
		ch.In = append(ch.In, &rows.InPut{In: rec, Fresh: true})
	}
	for _, rec := range p.Outbox {
		ch.Out = append(ch.Out, &rows.Out{Fresh: true, OutboxRecord: rec})
	}
	return nil
}

// conversation stores the transcript of p.
func (x *restorer) conversation(c *chat, p *rules.ChatPlan) error {
	ch := x.touch(c)
	v := &rows.Conversation{
		Title: p.Head.Title, Created: p.Head.Created, Updated: p.Head.Updated, Settings: p.Head.Settings,
		Messages: p.Messages, Usage: p.Usage, From: c.MessageSeq,
	}
	if v.Created.IsZero() {
		v.Created = rules.Time(x.now)
	}
	if v.Updated.IsZero() {
		v.Updated = v.Created
	}
	c.Conversation = v
	if said := x.plan.Said(p); p.Messages > rules.PartMessages || p.Bytes > rules.PartBytes {
		ch.Large = said
	} else {
		for stretch, err := range said {
			if err != nil {
				return err
			}
			ch.Messages = append(ch.Messages, stretch...)
		}
	}
	for _, g := range p.Head.Generations {
		if err := x.generation(&g); err != nil {
			return err
		}
		ch.Begun = append(ch.Begun, g)
		v.Generation, v.From = g.ID, g.FirstSeq-1
	}
	for _, sum := range p.Head.Summaries {
		sum.Generation = v.Generation
		ch.Summaries, v.Covers = append(ch.Summaries, sum), sum.CoversSeq
	}
	return nil
}

// generation gives g an id that is free: its own if it is.
func (x *restorer) generation(g *sessions.Generation) error {
	at := g.Began
	if at.IsZero() {
		at = x.now
	}
	g.Began, g.LastSeq = rules.Time(at), 0
	day, n, err := rules.ParseGeneration(g.ID)
	taken := err != nil || x.fresh[g.ID]
	if !taken {
		if _, taken, err = x.one(rows.Record{Generation: &rows.Generation{Generation: sessions.Generation{ID: g.ID}}}); err != nil {
			return err
		}
	}
	if taken {
		if g.ID, err = x.nextGeneration(at); err != nil {
			return err
		}
	} else {
		have, err := x.begun(day)
		if err != nil {
			return err
		}
		x.days[day] = max(have, n)
	}
	x.fresh[g.ID] = true
	return nil
}
