package memory

import (
	"cmp"
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Join is part of [sessions.Lifetime]. It refuses conversations of two
// channels: what one network knows by an id the other does not.
func (s *Store) Join(ctx context.Context, from, to channels.Key) error {
	return s.update(ctx, "join", func(ch *change) error {
		if err := rules.CheckJoin(from, to); err != nil {
			return err
		}
		f, err := s.whole(from)
		if err != nil || from == to || f == nil || f.conv == nil && len(f.in)+len(f.out) == 0 {
			return err
		}
		r, err := s.chat(to)
		if err == nil {
			err = s.fill(r)
		}
		if err != nil {
			return err
		}
		ch.touch(f).anew, ch.touch(r).anew = true, true
		ch.fenced = append(ch.fenced, from, to)
		f.openItems(ch, true)
		r.openItems(ch, true)
		s.joinQueues(f, r)
		joinTranscripts(f, r)
		r.openItems(ch, false)
		return nil
	})
}

// openItems tells the dispatcher what c has to do, or that it is gone.
func (c *chat) openItems(ch *change, gone bool) {
	for _, r := range c.in {
		if it := r.item(); !it.Gone {
			it.Gone = gone
			ch.items = append(ch.items, it)
		}
	}
	for _, o := range c.out {
		if it := o.item(); !it.Gone {
			it.Gone = gone
			ch.items = append(ch.items, it)
		}
	}
}

// joinQueues puts the queues of f before those of r. All seqs are new, above
// every one that was handed out, so that nobody who remembers one hits another
// row with it.
func (s *Store) joinQueues(f, r *chat) {
	// Two turns of one name cannot share a journal: that of r begins anew.
	for turn, steps := range f.steps {
		for _, row := range r.bound(turn) {
			row.turn = ""
		}
		r.steps[turn] = steps
	}
	base := max(f.seq, r.seq)
	for _, row := range r.in {
		row.seq += base + f.seq
	}
	for _, o := range r.out {
		o.Seq += base + f.seq
	}
	for _, row := range f.in {
		row.seq += base
		row.inbound.Key = r.key
	}
	for _, o := range f.out {
		o.Seq += base
		o.Key = r.key
	}
	r.seq += base + f.seq
	r.in, r.out = slices.Concat(f.in, r.in), slices.Concat(f.out, r.out)
	for _, row := range r.in {
		s.seen.Put(Seen(row.inbound), int32(row.seq))
	}
	f.in, f.out, f.steps = nil, nil, map[string][]sessions.Step{}
}

// joinTranscripts puts what was said under f before what was said under r. The
// new seqs are above all that were handed out: a summary that is being made of
// either is refused when it comes.
func joinTranscripts(f, r *chat) {
	if f.conv == nil {
		return
	}
	a, b := f.conv, r.conv
	if b == nil {
		b = &conversation{}
	}
	base := max(f.msgSeq, r.msgSeq)
	joined := &conversation{
		generation: cmp.Or(b.generation, a.generation), from: base, title: cmp.Or(b.title, a.title),
		created: rules.Earliest(a.created, b.created), updated: rules.Latest(a.updated, b.updated), order: max(a.order, b.order),
		usage: a.usage, settings: rules.JoinSettings(a.settings, b.settings), messages: slices.Concat(a.messages, b.messages),
		count: a.count + b.count,
	}
	joined.usage.Add(b.usage)
	if len(b.summaries) == 0 {
		for _, sum := range a.summaries {
			sum.CoversSeq += base - (f.msgSeq - int64(len(a.messages)))
			sum.Generation = joined.generation
			joined.summaries = append(joined.summaries, sum)
		}
	}
	for i := range joined.messages {
		joined.messages[i].Seq = base + 1 + int64(i)
	}
	if joined.generation != "" {
		g := sessions.Generation{ID: joined.generation, FirstSeq: base + 1}
		for _, old := range slices.Concat(a.generations, b.generations) {
			g.Began = rules.Earliest(g.Began, old.Began)
		}
		joined.generations = []sessions.Generation{g}
	}
	f.conv, r.conv, r.msgSeq = nil, joined, base+int64(len(joined.messages))
}
