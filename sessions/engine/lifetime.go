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

// Delete removes the conversation's transcript, summaries and settings, and the
// finished rows of its queues: answered, closed or withdrawn messages, and sent, dead
// or dropped deliveries. It keeps hashes of these messages: one that comes again is a
// Duplicate, and a change of one is Unknown. Waiting messages and unsent deliveries
// are kept. It returns ErrNotFound if k has nothing else; waiting messages alone are
// not a conversation.
func (s *Store) Delete(ctx context.Context, k channels.Key) error {
	return s.update(ctx, "delete", func(st *step) error {
		c := st.chat(k)
		if c.Conversation == nil && !(c.known && st.hasFinished(c)) {
			return notFound(k)
		}
		st.deleteConversation(c)
		return nil
	}, k)
}

// hasFinished reports whether a row of c's queues is finished.
func (st *step) hasFinished(c *chat) bool {
	for r := range st.inbox(c.Key, rows.QueueFilter{Light: true}) {
		if r.State != rules.InWaiting {
			return true
		}
	}
	for o := range st.outbox(c.Key, rows.QueueFilter{}) {
		if !rules.Unsent(o.State) {
			return true
		}
	}
	return false
}

// deleteConversation deletes the transcript of c and the finished rows of its queues.
// The backend keeps marks of the messages.
func (st *step) deleteConversation(c *chat) {
	ch := st.touch(c)
	ch.Cleared, ch.DropFinished = true, true
	c.Conversation = nil
}

// idle reports whether c has no waiting message, unsent delivery or live claim. Dead
// deliveries do not count.
func (st *step) idle(c *chat) bool {
	return c.Waiting == 0 && c.Claim == 0 && first(st.outbox(c.Key, rows.QueueFilter{Unsent: true})) == nil
}

