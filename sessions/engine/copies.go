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

// Scratcher is an ability of a backend: room for data that may not fit into memory.
type Scratcher interface {
	// Scratch is the folder for it. Without this ability it is the system's for
	// temporary files.
	Scratch() string
}

// Dump hands out everything: see sessions.Copies.
func (s *Store) Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	var told error // emit's, which is returned as it is
	err := s.back.Snapshot(ctx, func(r rows.Reader) error {
		d := &dumper{view: view{ctx: ctx, r: r}}
		d.emit = func(one sessions.Record) {
			if d.err == nil {
				told = cmp.Or(ctx.Err(), emit(one))
				d.err = told
			}
		}
		d.all(keys)
		return d.err
	})
	if told != nil {
		return told
	}
	return s.wrap("dump", err)
}

// dumper hands out records until its first error.
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
	for _, k := range eachOnce(keys) {
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

// chat hands out a conversation and its queues.
func (d *dumper) chat(k channels.Key, h rows.Head) {
	rec := &sessions.ConversationRecord{Key: k, Seq: h.Seq, MessageSeq: h.MessageSeq}
	if v := h.Conversation; v != nil {
		rec.Title, rec.Created, rec.Updated, rec.Settings = v.Title, rules.Time(v.Created), rules.Time(v.Updated), rules.Settings(v.Settings)
		rec.Generations = withEnds(d.generations(k), h.MessageSeq)
		for _, sum := range d.summaries(k) {
			rec.Summaries = append(rec.Summaries, rules.Summary(sum))
		}
	}
	d.emit(sessions.Record{Conversation: rec})
	d.transcript(k)
	told := map[string]bool{}
	for _, rec := range slices.Collect(d.inbox(k, rows.Queued{})) {
		if rec.Turn != "" && !told[rec.Turn] {
			told[rec.Turn] = true
			rec.Steps = d.journal(k, rec.Turn)
		}
		d.emit(sessions.Record{Inbox: &rec})
	}
	for o := range d.outbox(k, rows.Queued{}) {
		rec := o.OutboxRecord
		rec.Created, rec.NotBefore = rules.Time(rec.Created), rules.Time(rec.NotBefore)
		d.emit(sessions.Record{Outbox: &rec})
	}
}

// transcript hands out messages in records that are not too large.
func (d *dumper) transcript(k channels.Key) {
	var list []sessions.Message
	size := 0
	send := func() {
		d.emit(sessions.Record{Messages: &sessions.MessagesRecord{Key: k, Messages: list}})
		list, size = nil, 0
	}
	for m := range d.messages(k, rows.Said{}) {
		list, size = append(list, m), size+rules.Bytes(m)
		if len(list) == 100 || size >= rules.PartBytes {
			send()
		}
	}
	if len(list) > 0 {
		send()
	}
}

// others hands out the records of no conversation.
func (d *dumper) others() {
	for _, like := range []rows.Record{
		{Quarantined: &sessions.QuarantineRecord{}},
		{Fact: &sessions.FactRecord{}},
		{Pairing: &sessions.Pairing{}},
		{Job: &sessions.JobRecord{}},
		{Occurrence: &sessions.Occurrence{}},
	} {
		for r := range d.records(like) {
			d.emit(sessions.Record{Quarantined: r.Quarantined, Fact: r.Fact, Pairing: r.Pairing, Job: r.Job, Occurrence: r.Occurrence})
		}
	}
}
