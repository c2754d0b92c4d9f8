package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// Pending is part of [sessions.Work].
func (s *Store) Pending(ctx context.Context, c sessions.Claim, most int) (sessions.Pending, error) {
	p, err := s.pending(ctx, c, most)
	if err != nil {
		return sessions.Pending{}, wrap("pending", err)
	}
	return p, nil
}

func (s *Store) pending(ctx context.Context, c sessions.Claim, most int) (p sessions.Pending, err error) {
	sel, err := s.work.Choose(c, most)
	if err != nil || len(sel.Items) == 0 {
		return p, err
	}
	p.Turn, p.More = sel.Turn, sel.More
	for _, it := range sel.Items {
		// Nearly always this is a message that was accepted a moment ago.
		if w, ok := it.Body.(*sessions.Waiting); ok {
			own := *w
			own.Inbound = rules.Inbound(w.Inbound)
			p.Messages = append(p.Messages, own)
			continue
		}
		w, err := scanIn(s.row(ctx, `SELECT `+inColumns+` FROM inbox WHERE id = ?`, it.Row), c.Key)
		if err != nil {
			return p, err
		}
		p.Messages = append(p.Messages, w.waiting())
	}
	if p.Turn != "" {
		if p.Steps, err = s.steps(ctx, sel.Items[0].Row>>32, p.Turn); err != nil {
			return p, err
		}
	}
	// A fence that came while we read has closed some of these.
	return p, s.work.Check(c)
}

func (w inRow) waiting() sessions.Waiting {
	return sessions.Waiting{Seq: w.seq, Rev: w.rev, Inbound: w.inbound, Origin: w.origin, Attempts: w.attempts, Accepted: w.accepted}
}

// Running is part of [sessions.Feeds].
func (s *Store) Running(ctx context.Context, k channels.Key) (sessions.Pending, error) {
	p, err := s.running(ctx, k)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return sessions.Pending{}, wrap("running", err)
	}
	return p, nil
}

func (s *Store) running(ctx context.Context, k channels.Key) (p sessions.Pending, err error) {
	key, err := s.keyID(ctx, k)
	if err != nil {
		return p, err
	}
	rows, err := s.rows(ctx, `SELECT `+inColumns+` FROM inbox WHERE state = 'waiting' AND turn <> '' AND id BETWEEN ? AND ? ORDER BY id`,
		rowID(key, 0), rowID(key, maxSeq))
	if err != nil {
		return p, err
	}
	err = each(rows, func() error {
		w, err := scanIn(rows, k)
		if err == nil && (p.Turn == "" || p.Turn == w.turn) {
			p.Turn = w.turn
			p.Messages = append(p.Messages, w.waiting())
		}
		return err
	})
	if err == nil && p.Turn != "" {
		p.Steps, err = s.steps(ctx, key, p.Turn)
	}
	if len(p.Steps) == 0 { // it was committed meanwhile
		p = sessions.Pending{}
	}
	return p, err
}

// steps reads the journal of a turn.
func (s *Store) steps(ctx context.Context, key int64, turn string) ([]sessions.Step, error) {
	rows, err := s.rows(ctx, `SELECT data FROM steps WHERE key_id = ? AND turn = ? ORDER BY id`, key, turn)
	if err != nil {
		return nil, err
	}
	var steps []sessions.Step
	err = each(rows, func() error {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		steps = append(steps, sessions.Step{})
		return decode(data, &steps[len(steps)-1])
	})
	return steps, err
}

// AppendStep is part of [sessions.Work].
func (s *Store) AppendStep(ctx context.Context, c sessions.Claim, turn string, answers []sessions.Answered, step sessions.Step) error {
	data := encode(rules.Step(step, s.now()))
	turn = rules.Text(turn)
	return s.claimed(ctx, "append step", c, func(t *tx, r *keyRow) error {
		bound := map[int64]bool{}
		for _, it := range s.work.Bound(c.Key, turn) {
			bound[it.Seq] = true
		}
		if turn == "" || len(bound)+len(answers) == 0 {
			return errors.New("a journal needs a turn and a message that it belongs to")
		}
		for _, a := range answers {
			// Most steps name what is bound already: nothing can change that.
			if bound[a.Seq] {
				continue
			}
			if err := t.take(r, turn, a, `UPDATE inbox SET turn = ?1 WHERE id = ?2 AND state = 'waiting' AND rev = ?3 AND turn IN ('', ?1)
				RETURNING origin, due, accepted`, rules.InWaiting); err != nil {
				return err
			}
		}
		return t.exec(`INSERT INTO steps (key_id, turn, data) VALUES (?, ?, ?)`, r.id, turn, data)
	})
}

