package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// inRow is one accepted message.
type inRow struct {
	n        int64 // the number in its id
	seq      int64
	rev      int
	inbound  channels.Inbound
	origin   sessions.Origin
	state    string
	turn     string // the turn it is bound to while it waits
	attempts int
	due      time.Time
	accepted time.Time
	why      string
	fired    *occurrence // of a heartbeat
}

type asideRow struct {
	id      string
	aside   sessions.Aside
	at      time.Time
	dropped bool
}

// erased says that nothing but the place of a is left.
func (a *asideRow) erased() bool { return a.dropped && a.aside.ID == "" && a.aside.Why == "" }

// id is how the operator names r.
func (r *inRow) id() string { return fmt.Sprintf("in-%d", r.n) }

// item is what the dispatcher has to know of r.
func (r *inRow) item() dispatch.Item {
	lane := dispatch.Chat
	if r.origin == sessions.OriginHeartbeat {
		lane = dispatch.Heartbeat
	}
	return dispatch.Item{
		Key: r.inbound.Key, Seq: r.seq, Lane: lane, Due: r.due, Turn: r.turn,
		Since: r.accepted, Gone: r.state != rules.InWaiting,
	}
}

// waiting counts the messages of c that have no answer.
func (c *chat) waiting() int {
	n := 0
	for _, r := range c.in {
		if r.state == rules.InWaiting {
			n++
		}
	}
	return n
}

// row finds an inbox row by its seq.
func (c *chat) row(seq int64) *inRow {
	for _, r := range slices.Backward(c.in) {
		if r.seq == seq {
			return r
		}
	}
	return nil
}

// Accept is part of [sessions.Inbox].
func (s *Store) Accept(ctx context.Context, e sessions.Entry) (a sessions.Acceptance, err error) {
	err = s.update(ctx, "accept", func(ch *change) (err error) {
		if err = rules.CheckEntry(e); err == nil {
			e.Inbound = rules.Inbound(e.Inbound)
			a, err = s.accept(ch, e)
		}
		return err
	})
	if err != nil {
		return sessions.Acceptance{}, err
	}
	return a, nil
}

func (s *Store) accept(ch *change, e sessions.Entry) (a sessions.Acceptance, err error) {
	if rules.ByItselfNothing(e) && s.chats[e.Inbound.Key] == nil {
		return sessions.Acceptance{Outcome: sessions.Unknown}, nil
	}
	c, err := s.chat(e.Inbound.Key)
	if err != nil {
		return a, err
	}
	if seq, seen := s.seen.Seq(Seen(e.Inbound)); seen || s.wasErased(e.Inbound) {
		return sessions.Acceptance{Outcome: sessions.Duplicate, Seq: int64(seq), Waiting: c.waiting()}, nil
	}
	outcome, edited, err := s.outcome(c, e)
	if err != nil || outcome == sessions.Unknown {
		return sessions.Acceptance{Outcome: outcome, Waiting: c.waiting()}, err
	}
	if outcome == sessions.Queued && e.MaxWaiting > 0 && c.waiting() >= e.MaxWaiting {
		return a, fmt.Errorf("%w: %d messages wait", sessions.ErrFull, c.waiting())
	}
	others, err := s.others(e.Replies)
	if err != nil {
		return a, err
	}
	if rules.Resets(e, outcome) && c.waiting() == 0 {
		s.reset(ch, c, e.ResetBefore)
	}
	a = sessions.Acceptance{Outcome: outcome, Seq: s.enter(ch, c, e, outcome, edited)}
	s.appendMessages(ch, c, "", e.Append)
	if e.Control == sessions.ControlNew {
		s.newGeneration(ch, c)
	}
	s.addReplies(ch, c, others, e.Replies)
	a.Waiting = c.waiting()
	return a, nil
}

// enter stores e and does what comes of it with the message that it changes, if
// any. It returns the seq of that one, or its own.
func (s *Store) enter(ch *change, c *chat, e sessions.Entry, outcome sessions.Outcome, edited *inRow) int64 {
	r := s.addInbound(ch, c, e)
	r.state = rules.StateFor(outcome)
	switch outcome {
	case sessions.Queued:
		ch.in(c, r)
	case sessions.Replaced:
		edited.inbound = rules.Edited(edited.inbound, e.Inbound)
		edited.rev++
		ch.touch(c).row(edited)
		return edited.seq
	case sessions.Withdrawn:
		if edited != nil {
			edited.state, edited.why = rules.InWithdrawn, rules.WhyWithdrawn(e.Inbound)
			ch.in(c, edited)
			return edited.seq
		}
	case sessions.Noted:
		s.appendMessages(ch, c, "", []sessions.Message{rules.Note(e.Inbound, edited.inbound)})
	case sessions.Done:
		s.control(ch, c, e)
	}
	return r.seq
}

