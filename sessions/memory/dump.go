package memory

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Dump is part of [sessions.Copies]. What is in memory is gathered under the
// lock. What is on a disk is read as it was then, and nobody waits for that;
// emit is called after it and may use the store.
func (s *Store) Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	whole := len(keys) == 0
	all, err := s.gather(whole)
	if err != nil {
		return s.wrap("dump", err)
	}
	if err = s.collect(ctx, whole, keys, all); err == nil {
		err = all.each(func(r sessions.Record) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return emit(r)
		})
	}
	if end := all.close(); err == nil {
		err = s.wrap("dump", end)
	}
	return err
}

// collect gathers the records of a Dump.
func (s *Store) collect(ctx context.Context, whole bool, keys []channels.Key, all *gathered) error {
	var then Moment
	if s.disk != nil {
		then = s.disk.Moment()
		defer then.End()
	}
	var heads []Head
	var others []sessions.Record
	err := s.read(ctx, "dump", func() error {
		if whole {
			keys = slices.Collect(maps.Keys(s.chats))
			others = s.otherRecords()
		}
		var errs []error
		if whole {
			errs = append(errs, all.add(sessions.Record{Store: s.storeRecord()}))
		}
		for _, k := range rules.DumpKeys(keys) {
			switch c := s.chats[k]; {
			case c == nil:
			case then == nil:
				errs = append(errs, all.add(records(c.head(), c.content())...))
			default:
				heads = append(heads, c.head())
			}
		}
		if err := errors.Join(errs...); err != nil || then == nil {
			return err
		}
		then.Take()
		s.outside.Add(1) // as the last: only who sees no error takes it back
		return nil
	})
	if err != nil {
		return err
	}
	if then == nil {
		return all.add(others...)
	}
	defer s.outside.Done()
	for _, h := range heads {
		content, err := then.Content(h.Key)
		if err == nil {
			err = all.add(records(h, content)...)
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return s.wrap("dump", err)
		}
	}
	return s.wrap("dump", all.add(others...))
}

func (s *Store) storeRecord() *sessions.StoreRecord {
	return &sessions.StoreRecord{Name: s.restored, Days: maps.Clone(s.days), Erased: slices.Sorted(maps.Keys(s.erased))}
}

// records are those of a conversation.
func records(h Head, content Content) []sessions.Record {
	if h.Seq == 0 && h.MessageSeq == 0 && h.Conversation == nil {
		return nil
	}
	head := &sessions.ConversationRecord{Key: h.Key, Seq: h.Seq, MessageSeq: h.MessageSeq}
	all := []sessions.Record{{Conversation: head}}
	if conv := h.Conversation; conv != nil {
		head.Title, head.Created, head.Updated = conv.Title, rules.Time(conv.Created), rules.Time(conv.Updated)
		head.Generations, head.Settings = withEnds(conv.Generations, h.MessageSeq), rules.Settings(conv.Settings)
		for _, sum := range content.Summaries {
			head.Summaries = append(head.Summaries, rules.Summary(sum))
		}
		var chunk rules.Chunk
		for i, m := range content.Messages {
			if chunk.Add(rules.Clone(m)) || i == len(content.Messages)-1 {
				all = append(all, sessions.Record{Messages: &sessions.MessagesRecord{Key: h.Key, Messages: chunk.Messages}})
				chunk = rules.Chunk{}
			}
		}
	}
	told := map[string]bool{}
	for _, r := range content.In {
		rec := r.InboxRecord
		rec.Inbound = rules.Inbound(rec.Inbound)
		if r.Turn != "" && !told[r.Turn] {
			told[r.Turn] = true
			for _, step := range content.Journals[r.Turn] {
				rec.Steps = append(rec.Steps, rules.Step(step, step.At))
			}
		}
		all = append(all, sessions.Record{Inbox: &rec})
	}
	for _, o := range content.Out {
		all = append(all, sessions.Record{Outbox: &o})
	}
	return all
}

func (r *inRow) record() *sessions.InboxRecord {
	rec := &sessions.InboxRecord{
		Seq: r.seq, Rev: r.rev, Inbound: rules.Inbound(r.inbound), Origin: r.origin, State: r.state, Turn: r.turn,
		Attempts: r.attempts, Due: rules.Time(r.due), Accepted: rules.Time(r.accepted), Why: r.why,
	}
	if r.fired != nil {
		rec.Job, rec.JobDue = r.fired.Job, r.fired.Due
	}
	return rec
}

func (o *outRow) record() sessions.OutboxRecord {
	rec := sessions.OutboxRecord{Delivery: o.Delivery, Uncertain: o.uncertain, MessageID: o.messageID}
	rec.Created, rec.NotBefore = rules.Time(o.Created), rules.Time(o.NotBefore)
	return rec
}

// otherRecords are those that belong to no conversation.
func (s *Store) otherRecords() (all []sessions.Record) {
	asides := slices.SortedFunc(slices.Values(s.asides), func(a, b *asideRow) int {
		return cmp.Or(cmp.Compare(a.aside.Channel, b.aside.Channel), cmp.Compare(a.aside.ID, b.aside.ID))
	})
	for _, a := range asides {
		if a.erased() {
			continue
		}
		rec := &sessions.AsideRecord{Aside: a.aside, At: rules.Time(a.at), Dropped: a.dropped}
		rec.Raw = slices.Clone(rec.Raw)
		all = append(all, sessions.Record{Aside: rec})
	}
	for _, scope := range slices.Sorted(maps.Keys(s.facts)) {
		for _, f := range s.facts[scope] {
			all = append(all, sessions.Record{Fact: &sessions.FactRecord{Scope: scope, Fact: f}})
		}
	}
	pairings := slices.SortedFunc(slices.Values(s.pairings), func(a, b *sessions.Pairing) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.PersonID, b.PersonID))
	})
	for _, p := range pairings {
		copied := *p
		all = append(all, sessions.Record{Pairing: &copied})
	}
	for _, job := range slices.Sorted(maps.Keys(s.due)) {
		all = append(all, sessions.Record{Job: &sessions.JobRecord{Job: job, Due: s.due[job]}})
	}
	occurrences := slices.SortedFunc(slices.Values(s.occurrences), func(a, b *occurrence) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), a.Due.Compare(b.Due))
	})
	for _, o := range occurrences {
		copied := o.Occurrence
		all = append(all, sessions.Record{Occurrence: &copied})
	}
	return all
}