// take changes a waiting message for a turn, if it is as the turn saw it. The
// query gets turn, id and rev, and returns origin, due and accepted.
func (t *tx) take(r *keyRow, turn string, a sessions.Answered, query, state string) error {
	w := inRow{seq: a.Seq, state: state, turn: turn}
	var due, accepted int64
	rows, err := t.rows(query, turn, rowID(r.id, a.Seq), a.Rev)
	if err != nil {
		return err
	}
	found := false
	err = each(rows, func() error {
		found = true
		return rows.Scan(&w.origin, &due, &accepted)
	})
	if err != nil {
		return err
	}
	if !found || a.Seq <= 0 {
		return fmt.Errorf("%w: message %d was edited, or does not wait for this turn any more", sessions.ErrConflict, a.Seq)
	}
	w.due, w.accepted = timeOf(due), timeOf(accepted)
	t.inboxItem(r, w)
	return nil
}

// CommitTurn is part of [sessions.Work].
func (s *Store) CommitTurn(ctx context.Context, c sessions.Claim, turn sessions.Turn) error {
	turn.ID = rules.Text(turn.ID)
	messages := messageRows(turn.Messages, turn.ID, s.now())
	return s.claimed(ctx, "commit turn", c, func(t *tx, r *keyRow) error {
		answered := map[int64]bool{}
		for _, a := range turn.Answers {
			if answered[a.Seq] {
				continue
			}
			answered[a.Seq] = true
			err := t.take(r, turn.ID, a, `UPDATE inbox SET state = 'done', turn = '' WHERE id = ?2 AND state = 'waiting' AND rev = ?3 AND turn IN ('', ?1)
				RETURNING origin, due, accepted`, rules.InDone)
			if err != nil {
				return err
			}
			t.counts = append(t.counts, count{r.key, -1})
		}
		if err := t.endJournal(r, turn.ID, answered); err != nil {
			return err
		}
		if err := t.appendMessages(r, messages); err != nil {
			return err
		}
		if err := t.addReplies(r, turn.Replies); err != nil {
			return err
		}
		if turn.Occurrence != nil {
			return t.record(*turn.Occurrence, 0)
		}
		return nil
	})
}

// endJournal deletes the journal of a turn, if it has one. What the turn took
// on and did not answer waits for another.
func (t *tx) endJournal(r *keyRow, turn string, answered map[int64]bool) error {
	if turn == "" {
		return nil
	}
	bound := t.store.work.Bound(r.key, turn)
	if len(bound) == 0 {
		return nil
	}
	if err := t.exec(`DELETE FROM steps WHERE key_id = ? AND turn = ?`, r.id, turn); err != nil {
		return err
	}
	for _, it := range bound {
		if answered[it.Seq] {
			continue
		}
		if err := t.exec(`UPDATE inbox SET turn = '' WHERE id = ?`, rowID(r.id, it.Seq)); err != nil {
			return err
		}
		it.Turn = ""
		t.items = append(t.items, it)
	}
	return nil
}

// Postpone is part of [sessions.Work].
func (s *Store) Postpone(ctx context.Context, c sessions.Claim, seqs []int64, until time.Time, why string) error {
	why = rules.Text(why)
	return s.claimed(ctx, "postpone", c, func(t *tx, r *keyRow) error {
		items := map[int64]dispatch.Item{}
		for _, seq := range seqs {
			it, ok := s.work.Waits(c.Key, seq)
			if !ok {
				return fmt.Errorf("%w: message %d does not wait any more", sessions.ErrConflict, seq)
			}
			items[seq] = it
			if it.Turn == "" {
				continue
			}
			// A turn is one thing: all of its messages wait for it.
			for _, it := range s.work.Bound(c.Key, it.Turn) {
				items[it.Seq] = it
			}
		}
		for seq, it := range items {
			err := t.exec(`UPDATE inbox SET attempts = attempts + 1, due = ?, why = ? WHERE id = ?`, nanos(until), why, rowID(r.id, seq))
			if err != nil {
				return err
			}
			it.Due = timeOf(nanos(until))
			t.items = append(t.items, it)
		}
		return nil
	})
}