// wasErased reports whether m was accepted and erased.
func (s *Store) wasErased(m channels.Inbound) bool {
	return len(s.erased) > 0 && s.erased[rules.Hash(rules.Dedupe(m))]
}

// outcome decides what to do with a message that was not accepted before, and
// finds the one that it changes.
func (s *Store) outcome(c *chat, e sessions.Entry) (sessions.Outcome, *inRow, error) {
	var earlier []*inRow // what it may be about, newest first
	if !e.Answered && e.Inbound.Edits != "" {
		if err := s.fill(c); err != nil {
			return "", nil, err
		}
		for _, r := range slices.Backward(c.in) {
			if r.inbound.MessageID == e.Inbound.Edits {
				earlier = append(earlier, r)
			}
		}
	}
	outcome, i := rules.Outcome(e, len(earlier), func(i int) rules.Earlier {
		return rules.Earlier{Inbound: earlier[i].inbound, State: earlier[i].state, Turn: earlier[i].turn, Gone: c.conv == nil}
	})
	if mark, ok := rules.ErasedMark(e.Inbound); ok && outcome == sessions.Queued && e.Inbound.Edits != "" && s.erased[mark] {
		return sessions.Unknown, nil, nil
	}
	if i < 0 {
		return outcome, nil, nil
	}
	return outcome, earlier[i], nil
}

// addInbound stores e as a waiting row.
func (s *Store) addInbound(ch *change, c *chat, e sessions.Entry) *inRow {
	if e.Origin == "" {
		e.Origin = sessions.OriginChat
	}
	n := ch.touch(c)
	c.seq++
	s.lastIn++
	r := &inRow{
		n: s.lastIn, seq: c.seq,
		inbound: e.Inbound, origin: e.Origin, state: rules.InWaiting, accepted: ch.now,
	}
	n.row(r)
	c.in = append(c.in, r)
	s.seen.Put(Seen(e.Inbound), int32(r.seq))
	return r
}

// control fences the running turn of c and closes what waits.
func (s *Store) control(ch *change, c *chat, e sessions.Entry) {
	control := e.Control
	if control == sessions.ControlNone {
		return
	}
	ch.fenced = append(ch.fenced, c.key)
	var closed []sessions.Message
	for _, r := range c.in {
		if r.state != rules.InWaiting || !rules.Ends(e, r.seq, r.turn) {
			continue
		}
		r.state, r.why = rules.InClosed, string(control)
		if r.turn != "" {
			ch.end(c, r.turn)
			r.turn = ""
		}
		if r.origin == sessions.OriginChat {
			closed = append(closed, sessions.UserMessage(r.inbound))
		}
		r.fired.end(ch, "skipped", "ended by /"+string(control))
		ch.in(c, r)
	}
	s.appendMessages(ch, c, "", closed)
}

// SetAside is part of [sessions.Inbox].
func (s *Store) SetAside(ctx context.Context, a sessions.Aside) error {
	return s.update(ctx, "set aside", func(ch *change) error {
		for _, old := range s.asides {
			if old.aside.Channel == a.Channel && old.aside.ID == a.ID {
				return nil
			}
		}
		a.Raw, a.Why = slices.Clone(a.Raw), rules.Text(a.Why)
		row := &asideRow{id: fmt.Sprintf("aside-%d", len(s.asides)+1), aside: a, at: ch.now}
		s.asides = append(s.asides, row)
		ch.aside(row)
		return nil
	})
}

// Settle is part of [sessions.Inbox].
func (s *Store) Settle(ctx context.Context, channel, id string) error {
	return s.update(ctx, "settle", func(ch *change) error {
		for _, a := range s.asides {
			if a.aside.Channel == channel && a.aside.ID == id && !a.dropped {
				a.dropped, a.aside.Why = true, rules.CameLater+a.aside.Why
				ch.aside(a)
			}
		}
		return nil
	})
}
