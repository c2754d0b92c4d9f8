package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// forgetExpired drops requests that nobody can approve any more.
func (s *Store) forgetExpired(now time.Time) {
	s.pairings = slices.DeleteFunc(s.pairings, func(p *sessions.Pairing) bool { return expired(p, now) })
}

func expired(p *sessions.Pairing, now time.Time) bool {
	return p.Approved.IsZero() && !now.Before(p.Expires)
}

// RequestPairing is part of [sessions.People].
func (s *Store) RequestPairing(ctx context.Context, p sessions.Pairing, now time.Time, maxPending int) (got sessions.Pairing, created bool, err error) {
	err = s.update(ctx, "request pairing", func(ch *change) error {
		if err := rules.CheckPairing(p, now); err != nil {
			return err
		}
		s.forgetExpired(now)
		pending := 0
		for _, old := range s.pairings {
			if old.Channel == p.Channel && old.PersonID == p.PersonID {
				got = *old
				return nil
			}
			if old.Channel == p.Channel && old.Approved.IsZero() {
				pending++
			}
		}
		for _, old := range s.pairings {
			if old.Code != "" && rules.Code(old.Code) == rules.Code(p.Code) {
				return fmt.Errorf("%w: the code is another's", sessions.ErrConflict)
			}
		}
		if pending >= maxPending {
			return fmt.Errorf("%w: %d requests wait on %s", sessions.ErrTooMany, pending, p.Channel)
		}
		got, created = rules.Pairing(p), true
		stored := got
		s.pairings = append(s.pairings, &stored)
		ch.people = true
		return nil
	})
	return got, created, err
}

// ApprovePairing is part of [sessions.People].
func (s *Store) ApprovePairing(ctx context.Context, code string, now time.Time) (got sessions.Pairing, err error) {
	err = s.update(ctx, "approve pairing", func(ch *change) error {
		s.forgetExpired(now)
		for _, p := range s.pairings {
			if p.Approved.IsZero() && rules.Code(p.Code) == rules.Code(code) {
				p.Approved, p.Code, p.Expires = rules.Time(now), "", time.Time{}
				got, ch.people = *p, true
				return nil
			}
		}
		return fmt.Errorf("%w: pairing code", sessions.ErrNotFound)
	})
	return got, err
}

// Paired is part of [sessions.People].
func (s *Store) Paired(ctx context.Context, channel string, ids []string) (paired bool, err error) {
	err = s.read(ctx, "paired", func() error {
		paired = slices.ContainsFunc(s.pairings, func(p *sessions.Pairing) bool {
			return p.Channel == channel && !p.Approved.IsZero() && slices.Contains(ids, p.PersonID)
		})
		return nil
	})
	return paired, err
}

// Pairings is part of [sessions.People].
func (s *Store) Pairings(ctx context.Context, now time.Time) (list []sessions.Pairing, err error) {
	err = s.read(ctx, "pairings", func() error {
		for _, p := range s.pairings {
			if !expired(p, now) {
				list = append(list, *p)
			}
		}
		return nil
	})
	return list, err
}

// Unpair is part of [sessions.People].
func (s *Store) Unpair(ctx context.Context, channel, personID string) error {
	return s.update(ctx, "unpair", func(ch *change) error {
		i := slices.IndexFunc(s.pairings, func(p *sessions.Pairing) bool {
			return p.Channel == channel && p.PersonID == personID && !p.Approved.IsZero()
		})
		if i < 0 {
			return fmt.Errorf("%w: %s is not paired on %s", sessions.ErrNotFound, personID, channel)
		}
		s.pairings, ch.people = slices.Delete(s.pairings, i, i+1), true
		return nil
	})
}

// Remember is part of [sessions.Facts]. A fact that the scope has already, to
// the letter, is not stored twice: a tool call that a crash repeats must not
// double it.
func (s *Store) Remember(ctx context.Context, scope, text string) (f sessions.Fact, err error) {
	err = s.update(ctx, "remember", func(ch *change) error {
		text = rules.Text(text)
		for _, old := range s.facts[scope] {
			if old.Text == text {
				f = old
				return nil
			}
		}
		s.lastFact++
		f = sessions.Fact{ID: s.lastFact, Text: text, At: rules.Time(ch.now)}
		s.facts[scope] = append(s.facts[scope], f)
		ch.common.Facts = append(ch.common.Facts, sessions.FactRecord{Scope: scope, Fact: f})
		return nil
	})
	return f, err
}

// Recall is part of [sessions.Facts].
func (s *Store) Recall(ctx context.Context, scope, query string, limit int) (found []sessions.Fact, err error) {
	err = s.read(ctx, "recall", func() error {
		found = rules.Recall(query, s.facts[scope], limit)
		return nil
	})
	return found, err
}

// Forget is part of [sessions.Facts].
func (s *Store) Forget(ctx context.Context, scope string, id int64) error {
	return s.update(ctx, "forget", func(ch *change) error {
		i := slices.IndexFunc(s.facts[scope], func(f sessions.Fact) bool { return f.ID == id })
		if i < 0 {
			return fmt.Errorf("%w: fact %d", sessions.ErrNotFound, id)
		}
		s.facts[scope] = slices.Delete(s.facts[scope], i, i+1)
		ch.common.Forgotten = append(ch.common.Forgotten, Forgotten{scope, id})
		return nil
	})
}