// Expire deletes, as [Store.Delete] does, at most limit conversations that were last
// updated before the given time, oldest first, and returns their keys. It keeps a
// conversation with a waiting message, an unfinished delivery or a live claim. If it
// finds fewer than limit, it also deletes the old, finished rows of keys without a
// conversation, limit keys a step, and does not return those keys. So a call that
// returns fewer than limit keys has left nothing to expire. Keys returned with an
// error are deleted, too.
//
// An update before 2020 comes from a clock that had not been set, or from another
// program, so its age is unknown. If before is later than 2020, Expire treats such a
// conversation as updated now.
func (s *Store) Expire(ctx context.Context, before time.Time, limit int) (gone []channels.Key, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.update(ctx, "expire", func(st *step) error {
		gone = st.expire(before, limit)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(gone) < limit {
		err = s.expireRest(ctx, before, limit)
	}
	return gone, err
}

// earliestClock is before the first version of Dragoman. An earlier update was noted
// by a clock that had not been set, for example on a machine without a battery for
// it, or comes from another program.
var earliestClock = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func (st *step) expire(before time.Time, limit int) (gone []channels.Key) {
	var old []rows.Head
	for h := range st.heads(rows.Oldest) {
		if !rules.Time(h.Conversation.Updated).Before(before) {
			break
		}
		old = append(old, h)
	}
	for _, h := range old {
		c := st.chat(h.Key)
		if c.Conversation == nil { // a read failed
			break
		}
		if rules.Time(c.Conversation.Updated).Before(earliestClock) && before.After(earliestClock) {
			st.touch(c)
			st.updated(c.Conversation)
			continue
		}
		if len(gone) == limit {
			break
		}
		if st.idle(c) {
			st.deleteConversation(c)
			gone = append(gone, c.Key)
		}
	}
	return gone
}

// expireRest deletes old finished rows of keys without a conversation: commands,
// results of jobs, deliveries that were unsent when their conversation was deleted.
// Each step looks at limit keys, so that other writes can come in between.
func (s *Store) expireRest(ctx context.Context, before time.Time, limit int) error {
	var rest []channels.Key
	v := s.view(ctx)
	for h := range v.heads(rows.ByKey) {
		if h.Conversation == nil && h.Seq > 0 {
			rest = append(rest, h.Key)
		}
	}
	if v.err != nil {
		return s.wrap("expire", v.err)
	}
	for some := range slices.Chunk(rest, limit) {
		err := s.update(ctx, "expire", func(st *step) error {
			for _, k := range some {
				if c := st.chat(k); c.known && c.Conversation == nil && st.idle(c) && st.queuesBefore(c, before) {
					st.deleteConversation(c)
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

// queuesBefore reports whether the queues of c have rows, all from before.
func (st *step) queuesBefore(c *chat, before time.Time) bool {
	var last time.Time
	q := rows.QueueFilter{Newest: true, Light: true}
	for r := range st.inbox(c.Key, q) {
		last = rules.Latest(last, r.Accepted)
	}
	for o := range st.outbox(c.Key, q) {
		last = rules.Latest(last, o.Created)
	}
	return !last.IsZero() && last.Before(before)
}

// hasRows reports whether c has a conversation or rows in its queues.
func (st *step) hasRows(c *chat) bool {
	return c.Conversation != nil || c.known &&
		(first(st.inbox(c.Key, rows.QueueFilter{Light: true})) != nil || first(st.outbox(c.Key, rows.QueueFilter{})) != nil)
}

// Join puts everything of from before everything of to, with new seqs, as one
// generation: that of to. Waiting messages and unsent deliveries move too, in order.
// The summary of from is kept if to has none. A summary of to is dropped, because it
// does not cover the messages that are now before it. Running turns of both are
// fenced and run again. If from is empty, Join does nothing.
func (s *Store) Join(ctx context.Context, from, to channels.Key) error {
	return s.update(ctx, "join", func(st *step) error {
		switch {
		case from.Channel() != to.Channel():
			return errors.New("the conversations are on two channels")
		case from == to:
			return nil
		}
		if f := st.chat(from); st.hasRows(f) {
			st.changes.Fenced = append(st.changes.Fenced, from, to)
			st.join(f, st.chat(to))
		}
		return nil
	}, from, to)
}

// join puts everything of f before everything of r. All seqs are new and above those
// that either key handed out, so a remembered seq never names another row, and a
// summary that is being made of either is refused.
func (st *step) join(f, r *chat) {
	base := max(f.Seq, r.Seq)
	own, theirs := rows.Move{From: r.Key, Queues: base + f.Seq}, rows.Move{From: f.Key, Queues: base}
	ch := st.touch(r)
	r.Seq += base + f.Seq
	r.Waiting, f.Waiting = r.Waiting+f.Waiting, 0
	if f.Conversation != nil {
		own.Message, theirs.Message = st.joinTranscripts(f, r)
	}
	ch.Moves = []rows.Move{own, theirs}
	st.touch(f).Cleared = true
	f.Conversation = nil
}

// joinTranscripts sets the head of the joined transcript, and returns by how much the
// seqs of r's (own) and f's (theirs) messages grow.
func (st *step) joinTranscripts(f, r *chat) (own, theirs int64) {
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
		Erasures: a.Erasures + b.Erasures,
	}
	joined.Usage.Add(b.Usage)
	joined.Owners = joinOwners(a, theirs, b, own)
	ch := st.touch(r)
	ch.Reset = true
	if a.Covers > 0 && b.Covers == 0 { // else none is kept: r's would not cover f's messages
		for _, sum := range st.summaries(f.Key) {
			sum.CoversSeq += theirs
			sum.Generation = joined.Generation
			ch.Summaries, joined.Covers = append(ch.Summaries, sum), sum.CoversSeq
		}
	}
	if joined.Generation != "" {
		g := sessions.Generation{ID: joined.Generation, FirstSeq: base + 1}
		for _, k := range []channels.Key{f.Key, r.Key} {
			for _, old := range st.generations(k) {
				g.Began = rules.Earliest(g.Began, old.Began)
			}
		}
		ch.Begun = []sessions.Generation{g}
	}
	r.Conversation, r.MessageSeq = joined, base+int64(joined.Messages)
	return own, theirs
}

// joinSettings merges the settings of two conversations: those of to win.
func joinSettings(from, to sessions.Settings) sessions.Settings {
	joined := sessions.Settings{
		Model: cmp.Or(to.Model, from.Model), System: cmp.Or(to.System, from.System), Agent: cmp.Or(to.Agent, from.Agent), Reasoning: cmp.Or(to.Reasoning, from.Reasoning),
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
