package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Pending is part of [sessions.Work].
func (s *Store) Pending(ctx context.Context, cl sessions.Claim, most int) (p sessions.Pending, err error) {
	err = s.claimedRead(ctx, "pending", cl, func(c *chat) error {
		sel, err := s.work.Choose(cl, most)
		if err != nil {
			return err
		}
		p.Turn, p.More = sel.Turn, sel.More
		for _, it := range sel.Items {
			p.Messages = append(p.Messages, c.row(it.Seq).waiting())
		}
		for _, step := range c.steps[sel.Turn] {
			p.Steps = append(p.Steps, rules.Step(step, step.At))
		}
		return nil
	})
	return p, err
}

// Running is part of [sessions.Feeds].
func (s *Store) Running(ctx context.Context, k channels.Key) (p sessions.Pending, err error) {
	err = s.read(ctx, "running", func() error {
		c, err := s.peek(k)
		if c == nil {
			return err
		}
		for _, r := range c.in {
			if r.state != rules.InWaiting || len(c.steps[r.turn]) == 0 || p.Turn != "" && p.Turn != r.turn {
				continue
			}
			p.Turn = r.turn
			p.Messages = append(p.Messages, r.waiting())
		}
		for _, step := range c.steps[p.Turn] {
			p.Steps = append(p.Steps, rules.Step(step, step.At))
		}
		return nil
	})
	return p, err
}

// waiting is a copy of r.
func (r *inRow) waiting() sessions.Waiting {
	return sessions.Waiting{
		Seq: r.seq, Rev: r.rev, Inbound: rules.Inbound(r.inbound), Origin: r.origin,
		Attempts: r.attempts, Accepted: r.accepted,
	}
}

// current finds the rows that a turn answers and refuses those that are not
// as the turn saw them.
func (c *chat) current(turn string, answers []sessions.Answered) ([]*inRow, error) {
	var rows []*inRow
	for _, a := range answers {
		r := c.row(a.Seq)
		switch {
		case r == nil || r.state != rules.InWaiting:
			return nil, fmt.Errorf("%w: message %d does not wait any more", sessions.ErrConflict, a.Seq)
		case r.rev != a.Rev:
			return nil, fmt.Errorf("%w: message %d was edited", sessions.ErrConflict, a.Seq)
		case r.turn != "" && r.turn != turn:
			return nil, fmt.Errorf("%w: message %d belongs to another turn", sessions.ErrConflict, a.Seq)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// bound lists the rows that belong to turn.
func (c *chat) bound(turn string) []*inRow {
	var rows []*inRow
	for _, r := range c.in {
		if turn != "" && r.turn == turn && r.state == rules.InWaiting {
			rows = append(rows, r)
		}
	}
	return rows
}

// AppendStep is part of [sessions.Work].
func (s *Store) AppendStep(ctx context.Context, cl sessions.Claim, turn string, answers []sessions.Answered, step sessions.Step) error {
	return s.claimed(ctx, "append step", cl, func(ch *change, c *chat) error {
		rows, err := c.current(turn, answers)
		if err != nil {
			return err
		}
		if turn == "" || len(rows)+len(c.bound(turn)) == 0 {
			return errors.New("a journal needs a turn and a message that it belongs to")
		}
		for _, r := range rows {
			r.turn = turn
			ch.in(c, r)
		}
		ch.journal(c, turn, rules.Step(step, ch.now))
		return nil
	})
}

// CommitTurn is part of [sessions.Work].
func (s *Store) CommitTurn(ctx context.Context, cl sessions.Claim, t sessions.Turn) error {
	return s.claimed(ctx, "commit turn", cl, func(ch *change, c *chat) error {
		rows, err := c.current(t.ID, t.Answers)
		if err != nil {
			return err
		}
		others, err := s.others(t.Replies)
		if err != nil {
			return err
		}
		for _, r := range c.bound(t.ID) {
			// What the turn took on and did not answer waits for another.
			r.turn = ""
			ch.in(c, r)
		}
		ch.end(c, t.ID)
		for _, r := range rows {
			r.state = rules.InDone
			ch.in(c, r)
		}
		s.appendMessages(ch, c, t.ID, t.Messages)
		s.addReplies(ch, c, others, t.Replies)
		if t.Occurrence != nil {
			s.record(ch, *t.Occurrence)
		}
		return nil
	})
}

// Postpone is part of [sessions.Work].
func (s *Store) Postpone(ctx context.Context, cl sessions.Claim, seqs []int64, until time.Time, why string) error {
	return s.claimed(ctx, "postpone", cl, func(ch *change, c *chat) error {
		var rows []*inRow
		for _, seq := range seqs {
			r := c.row(seq)
			if r == nil || r.state != rules.InWaiting {
				return fmt.Errorf("%w: message %d does not wait any more", sessions.ErrConflict, seq)
			}
			// A turn is one thing: all of its messages wait for it.
			for _, r := range append(c.bound(r.turn), r) {
				if !slices.Contains(rows, r) {
					rows = append(rows, r)
				}
			}
		}
		for _, r := range rows {
			r.attempts++
			r.due, r.why = rules.Time(until), rules.Text(why)
			ch.in(c, r)
		}
		return nil
	})
}
