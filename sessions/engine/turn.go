package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Pending reads the next task of cl: an interrupted turn, or else the due messages in
// order, at most most of them. An entry of SourceHeartbeat is always returned alone.
func (s *Store) Pending(ctx context.Context, cl sessions.Claim, most int) (p sessions.Pending, err error) {
	err = s.live(ctx, "pending", cl, func(v *view) {
		open := pointers(v.inbox(cl.Key, rows.QueueFilter{Open: true}))
		var chosen []*rows.In
		chosen, p.Turn, p.More = choose(open, s.now(), most)
		for _, r := range chosen {
			p.Messages = append(p.Messages, waiting(r))
		}
		if p.Turn != "" {
			p.Steps = v.journal(cl.Key, p.Turn)
		}
	})
	return p, err
}

// Waiting reads all waiting messages of cl's inbox, in order, including bound and
// postponed ones.
func (s *Store) Waiting(ctx context.Context, cl sessions.Claim) (list []rows.In, err error) {
	err = s.live(ctx, "waiting", cl, func(v *view) {
		for r := range v.inbox(cl.Key, rows.QueueFilter{Open: true}) {
			list = append(list, waiting(&r))
		}
	})
	return list, err
}

// choose selects the messages to answer now: a whole interrupted turn, or else the
// due messages in order, a heartbeat always alone. A person's message that is not due
// holds back later ones, so that no answer overtakes another. Heartbeats are not held
// back and hold nothing back.
func choose(open []*rows.In, now time.Time, most int) (chosen []*rows.In, turn string, more int) {
	var due []*rows.In
	late := map[string]bool{}
	held := false
	for _, r := range open {
		isLate, isJob := r.Due.After(now), r.Source == sessions.SourceHeartbeat
		late[r.Turn] = late[r.Turn] || isLate
		held = held || isLate && !isJob
		if !isLate && (isJob || !held) {
			due = append(due, r)
		}
	}
	for _, r := range open {
		if r.Turn != "" && !late[r.Turn] {
			chosen = bound(open, r.Turn)
			return chosen, r.Turn, len(due) - len(bound(due, r.Turn))
		}
	}
	for _, r := range due {
		isJob := r.Source == sessions.SourceHeartbeat
		if len(chosen) > 0 && (isJob || most > 0 && len(chosen) >= most) {
			break
		}
		chosen = append(chosen, r)
		if isJob {
			break
		}
	}
	return chosen, "", len(due) - len(chosen)
}

// Running returns the turn of k that has a journal, whether it runs now or will
// resume after a crash: its messages, in order, and the journal. Turn is "" if there
// is none.
func (s *Store) Running(ctx context.Context, k channels.Key) (p sessions.Pending, err error) {
	v := s.viewOf(ctx, k)
	open := pointers(v.inbox(k, rows.QueueFilter{Open: true}))
	for _, r := range open {
		if r.Turn == "" || p.Turn != "" {
			continue
		}
		p.Steps = v.journal(k, r.Turn)
		if len(p.Steps) == 0 {
			continue
		}
		p.Turn = r.Turn
		for _, r := range bound(open, r.Turn) {
			p.Messages = append(p.Messages, waiting(r))
		}
	}
	return p, s.wrap("running", v.err)
}

// waiting returns a copy of r for a turn.
func waiting(r *rows.In) rows.In {
	own := *r
	own.Inbound, own.Accepted = rules.Inbound(r.Inbound), rules.Time(r.Accepted)
	return own
}

