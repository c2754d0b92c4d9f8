package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Accept takes a message in: see sessions.Inbox.
func (s *Store) Accept(ctx context.Context, e sessions.Entry) (a sessions.Acceptance, err error) {
	if err := rules.CheckEntry(e); err != nil {
		return a, s.wrap("accept", err)
	}
	e.Inbound = rules.Inbound(e.Inbound)
	err = s.update(ctx, "accept", func(st *step) (err error) {
		a, err = st.accept(e)
		return err
	}, e.Inbound.Key)
	if err != nil {
		return sessions.Acceptance{}, err
	}
	return a, nil
}

func (st *step) accept(e sessions.Entry) (a sessions.Acceptance, err error) {
	c, err := st.chat(e.Inbound.Key)
	if err != nil {
		return a, err
	}
	if rules.ByItselfNothing(e) && !c.known {
		return sessions.Acceptance{Outcome: sessions.Unknown}, nil
	}
	if seq, seen, err := st.seen(e.Inbound); seen || err != nil {
		return sessions.Acceptance{Outcome: sessions.Duplicate, Seq: seq, Waiting: c.waiting}, err
	}
	outcome, changed, err := st.outcome(c, e)
	if err != nil || outcome == sessions.Unknown {
		return sessions.Acceptance{Outcome: outcome, Waiting: c.waiting}, err
	}
	if outcome == sessions.Queued && e.MaxWaiting > 0 && c.waiting >= e.MaxWaiting {
		return a, fmt.Errorf("%w: %d messages wait", sessions.ErrFull, c.waiting)
	}
	if rules.Resets(e, outcome) && c.waiting == 0 {
		if err := st.reset(c, e.ResetBefore); err != nil {
			return a, err
		}
	}
	a.Outcome = outcome
	if a.Seq, err = st.enter(c, e, outcome, changed); err != nil {
		return a, err
	}
	if err := st.appendMessages(c, "", e.Append); err != nil {
		return a, err
	}
	if e.Control == sessions.ControlNew {
		if err := st.newGeneration(c); err != nil {
			return a, err
		}
	}
	err = st.addReplies(c, e.Replies)
	a.Waiting = c.waiting
	return a, err
}

// seen reports whether m was accepted before, and as what.
func (st *step) seen(m channels.Inbound) (seq int64, seen bool, err error) {
	if seq, seen, err = st.r.Accepted(st.ctx, m); seen || err != nil {
		return seq, seen, err
	}
	seen, err = st.marked(rules.Hash(rules.Dedupe(m)))
	return 0, seen, err
}

// outcome decides what to do with a message that was not accepted before, and
// finds the one that it changes.
func (st *step) outcome(c *chat, e sessions.Entry) (sessions.Outcome, *rows.In, error) {
	var earlier []*rows.In // what it may be about, newest first
	shown := map[string]bool{}
	if !e.Answered && e.Inbound.Edits != "" {
		var err error
		if earlier, err = pointers(st.r.Inbox(st.ctx, c.Key, rows.Queued{MessageID: e.Inbound.Edits, Newest: true})); err != nil {
			return "", nil, err
		}
		for _, r := range earlier {
			if shown[r.Turn], err = st.onlyShown(c, r); err != nil {
				return "", nil, err
			}
		}
	}
	outcome, i := rules.Outcome(e, len(earlier), func(i int) rules.Earlier {
		r := earlier[i]
		return rules.Earlier{Inbound: r.Inbound, State: r.State, Turn: r.Turn, Shown: shown[r.Turn], Gone: c.Conversation == nil}
	})
	if mark, ok := rules.ErasedMark(e.Inbound); ok && outcome == sessions.Queued && e.Inbound.Edits != "" {
		if erased, err := st.marked(mark); erased || err != nil {
			return sessions.Unknown, nil, err
		}
	}
	if i < 0 {
		return outcome, nil, nil
	}
	return outcome, earlier[i], nil
}

// onlyShown reports whether the turn of r has done nothing yet but show how far
// its answer is.
func (st *step) onlyShown(c *chat, r *rows.In) (bool, error) {
	if r.Turn == "" {
		return false, nil
	}
	steps, err := st.r.Journal(st.ctx, c.Key, r.Turn)
	return !slices.ContainsFunc(steps, func(s sessions.Step) bool { return s.Kind != sessions.StepPreview }), err
}

// enter stores e and does what its outcome asks for. It returns the seq of the
// message that e changes, if any, or its own.
func (st *step) enter(c *chat, e sessions.Entry, outcome sessions.Outcome, changed *rows.In) (int64, error) {
	r := st.addInbound(c, e, rules.StateFor(outcome))
	switch outcome {
	case sessions.Queued:
		return r.Seq, st.gather(c, r, e)
	case sessions.Replaced:
		changed.Inbound = rules.Edited(changed.Inbound, e.Inbound)
		changed.Rev++
		st.put(c, changed, true)
		return changed.Seq, nil
	case sessions.Withdrawn:
		if changed != nil {
			st.settle(c, changed, rules.InWithdrawn, rules.WhyWithdrawn(e.Inbound))
			return changed.Seq, nil
		}
	case sessions.Noted:
		return r.Seq, st.appendMessages(c, "", []sessions.Message{rules.Note(e.Inbound, changed.Inbound)})
	case sessions.Done:
		return r.Seq, st.control(c, e)
	}
	return r.Seq, nil
}

