package engine

import (
	"context"
	"os"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Scratcher is an ability of a backend: room for what may not fit into memory.
type Scratcher interface {
	// Scratch makes a file without a name, which is gone when it is closed.
	Scratch() (*os.File, error)
}

// Dump hands out everything: see sessions.Copies.
func (s *Store) Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	var told error // emit's, which is returned as it is
	err := s.back.Snapshot(ctx, func(r rows.Reader) error {
		d := &dumper{ctx: ctx, r: r, emit: func(one sessions.Record) error {
			if told = ctx.Err(); told == nil {
				told = emit(one)
			}
			return told
		}}
		return d.all(keys)
	})
	if told != nil {
		return told
	}
	return s.wrap("dump", err)
}

type dumper struct {
	ctx  context.Context
	r    rows.Reader
	emit func(sessions.Record) error
}

func (d *dumper) all(keys []channels.Key) error {
	whole := len(keys) == 0
	if whole {
		if err := d.store(); err != nil {
			return err
		}
		heads, err := collect(d.r.Heads(d.ctx, rows.ByKey, nil))
		if err != nil {
			return err
		}
		for _, h := range heads {
			keys = append(keys, h.Key)
		}
	}
	for _, k := range eachOnce(keys) {
		if err := d.chat(k); err != nil {
			return err
		}
	}
	if whole {
		return d.others()
	}
	return nil
}

func (d *dumper) store() error {
	rec := &sessions.StoreRecord{}
	for r, err := range d.r.Records(d.ctx, rows.Record{Store: &rows.Store{}}) {
		if err != nil {
			return err
		}
		rec.Name, rec.Days = r.Store.Name, r.Store.Days
	}
	for r, err := range d.r.Records(d.ctx, rows.Record{Mark: new("")}) {
		if err != nil {
			return err
		}
		rec.Erased = append(rec.Erased, *r.Mark)
	}
	return d.emit(sessions.Record{Store: rec})
}

// chat hands out a conversation and its queues.
func (d *dumper) chat(k channels.Key) error {
	h, known, err := d.r.Head(d.ctx, k)
	if err != nil || !known {
		return err
	}
	rec := &sessions.ConversationRecord{Key: k, Seq: h.Seq, MessageSeq: h.MessageSeq}
	if v := h.Conversation; v != nil {
		rec.Title, rec.Created, rec.Updated, rec.Settings = v.Title, rules.Time(v.Created), rules.Time(v.Updated), rules.Settings(v.Settings)
		begun, err := generations(d.ctx, d.r, k)
		if err != nil {
			return err
		}
		rec.Generations = withEnds(begun, h.MessageSeq)
		list, err := summaries(d.ctx, d.r, k)
		if err != nil {
			return err
		}
		for _, sum := range list {
			rec.Summaries = append(rec.Summaries, rules.Summary(sum))
		}
	}
	if err := d.emit(sessions.Record{Conversation: rec}); err != nil {
		return err
	}
	if err := d.messages(k); err != nil {
		return err
	}
	return d.queues(k)
}

func (d *dumper) messages(k channels.Key) error {
	var list []sessions.Message
	size := 0
	send := func() error {
		rec := &sessions.MessagesRecord{Key: k, Messages: list}
		list, size = nil, 0
		return d.emit(sessions.Record{Messages: rec})
	}
	for m, err := range d.r.Messages(d.ctx, k, rows.Said{Once: true}) {
		list, size = append(list, m), size+rules.Bytes(m)
		if err == nil && (len(list) == 100 || size >= rules.PartBytes) {
			err = send()
		}
		if err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return nil
	}
	return send()
}

func (d *dumper) queues(k channels.Key) error {
	inbox, err := collect(d.r.Inbox(d.ctx, k, rows.Queued{}))
	if err != nil {
		return err
	}
	told := map[string]bool{}
	for _, rec := range inbox {
		if rec.Turn != "" && !told[rec.Turn] {
			told[rec.Turn] = true
			if rec.Steps, err = d.r.Journal(d.ctx, k, rec.Turn); err != nil {
				return err
			}
		}
		if err := d.emit(sessions.Record{Inbox: &rec}); err != nil {
			return err
		}
	}
	for o, err := range d.r.Outbox(d.ctx, k, rows.Queued{}) {
		if err != nil {
			return err
		}
		rec := o.OutboxRecord
		rec.Created, rec.NotBefore = rules.Time(rec.Created), rules.Time(rec.NotBefore)
		if err := d.emit(sessions.Record{Outbox: &rec}); err != nil {
			return err
		}
	}
	return nil
}

// others hands out what belongs to no conversation.
func (d *dumper) others() error {
	for _, like := range []rows.Record{
		{Quarantined: &sessions.QuarantineRecord{}},
		{Fact: &sessions.FactRecord{}},
		{Pairing: &sessions.Pairing{}},
		{Job: &sessions.JobRecord{}},
		{Occurrence: &sessions.Occurrence{}},
	} {
		for r, err := range d.r.Records(d.ctx, like) {
			if err == nil {
				err = d.emit(sessions.Record{Quarantined: r.Quarantined, Fact: r.Fact, Pairing: r.Pairing, Job: r.Job, Occurrence: r.Occurrence})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
