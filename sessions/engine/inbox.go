package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Accept stores e, numbers it and wakes its key in one commit. A message is stored
// once for each (channel, Inbound.ID), however often it arrives. See
// [sessions.Outcome] for edits. Errors: ErrFull, a *sessions.ReplaceError.
func (s *Store) Accept(ctx context.Context, e sessions.Entry) (a sessions.Acceptance, err error) {
	err = cmp.Or(checkEntry(e), checkCounts(e.Counts))
	if err != nil {
		return a, s.wrap("accept", err)
	}
	e.Inbound = rules.Inbound(e.Inbound)
	err = s.update(ctx, "accept", func(st *step) (err error) {
		a, err = st.accept(e)
		return err
	}, e.Inbound.Key)
	s.noteAccept(ctx, err)
	return a, err
}

// checkEntry refuses invalid entries.
func checkEntry(e sessions.Entry) error {
	m, control := e.Inbound, e.Control
	switch {
	case m.Key.IsZero():
		return errors.New("the message has no key")
	case m.ID == "":
		return errors.New("the message has no id")
	case m.Deletes != "" && m.Edits == "":
		return errors.New("a deletion that names no message")
	case control != sessions.ControlNone && !e.Answered:
		return fmt.Errorf("control %q on an entry that is not answered", control)
	case len(e.Ends) > 0 && control != sessions.ControlStop:
		return fmt.Errorf("control %q cannot be for some messages only", control)
	case e.Replaces != 0 && (e.Answered || m.Edits != ""):
		return errors.New("only a new message for a turn can replace another")
	}
	return cmp.Or(
		known("control", control, sessions.ControlNone, sessions.ControlStop, sessions.ControlNew),
		known("deletion", m.Deletes, "", channels.DeletedBySender, channels.DeletedByAdmin),
		knownSource(e.Source),
	)
}

// onlyChanges reports whether e matters only if the message that it changes was
// accepted.
func onlyChanges(e sessions.Entry) bool {
	return e.Inbound.Edits != "" && !e.Answered && (e.Inbound.Deletes != "" || e.IfKnown)
}

func (st *step) accept(e sessions.Entry) (a sessions.Acceptance, err error) {
	c := st.chat(e.Inbound.Key)
	if onlyChanges(e) && !c.known {
		return sessions.Acceptance{Outcome: sessions.Unknown}, nil
	}
	seq, seen := st.seen(e.Inbound)
	if former := e.Inbound; !seen && e.FormerID != "" {
		former.ID = e.FormerID
		seq, seen = st.seen(former)
	}
	if seen {
		return sessions.Acceptance{Outcome: sessions.Duplicate, Seq: seq, Waiting: c.Waiting}, nil
	}
	if e.Waiting != nil && st.waitsOtherwise(c, e) {
		return a, sessions.ErrConflict
	}
	outcome, changed := st.outcome(c, e)
	if outcome == sessions.Unknown {
		return sessions.Acceptance{Outcome: outcome, Waiting: c.Waiting}, nil
	}
	if outcome == sessions.Queued && e.MaxWaiting > 0 && c.Waiting >= e.MaxWaiting {
		return a, fmt.Errorf("%w: %d messages wait", sessions.ErrFull, c.Waiting)
	}
	err = st.replace(c, &e)
	if err != nil {
		return a, err
	}
	st.reset(c, e)
	a.Outcome, a.Seq = outcome, st.enter(c, e, outcome, changed)
	st.appendMessages(c, "", e.Append, sessions.AuthorOf(e.Inbound))
	if e.Control == sessions.ControlNew {
		st.newGeneration(c)
	}
	st.addReplies(c, e.Replies)
	st.changes.Add = e.Counts
	a.Waiting = c.Waiting
	return a, nil
}

// seen reports whether m was accepted before, and its seq if the row is still there.
func (st *step) seen(m channels.Inbound) (seq int64, seen bool) {
	if st.err == nil {
		seq, seen, st.err = st.r.Accepted(st.ctx, m)
	}
	return seq, seen || st.marked(rules.Hash(rules.Dedupe(m)))
}