// current returns the waiting rows that a turn answers. Errors: ErrConflict if one of
// them has changed since the turn read it.
func current(open []*rows.In, turn string, answers []sessions.Answered) (list []*rows.In, err error) {
	for _, a := range answers {
		r := bySeq(open, a.Seq)
		switch {
		case r == nil:
			return nil, fmt.Errorf("%w: message %d is no longer waiting", sessions.ErrConflict, a.Seq)
		case r.Rev != a.Rev:
			return nil, fmt.Errorf("%w: message %d was edited", sessions.ErrConflict, a.Seq)
		case r.Turn != "" && r.Turn != turn:
			return nil, fmt.Errorf("%w: message %d belongs to another turn", sessions.ErrConflict, a.Seq)
		}
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list, nil
}

// AppendStep journals a step of turn and binds the answered messages to the turn. A
// later call may name more of them (steering). Errors: ErrFenced, ErrConflict (a Rev
// is stale).
func (s *Store) AppendStep(ctx context.Context, cl sessions.Claim, turn string, answers []sessions.Answered, journaled sessions.Step) error {
	turn = rules.Text(turn)
	if err := knownStep(journaled.Kind); err != nil {
		return s.wrap("append step", err)
	}
	return s.claimed(ctx, "append step", cl, func(st *step, c *chat) error {
		open := st.open(c, true)
		list, err := current(open, turn, answers)
		if err != nil {
			return err
		}
		if turn == "" || len(list)+len(bound(open, turn)) == 0 {
			return errors.New("a journal needs a turn and a message that it belongs to")
		}
		for _, r := range list {
			if r.Turn != turn {
				r.Turn = turn
				st.put(c, r, false)
			}
		}
		ch := st.touch(c)
		ch.Steps = append(ch.Steps, rows.Step{Turn: turn, Step: rules.Step(journaled, st.now)})
		return nil
	})
}

// CommitTurn ends a turn in one commit: it stores messages, usage, replies and the
// occurrence, adds counts, marks the answered inbox rows as done, and deletes the turn's journal.
// Messages get their Seq. Errors: ErrFenced, ErrConflict, ErrSaid (only with t.Once).
func (s *Store) CommitTurn(ctx context.Context, cl sessions.Claim, t sessions.Turn) error {
	t.ID = rules.Text(t.ID)
	err := checkCounts(t.Counts)
	notes := t.Notes
	if t.Once != nil {
		notes = append(slices.Clone(notes), *t.Once)
	}
	notes, flawed := cleanNotes(notes)
	err = cmp.Or(err, flawed)
	if o := t.Occurrence; o != nil {
		err = cmp.Or(err, hasJob(o.Job), knownOutcome(o.Outcome))
	}
	if err != nil {
		return s.wrap("commit turn", err)
	}
	return s.claimed(ctx, "commit turn", cl, func(st *step, c *chat) error {
		open := st.open(c, true)
		list, err := current(open, t.ID, t.Answers)
		if err != nil {
			return err
		}
		if t.Once != nil && st.hasNote(t.Once) {
			return sessions.ErrSaid
		}
		mine := bound(open, t.ID)
		if len(mine) > 0 {
			st.endJournal(c, t.ID)
		}
		for _, r := range mine {
			r.Turn = "" // messages that the turn did not answer wait for another
			st.put(c, r, false)
		}
		for _, r := range list {
			st.settle(c, r, rules.InDone, r.Why)
		}
		st.appendMessages(c, t.ID, t.Messages, t.Authors...)
		if t.Occurrence != nil {
			st.occurred(*t.Occurrence)
		}
		st.addReplies(c, t.Replies)
		st.changes.Add = t.Counts
		for i := range notes {
			notes[i].At = rules.Time(st.now)
			st.record(rows.Record{Note: &notes[i]})
		}
		return nil
	})
}

// hasNote reports whether there is a note with the kind, owner and name of n.
func (st *step) hasNote(n *sessions.Note) bool {
	_, found := st.one(rows.Record{Note: &sessions.Note{Kind: n.Kind, Owner: n.Owner, Name: n.Name}})
	return found
}

// Postpone makes messages, and the turn they are bound to, due at until and counts an
// attempt on each.
func (s *Store) Postpone(ctx context.Context, cl sessions.Claim, seqs []int64, until time.Time, why string) error {
	return s.claimed(ctx, "postpone", cl, func(st *step, c *chat) error {
		open := st.open(c, true)
		var list []*rows.In
		for _, seq := range seqs {
			r := bySeq(open, seq)
			if r == nil {
				return fmt.Errorf("%w: message %d is no longer waiting", sessions.ErrConflict, seq)
			}
			// All messages of a turn are due together.
			for _, r := range append(bound(open, r.Turn), r) {
				if !slices.Contains(list, r) {
					list = append(list, r)
				}
			}
		}
		for _, r := range list {
			r.Attempts++
			r.Due, r.Why = rules.Time(until), rules.Text(why)
			st.put(c, r, false)
		}
		return nil
	})
}

// Park ends the work on a turn until p.Until, or until [Store.RetryQueue] makes one of its
// messages due: its journal stays, and messages that come later wait behind it. Earlier
// failures of it no longer count. A turn that asks for a time that is over is due at once.
// Errors: ErrFenced, ErrConflict.
func (s *Store) Park(ctx context.Context, cl sessions.Claim, p sessions.Parking) error {
	p.Turn = rules.Text(p.Turn)
	if p.Turn == "" || len(p.Answers) == 0 {
		return s.wrap("park", errors.New("a turn without an id or messages"))
	}
	return s.claimed(ctx, "park", cl, func(st *step, c *chat) error {
		open := st.open(c, true)
		list, err := current(open, p.Turn, p.Answers)
		if err != nil {
			return err
		}
		for _, r := range bound(open, p.Turn) {
			if !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
		for _, r := range list {
			r.Turn = p.Turn
			r.Attempts = 0
			r.Due = rules.Time(p.Until)
			r.Why = rules.Text(p.Why)
			st.put(c, r, false)
		}
		ch := st.touch(c)
		parked := sessions.Step{Kind: sessions.StepParked, At: st.now}
		ch.Steps = append(ch.Steps, rows.Step{Turn: p.Turn, Step: rules.Step(parked, st.now)})
		st.addReplies(c, p.Replies)
		return nil
	})
}

// isParked reports whether r belongs to a turn that [Store.Park] ended for now: it was
// begun, has not failed, and is not due.
func isParked(r *rows.In, now time.Time) bool {
	return r.State == rules.InWaiting && r.Turn != "" && r.Attempts == 0 && r.Due.After(now)
}
