package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Delete ends a conversation: see sessions.Archive.
func (s *Store) Delete(ctx context.Context, k channels.Key) error {
	return s.update(ctx, "delete", func(st *step) error {
		c, err := st.chat(k)
		if err != nil {
			return err
		}
		any := c.Conversation != nil
		if !any && c.known {
			if any, err = st.settled(c); err != nil {
				return err
			}
		}
		if !any {
			return notFound(k)
		}
		st.forget(c)
		return nil
	}, k)
}

// settled reports whether a row of c's queues is done.
func (st *step) settled(c *chat) (bool, error) {
	for r, err := range st.r.Inbox(st.ctx, c.Key, rows.Queued{Light: true}) {
		if err != nil || r.State != rules.InWaiting {
			return err == nil, err
		}
	}
	for o, err := range st.r.Outbox(st.ctx, c.Key, rows.Queued{}) {
		if err != nil || !rules.Unsent(o.State) {
			return err == nil, err
		}
	}
	return false, nil
}

// forget deletes the transcript of c and what is done of its queues. That its
// messages were accepted stays known.
func (st *step) forget(c *chat) {
	ch := st.touch(c)
	ch.Cleared, ch.Settled = true, true
	c.Conversation = nil
}

// idle says that nothing of c waits or is under way. What is dead does not hold
// up the end of a conversation.
func (st *step) idle(c *chat) (bool, error) {
	if c.waiting > 0 || c.Claim != 0 {
		return false, nil
	}
	for _, err := range st.r.Outbox(st.ctx, c.Key, rows.Queued{Unsent: true}) {
		return false, err
	}
	return true, nil
}