// outcome decides what to do with a message that was not accepted before, and finds
// the row that it changes. An edit of a message that was never accepted is queued as
// a message, and later changes may mean that one. So several rows can match the id;
// one that no turn has touched wins, then one that was withdrawn, then the newest.
func (st *step) outcome(c *chat, e sessions.Entry) (outcome sessions.Outcome, changed *rows.In) {
	m := e.Inbound
	switch {
	case e.Answered:
		return sessions.Done, nil
	case m.Edits == "":
		return sessions.Queued, nil
	case onlyChanges(e):
		outcome = sessions.Unknown
	default:
		outcome = sessions.Queued
	}
	for _, w := range pointers(st.inbox(c.Key, rows.QueueFilter{MessageID: m.Edits, Newest: true})) {
		if w.State == rules.InEdit || !w.Inbound.Sender.Is(m.Sender) {
			continue
		}
		mayChange := w.Turn == "" || (m.Deletes == "" || isParked(w, st.now)) && st.unread(c, w)
		untouched := w.State == rules.InWaiting && mayChange
		switch {
		case untouched && m.Deletes != "":
			return sessions.Withdrawn, w
		case untouched:
			return sessions.Replaced, w
		case w.State == rules.InWithdrawn, m.Deletes != "" && w.State == rules.InDropped:
			outcome, changed = sessions.Withdrawn, nil
		case changed != nil || outcome == sessions.Withdrawn: // a newer row decided
		case c.Conversation == nil && w.State != rules.InWaiting: // its conversation was deleted
			outcome = sessions.Unknown
		default:
			outcome, changed = sessions.Noted, w
		}
	}
	if mark, ok := rules.ErasedMark(m); ok && outcome == sessions.Queued && st.marked(mark) {
		return sessions.Unknown, nil
	}
	return outcome, changed
}

// unread reports whether the turn of r has journaled nothing that a model wrote after it
// read r.
func (st *step) unread(c *chat, r *rows.In) bool {
	return !slices.ContainsFunc(st.journal(c.Key, r.Turn), func(s sessions.Step) bool { return s.Kind.OfModel() })
}

// enter stores e and applies its outcome. It returns the seq of the waiting row that
// e changes, if any, or its own.
func (st *step) enter(c *chat, e sessions.Entry, outcome sessions.Outcome, changed *rows.In) int64 {
	m := e.Inbound
	switch outcome {
	case sessions.Queued:
		r := st.addInbound(c, e, rules.InWaiting)
		st.holdAlbum(c, r, e)
		return r.Seq
	case sessions.Replaced:
		st.addInbound(c, e, rules.InEdit)
		old := &changed.Inbound // keeps its id, seq and sender
		old.Text = m.Text
		old.Again = m.Again
		old.Prefix = m.Prefix
		old.Quote = m.Quote
		if len(m.Attachments) > 0 {
			old.Attachments = m.Attachments
		}
		changed.Rev++
		st.put(c, changed, true)
		return changed.Seq
	case sessions.Withdrawn:
		r := st.addInbound(c, e, rules.InEdit)
		if changed == nil {
			return r.Seq
		}
		why := "deleted by its sender before it was answered"
		if m.Deletes == channels.DeletedByAdmin {
			why = "deleted by an admin before it was answered"
		}
		st.leaveTurn(c, changed)
		st.settle(c, changed, rules.InWithdrawn, why)
		return changed.Seq
	}
	r := st.addInbound(c, e, rules.InDone)
	if outcome == sessions.Done {
		st.control(c, e)
		return r.Seq
	}
	// Noted. A deletion by an admin may not name the author.
	m.Sender.Name = cmp.Or(m.Sender.Name, changed.Inbound.Sender.Name)
	st.appendMessages(c, "", []sessions.Message{sessions.EditNote(m)}, sessions.AuthorOf(m))
	return r.Seq
}

// addInbound adds a row for e.
func (st *step) addInbound(c *chat, e sessions.Entry, state string) *rows.In {
	if e.Source == "" {
		e.Source = sessions.SourceChat
	}
	c.Seq++
	r := &rows.In{Seq: c.Seq, Inbound: e.Inbound, Source: e.Source, State: state, Accepted: rules.Time(st.now)}
	if state == rules.InWaiting {
		c.Waiting++
	}
	st.put(c, r, true)
	return r
}

// holdAlbum makes r and the first waiting message due when the next part of r's
// album can be expected. The first message that waits holds back those after it.
func (st *step) holdAlbum(c *chat, r *rows.In, e sessions.Entry) {
	if e.Inbound.Album == "" || e.Quiet <= 0 {
		return
	}
	var first, part *rows.In // the first unbound message, and the first of the album
	for _, w := range append(st.open(c, false), r) {
		if w.Turn != "" {
			continue
		}
		first = cmp.Or(first, w)
		if w.Inbound.Album == r.Inbound.Album {
			part = cmp.Or(part, w)
		}
	}
	r.Due = rules.Earliest(st.now.Add(e.Quiet), part.Accepted.Add(e.Most))
	st.put(c, r, true)
	if held := rules.Earliest(r.Due, first.Accepted.Add(e.Most)); first.Attempts == 0 && held.After(first.Due) {
		first.Due = held
		st.put(c, first, false)
	}
}

