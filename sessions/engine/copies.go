package engine

import (
	"cmp"
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Scratcher is an ability of a backend: a folder for data that may not fit into
// memory. Without it, the system's folder for temporary files is used.
type Scratcher interface {
	Scratch() string
}

// Dump passes every record of the store to emit, in an order that depends on the
// content alone, and stops at emit's first error, which it returns. With keys, it
// passes only the records of those conversations. It reads one snapshot of the store.
func (s *Store) Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	if err := hasKey(keys...); err != nil {
		return s.wrap("dump", err)
	}
	var emitErr error // returned without a wrapping
	err := s.back.Snapshot(ctx, func(r rows.Reader) error {
		d := &dumper{view: view{ctx: ctx, r: r}}
		d.emit = func(one sessions.Record) {
			if d.err == nil {
				emitErr = cmp.Or(ctx.Err(), emit(one))
				d.err = emitErr
			}
		}
		d.all(keys)
		return d.err
	})
	if emitErr != nil {
		return emitErr
	}
	return s.wrap("dump", err)
}

// dumper emits records until its first error.
type dumper struct {
	view
	emit func(sessions.Record)
}

func (d *dumper) all(keys []channels.Key) {
	whole := len(keys) == 0
	if whole {
		d.store()
		for h := range d.heads(rows.ByKey) {
			keys = append(keys, h.Key)
		}
	}
	for _, k := range sortedKeys(keys) {
		if h, known := d.head(k); known {
			d.chat(k, h)
		}
	}
	if whole {
		d.others()
	}
}

func (d *dumper) store() {
	rec := &sessions.StoreRecord{}
	for r := range d.records(rows.Record{Store: &rows.Store{}}) {
		rec.Name, rec.Days = r.Store.Name, r.Store.Days
	}
	for r := range d.records(rows.Record{Mark: new("")}) {
		rec.Erased = append(rec.Erased, *r.Mark)
	}
	d.emit(sessions.Record{Store: rec})
}

// chat emits a conversation and its queues.
func (d *dumper) chat(k channels.Key, h rows.Head) {
	rec := &sessions.ConversationRecord{Key: k, Seq: h.Seq, MessageSeq: h.MessageSeq}
	if v := h.Conversation; v != nil {
		rec.Title = v.Title
		rec.Created = rules.Time(v.Created)
		rec.Updated = rules.Time(v.Updated)
		rec.Settings = rules.Settings(v.Settings)
		rec.Owners = ownOwners(v.Owners)
		rec.Generations = withEnds(d.generations(k), h.MessageSeq)
		for _, sum := range d.summaries(k) {
			rec.Summaries = append(rec.Summaries, rules.Summary(sum))
		}
	}
	d.emit(sessions.Record{Conversation: rec})
	d.transcript(k)
	journaled := map[string]bool{}
	for _, rec := range slices.Collect(d.inbox(k, rows.QueueFilter{})) {
		if rec.Turn != "" && !journaled[rec.Turn] {
			journaled[rec.Turn] = true
			rec.Steps = d.journal(k, rec.Turn)
		}
		d.emit(sessions.Record{Inbox: &rec})
	}
	for o := range d.outbox(k, rows.QueueFilter{}) {
		rec := o.OutboxRecord
		rec.Created, rec.NotBefore = rules.Time(rec.Created), rules.Time(rec.NotBefore)
		d.emit(sessions.Record{Outbox: &rec})
	}
}

// transcript emits the messages of k, in records of a limited size.
func (d *dumper) transcript(k channels.Key) {
	var list []sessions.Message
	size := 0
	send := func() {
		d.emit(sessions.Record{Messages: &sessions.MessagesRecord{Key: k, Messages: list}})
		list, size = nil, 0
	}
	for m := range d.messages(k, rows.MessageFilter{}) {
		list, size = append(list, m), size+rules.Bytes(m)
		if len(list) == 100 || size >= rules.PartBytes {
			send()
		}
	}
	if len(list) > 0 {
		send()
	}
}

// others emits the records outside conversations.
func (d *dumper) others() {
	for _, like := range []rows.Record{
		{Quarantined: &sessions.QuarantineRecord{}},
		{Fact: &sessions.FactRecord{}},
		{Pairing: &sessions.Pairing{}},
		{Job: &sessions.JobRecord{}},
		{Occurrence: &sessions.Occurrence{}},
		{Note: &sessions.Note{}},
		{Count: &sessions.Count{}},
	} {
		for r := range d.records(like) {
			if r.Note != nil && Derived(r.Note.Kind) {
				continue
			}
			d.emit(sessions.Record{
				Quarantined: r.Quarantined, Fact: r.Fact, Pairing: r.Pairing, Job: r.Job, Occurrence: r.Occurrence,
				Note: r.Note, Count: r.Count,
			})
		}
	}
}