// Expire ends old conversations: see sessions.Lifetime.
func (s *Store) Expire(ctx context.Context, before time.Time, limit int) (gone []channels.Key, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.update(ctx, "expire", func(st *step) (err error) {
		gone, err = st.expire(before, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(gone) < limit {
		err = s.expireRest(ctx, before, limit)
	}
	return gone, err
}

// plausible is the first moment that a clock may say. Dragoman is younger: an
// update before it was noted by a clock that had not been set, for example on a
// machine without a battery for it, or comes from another program.
var plausible = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func (st *step) expire(before time.Time, limit int) (gone []channels.Key, err error) {
	var old []rows.Head
	for h, err := range st.r.Heads(st.ctx, rows.Oldest, nil) {
		if err != nil {
			return nil, err
		}
		if !rules.Time(h.Conversation.Updated).Before(before) {
			break
		}
		old = append(old, h)
	}
	for _, h := range old {
		c, err := st.chat(h.Key)
		if err != nil {
			return nil, err
		}
		if rules.Time(c.Conversation.Updated).Before(plausible) && before.After(plausible) {
			st.touch(c)
			st.updated(c.Conversation)
			continue
		}
		if len(gone) == limit {
			break
		}
		if idle, err := st.idle(c); err != nil || !idle {
			if err != nil {
				return nil, err
			}
			continue
		}
		st.forget(c)
		gone = append(gone, c.Key)
	}
	return gone, nil
}

// expireRest deletes what was last asked or answered before where there is no
// conversation: commands, what a job told, what was on its way when a
// conversation was deleted. Each step looks at limit keys, so that others write
// in between.
func (s *Store) expireRest(ctx context.Context, before time.Time, limit int) error {
	var rest []channels.Key
	for h, err := range s.back.Heads(ctx, rows.ByKey, nil) {
		if err != nil {
			return s.wrap("expire", err)
		}
		if h.Conversation == nil && h.Seq > 0 {
			rest = append(rest, h.Key)
		}
	}
	for some := range slices.Chunk(rest, limit) {
		err := s.update(ctx, "expire", func(st *step) error {
			for _, k := range some {
				if err := st.expireQueues(k, before); err != nil {
					return err
				}
			}
			return nil
		}, some...)
		if err != nil {
			return err
		}
	}
	return nil
}

func (st *step) expireQueues(k channels.Key, before time.Time) error {
	c, err := st.chat(k)
	if err != nil || !c.known || c.Conversation != nil {
		return err
	}
	if idle, err := st.idle(c); err != nil || !idle {
		return err
	}
	last, err := st.lastQueued(c)
	if err != nil || last.IsZero() || !last.Before(before) {
		return err
	}
	st.forget(c)
	return nil
}

// lastQueued is when the newest row of c's queues came; zero if there is none.
func (st *step) lastQueued(c *chat) (last time.Time, err error) {
	q := rows.Queued{Newest: true, Light: true}
	for r, err := range st.r.Inbox(st.ctx, c.Key, q) {
		if err != nil {
			return last, err
		}
		last = rules.Latest(last, r.Accepted)
	}
	for o, err := range st.r.Outbox(st.ctx, c.Key, q) {
		if err != nil {
			return last, err
		}
		last = rules.Latest(last, o.Created)
	}
	return last, nil
}

// any reports whether something is stored of c beyond its numbers.
func (st *step) any(c *chat) (bool, error) {
	if c.Conversation != nil || !c.known {
		return c.Conversation != nil, nil
	}
	for _, err := range st.r.Inbox(st.ctx, c.Key, rows.Queued{Light: true}) {
		return err == nil, err
	}
	for _, err := range st.r.Outbox(st.ctx, c.Key, rows.Queued{}) {
		return err == nil, err
	}
	return false, nil
}

// Join makes one conversation of two: see sessions.Lifetime.
func (s *Store) Join(ctx context.Context, from, to channels.Key) error {
	return s.update(ctx, "join", func(st *step) error {
		switch {
		case from.IsZero() || to.IsZero():
			return errors.New("a key is missing")
		case from.Channel() != to.Channel():
			return errors.New("the conversations are on two channels")
		case from == to:
			return nil
		}
		f, err := st.chat(from)
		if err != nil {
			return err
		}
		if any, err := st.any(f); err != nil || !any {
			return err
		}
		r, err := st.chat(to)
		if err != nil {
			return err
		}
		st.changes.Fenced = append(st.changes.Fenced, from, to)
		return st.join(f, r)
	}, from, to)
}

// join puts all of f before all of r. All seqs are new, above every one that was
// handed out, so that nobody who remembers one hits another row with it: a
// summary that is being made of either is refused when it comes.
func (st *step) join(f, r *chat) error {
	base := max(f.Seq, r.Seq)
	own, theirs := rows.Move{From: r.Key, Queues: base + f.Seq}, rows.Move{From: f.Key, Queues: base}
	ch := st.touch(r)
	if err := st.joinJournals(f, r, own.Queues); err != nil {
		return err
	}
	r.Seq += base + f.Seq
	r.waiting, f.waiting = r.waiting+f.waiting, 0
	if f.Conversation != nil {
		var err error
		if own.Message, theirs.Message, err = st.joinTranscripts(f, r); err != nil {
			return err
		}
	}
	ch.Moves = []rows.Move{own, theirs}
	st.touch(f).Cleared = true
	f.Conversation = nil
	return nil
}

// joinJournals lets go of the turns of r whose names turns of f have: two turns
// of one name cannot share a journal, and that of f takes the place of r's.
func (st *step) joinJournals(f, r *chat, by int64) error {
	theirs, err := st.open(f, true)
	if err != nil {
		return err
	}
	mine, err := st.open(r, true)
	if err != nil {
		return err
	}
	for _, row := range mine {
		if row.Turn != "" && len(bound(theirs, row.Turn)) > 0 {
			row.Turn = ""
			row.Seq += by
			st.put(r, row, false)
		}
	}
	return nil
}

// joinTranscripts makes the head of what f and r said, and returns by how much
// the seqs of r's and of f's messages grow.
func (st *step) joinTranscripts(f, r *chat) (own, theirs int64, err error) {
	a, b := f.Conversation, r.Conversation
	if b == nil {
		b = &rows.Conversation{}
	}
	base := max(f.MessageSeq, r.MessageSeq)
	theirs = base - (f.MessageSeq - int64(a.Messages))
	own = base + int64(a.Messages) - (r.MessageSeq - int64(b.Messages))
	joined := &rows.Conversation{
		Generation: cmp.Or(b.Generation, a.Generation), From: base, Title: cmp.Or(b.Title, a.Title),
		Created: rules.Earliest(a.Created, b.Created), Updated: rules.Latest(a.Updated, b.Updated),
		Messages: a.Messages + b.Messages, Usage: a.Usage, Settings: joinSettings(a.Settings, b.Settings),
	}
	joined.Usage.Add(b.Usage)
	ch := st.touch(r)
	ch.Anew = true
	if err := st.joinSummaries(f, ch, joined, b.Covers > 0, theirs); err != nil {
		return 0, 0, err
	}
	if joined.Generation != "" {
		g := sessions.Generation{ID: joined.Generation, FirstSeq: base + 1}
		for _, k := range []channels.Key{f.Key, r.Key} {
			all, err := generations(st.ctx, st.r, k)
			if err != nil {
				return 0, 0, err
			}
			for _, old := range all {
				g.Began = rules.Earliest(g.Began, old.Began)
			}
		}
		ch.Begun = []sessions.Generation{g}
	}
	r.Conversation, r.MessageSeq = joined, base+int64(joined.Messages)
	return own, theirs, nil
}

// joinSummaries takes over those of f, unless r has some: what those cover is not
// all that comes before them any more.
func (st *step) joinSummaries(f *chat, ch *rows.Chat, joined *rows.Conversation, has bool, by int64) error {
	if has || f.Conversation.Covers == 0 {
		return nil
	}
	list, err := summaries(st.ctx, st.r, f.Key)
	for _, sum := range list {
		sum.CoversSeq += by
		sum.Generation = joined.Generation
		ch.Summaries, joined.Covers = append(ch.Summaries, sum), sum.CoversSeq
	}
	return err
}

// joinSettings are those of two conversations that become one: to comes first,
// and from fills the gaps.
func joinSettings(from, to sessions.Settings) sessions.Settings {
	joined := sessions.Settings{
		Model: cmp.Or(to.Model, from.Model), System: cmp.Or(to.System, from.System), Reasoning: cmp.Or(to.Reasoning, from.Reasoning),
		Tags: slices.Concat(from.Tags, to.Tags), Metadata: map[string]json.RawMessage{},
	}
	maps.Copy(joined.Metadata, from.Metadata)
	maps.Copy(joined.Metadata, to.Metadata)
	if one, two := rules.Foreign(from), rules.Foreign(to); one != nil && two != nil {
		maps.Copy(one, two)
		rules.SetForeign(&joined, one)
	}
	return rules.Settings(joined)
}