// addInbound stores e as a row.
func (st *step) addInbound(c *chat, e sessions.Entry, state string) *rows.In {
	if e.Origin == "" {
		e.Origin = sessions.OriginChat
	}
	c.Seq++
	r := &rows.In{Seq: c.Seq, Inbound: e.Inbound, Origin: e.Origin, State: state, Accepted: rules.Time(st.now)}
	if state == rules.InWaiting {
		c.waiting++
	}
	st.put(c, r, true)
	return r
}

// gather has a turn wait until the next part of r's album may have come. The
// first message that waits holds back those after it.
func (st *step) gather(c *chat, r *rows.In, e sessions.Entry) error {
	if e.Inbound.Album == "" || e.Quiet <= 0 {
		return nil
	}
	open, err := st.open(c, false)
	if err != nil {
		return err
	}
	var first, part *rows.In // of all that no turn has bound, and of the album
	for _, w := range append(open, r) {
		if w.Turn != "" {
			continue
		}
		first = cmp.Or(first, w)
		if w.Inbound.Album == r.Inbound.Album {
			part = cmp.Or(part, w)
		}
	}
	r.Due = earlier(st.now.Add(e.Quiet), part.Accepted.Add(e.Most))
	st.put(c, r, true)
	if held := earlier(r.Due, first.Accepted.Add(e.Most)); first.Attempts == 0 && held.After(first.Due) {
		first.Due = held
		st.put(c, first, false)
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// control fences the running turn of c and closes messages that wait.
func (st *step) control(c *chat, e sessions.Entry) error {
	if e.Control == sessions.ControlNone {
		return nil
	}
	st.changes.Fenced = append(st.changes.Fenced, c.Key)
	open, err := st.open(c, false)
	if err != nil {
		return err
	}
	var closed []sessions.Message
	for _, r := range open {
		if !rules.Ends(e, r.Seq, r.Turn) {
			continue
		}
		if r.Turn != "" {
			st.endJournal(c, r.Turn)
			r.Turn = ""
		}
		if r.Origin == sessions.OriginChat {
			closed = append(closed, sessions.UserMessage(r.Inbound))
		}
		st.settle(c, r, rules.InClosed, string(e.Control))
		st.endOccurrence(r, "skipped", "ended by /"+string(e.Control))
	}
	return st.appendMessages(c, "", closed)
}

// endJournal deletes the journal of a turn.
func (st *step) endJournal(c *chat, turn string) {
	if ch := st.touch(c); turn != "" && !slices.Contains(ch.Ended, turn) {
		ch.Ended = append(ch.Ended, turn)
	}
}

// endOccurrence gives the occurrence that fired r its outcome, when no turn will
// answer r. It does nothing if none fired it.
func (st *step) endOccurrence(r *rows.In, outcome, why string) {
	if r.Job != "" {
		st.occurred(sessions.Occurrence{Job: r.Job, Due: r.JobDue, Outcome: outcome, Why: why})
	}
}

// Quarantine keeps what nobody could read: see sessions.Inbox.
func (s *Store) Quarantine(ctx context.Context, a sessions.Quarantined) error {
	return s.update(ctx, "quarantine", func(st *step) error {
		here, err := asideOf(st.ctx, st.r, a.Channel, a.ID)
		if err != nil || here != nil {
			return err
		}
		a.Raw, a.Why = slices.Clone(a.Raw), rules.Text(a.Why)
		st.record(rows.Record{Quarantined: &sessions.QuarantineRecord{Quarantined: a, At: rules.Time(st.now)}})
		return nil
	})
}

// Resolve marks what was set aside as dropped: see sessions.Inbox.
func (s *Store) Resolve(ctx context.Context, channel, id string) error {
	return s.update(ctx, "resolve", func(st *step) error {
		here, err := asideOf(st.ctx, st.r, channel, id)
		if err != nil || here == nil || here.Dropped {
			return err
		}
		a := *here
		a.Dropped, a.Why = true, rules.CameLater+a.Why
		st.record(rows.Record{Quarantined: &a})
		return nil
	})
}

// reset begins a new generation if nothing was said since before. An empty
// generation is as good as a new one.
func (st *step) reset(c *chat, before time.Time) error {
	if v := c.Conversation; v != nil && v.From < c.MessageSeq && v.Updated.Before(before) {
		return st.newGeneration(c)
	}
	return nil
}