// waitsOtherwise reports whether the replies of e to a control tell something else than
// what it would close.
func (st *step) waitsOtherwise(c *chat, e sessions.Entry) bool {
	open := st.open(c, true)
	for _, seq := range e.Waiting {
		if bySeq(open, seq) == nil {
			return true
		}
	}
	newest := slices.Max(append([]int64{0}, e.Waiting...))
	return len(e.Ends) == 0 && slices.ContainsFunc(open, func(r *rows.In) bool {
		return r.Source == sessions.SourceChat && r.Seq > newest
	})
}

// control fences the running turn of c and closes waiting messages.
func (st *step) control(c *chat, e sessions.Entry) {
	if e.Control == sessions.ControlNone {
		return
	}
	st.changes.Fenced = append(st.changes.Fenced, c.Key)
	var closed []sessions.Message
	var authors []sessions.Owner
	for _, r := range st.open(c, false) {
		if len(e.Ends) > 0 && r.Turn == "" && !slices.Contains(e.Ends, r.Seq) {
			continue
		}
		if r.Turn != "" {
			st.endJournal(c, r.Turn)
			r.Turn = ""
		}
		if r.Source == sessions.SourceChat {
			closed = append(closed, sessions.UserMessage(r.Inbound))
			authors = append(authors, sessions.AuthorOf(r.Inbound))
		}
		st.settle(c, r, rules.InClosed, string(e.Control))
		st.endOccurrence(r, "ended by /"+string(e.Control))
	}
	st.appendMessages(c, "", closed, authors...)
}

// leaveTurn takes r out of its turn. If that has no other message, its journal ends.
func (st *step) leaveTurn(c *chat, r *rows.In) {
	if r.Turn == "" {
		return
	}
	if len(bound(st.open(c, true), r.Turn)) == 1 {
		st.endJournal(c, r.Turn)
	}
	r.Turn = ""
}

// endJournal deletes the journal of a turn.
func (st *step) endJournal(c *chat, turn string) {
	if ch := st.touch(c); turn != "" && !slices.Contains(ch.Ended, turn) {
		ch.Ended = append(ch.Ended, turn)
	}
}

// endOccurrence stores that the occurrence that fired r, if any, was skipped, because
// no turn will answer r.
func (st *step) endOccurrence(r *rows.In, why string) {
	if r.Job != "" {
		st.occurred(sessions.Occurrence{Job: r.Job, Due: r.JobDue, Outcome: "skipped", Why: why})
	}
}

// Quarantine stores a message that an adapter could not read, once for each (Channel,
// ID).
func (s *Store) Quarantine(ctx context.Context, a sessions.Quarantined) error {
	a.Raw, a.Why = slices.Clone(a.Raw), rules.Text(a.Why)
	if a.Channel == "" || a.ID == "" {
		return s.wrap("quarantine", errors.New("a message without channel or id"))
	}
	return s.update(ctx, "quarantine", func(st *step) error {
		if st.quarantine(a.Channel, a.ID) == nil {
			st.record(rows.Record{Quarantined: &sessions.QuarantineRecord{Quarantined: a, At: rules.Time(st.now)}})
		}
		return nil
	})
}

// Resolve takes a quarantined message off the operator's list because it arrived
// after all. It stays in the store as dropped, and its Why says so. Without such a
// message, Resolve does nothing.
func (s *Store) Resolve(ctx context.Context, channel, id string) error {
	return s.update(ctx, "resolve", func(st *step) error {
		if old := st.quarantine(channel, id); old != nil && !old.Dropped {
			a := *old
			a.Dropped, a.Why = true, "came later; before that: "+a.Why
			st.record(rows.Record{Quarantined: &a})
		}
		return nil
	})
}

// reset begins a new generation if the conversation was last updated before
// e.ResetBefore and no message waits. Edits and replacements belong to the generation of
// the message that they change, controls have their own rule, and an empty generation need not
// be replaced.
func (st *step) reset(c *chat, e sessions.Entry) {
	v := c.Conversation
	if v != nil && c.Waiting == 0 && e.Control == sessions.ControlNone && e.Inbound.Edits == "" && e.Replaces == 0 &&
		v.From < c.MessageSeq && v.Updated.Before(e.ResetBefore) {
		st.newGeneration(c)
	}
}
