package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// expired reports whether p is a request that can no longer be approved.
func expired(p *sessions.Pairing, now time.Time) bool {
	return p.Approved.IsZero() && !now.Before(p.Expires)
}

// unexpired reads the pairings that are not expired, and removes the others.
func (st *step) unexpired(now time.Time) (list []sessions.Pairing) {
	for r := range st.records(rows.Record{Pairing: &sessions.Pairing{}}) {
		if expired(r.Pairing, now) {
			st.changes.Removed = append(st.changes.Removed, r)
			continue
		}
		list = append(list, *r.Pairing)
	}
	return list
}

// RequestPairing stores p with its Code and Expires. If the person has an unexpired
// request or an approval, it returns that with created false instead. Errors:
// ErrConflict if another person has the code, ErrTooMany if maxPending requests of
// the channel wait.
func (s *Store) RequestPairing(ctx context.Context, p sessions.Pairing, now time.Time, maxPending int) (got sessions.Pairing, created bool, err error) {
	err = s.update(ctx, "request pairing", func(st *step) error {
		got, created = sessions.Pairing{}, false
		switch {
		case p.Channel == "" || p.PersonID == "":
			return errors.New("a pairing needs a channel and a person's id")
		case rules.Code(p.Code) == "":
			return errors.New("a pairing request needs a code")
		case !now.Before(p.Expires):
			return errors.New("the pairing request is expired already")
		}
		pending, taken := 0, false
		for _, old := range st.unexpired(now) {
			taken = taken || old.Code != "" && rules.Code(old.Code) == rules.Code(p.Code)
			if old.Channel == p.Channel && old.PersonID == p.PersonID {
				got = old
				return nil
			}
			if old.Channel == p.Channel && old.Approved.IsZero() {
				pending++
			}
		}
		if taken {
			return fmt.Errorf("%w: the code belongs to another request", sessions.ErrConflict)
		}
		if pending >= maxPending {
			return fmt.Errorf("%w: %d requests wait on %s", sessions.ErrTooMany, pending, p.Channel)
		}
		got, created = cleanPairing(p), true
		got.Approved = time.Time{}
		stored := got
		st.record(rows.Record{Pairing: &stored})
		return nil
	})
	return got, created, err
}

func cleanPairing(p sessions.Pairing) sessions.Pairing {
	p.PersonID, p.Name, p.Code = rules.Text(p.PersonID), rules.Text(p.Name), rules.Text(p.Code)
	p.Expires, p.Approved = rules.Time(p.Expires), rules.Time(p.Approved)
	return p
}

// ApprovePairing approves the request with that code. Codes match without regard to
// case, spaces and dashes. Errors: ErrNotFound (unknown, used or expired).
func (s *Store) ApprovePairing(ctx context.Context, code string, now time.Time) (got sessions.Pairing, err error) {
	err = s.update(ctx, "approve pairing", func(st *step) error {
		got = sessions.Pairing{}
		for _, p := range st.unexpired(now) {
			if p.Approved.IsZero() && rules.Code(p.Code) == rules.Code(code) {
				p.Approved, p.Code, p.Expires = rules.Time(now), "", time.Time{}
				got = p
				st.record(rows.Record{Pairing: &p})
				return nil
			}
		}
		return fmt.Errorf("%w: pairing code", sessions.ErrNotFound)
	})
	return got, err
}

// Paired reports whether one of ids was approved on channel.
func (s *Store) Paired(ctx context.Context, channel string, ids []string) (bool, error) {
	v := s.view(ctx)
	for _, id := range ids {
		for r := range v.records(rows.Record{Pairing: &sessions.Pairing{Channel: channel, PersonID: id}}) {
			if id != "" && r.Pairing.Channel == channel && !r.Pairing.Approved.IsZero() {
				return true, nil
			}
		}
	}
	return false, s.wrap("paired", v.err)
}

// Pairings lists approved people and requests that have not expired.
func (s *Store) Pairings(ctx context.Context, now time.Time) (list []sessions.Pairing, err error) {
	v := s.view(ctx)
	for r := range v.records(rows.Record{Pairing: &sessions.Pairing{}}) {
		if !expired(r.Pairing, now) {
			list = append(list, *r.Pairing)
		}
	}
	return list, s.wrap("pairings", v.err)
}

// Unpair removes an approved person. Errors: ErrNotFound.
func (s *Store) Unpair(ctx context.Context, channel, personID string) error {
	return s.update(ctx, "unpair", func(st *step) error {
		r, ok := st.one(rows.Record{Pairing: &sessions.Pairing{Channel: channel, PersonID: personID}})
		if !ok || personID == "" || r.Pairing.Approved.IsZero() {
			return fmt.Errorf("%w: %s is not paired on %s", sessions.ErrNotFound, personID, channel)
		}
		st.changes.Removed = append(st.changes.Removed, r)
		return nil
	})
}

func factsOf(scope string) rows.Record {
	return rows.Record{Fact: &sessions.FactRecord{Scope: scope}}
}

// lastFact returns the highest ID that a fact ever had.
func (st *step) lastFact() int64 {
	if r, ok := st.one(rows.Record{Store: &rows.Store{Days: map[string]int64{"": 0}}}); ok {
		return r.Store.LastFact
	}
	return 0
}

// Remember stores text and returns the fact. It stores the same text only once in a
// scope, because a crash may repeat a tool call.
func (s *Store) Remember(ctx context.Context, scope, text string) (f sessions.Fact, err error) {
	text = rules.Text(text)
	err = s.update(ctx, "remember", func(st *step) error {
		for r := range st.records(factsOf(scope)) {
			if r.Fact.Scope == scope && r.Fact.Text == text {
				f = r.Fact.Fact
				return nil
			}
		}
		f = sessions.Fact{ID: st.lastFact() + 1, Text: text, At: rules.Time(st.now)}
		st.record(rows.Record{Fact: &sessions.FactRecord{Scope: scope, Fact: f}})
		return nil
	})
	return f, err
}

// Recall finds facts by words, best first; an empty query lists the newest.
func (s *Store) Recall(ctx context.Context, scope, query string, limit int) ([]sessions.Fact, error) {
	var all []sessions.Fact
	v := s.view(ctx)
	for r := range v.records(factsOf(scope)) {
		if r.Fact.Scope == scope {
			all = append(all, r.Fact.Fact)
		}
	}
	if v.err != nil {
		return nil, s.wrap("recall", v.err)
	}
	if strings.TrimSpace(query) != "" {
		return rules.Best(rules.Query(query), all, func(f sessions.Fact) string { return f.Text }, limit), nil
	}
	slices.Reverse(all)
	return all[:min(max(limit, 0), len(all))], nil
}

// Forget removes a fact. Errors: ErrNotFound.
func (s *Store) Forget(ctx context.Context, scope string, id int64) error {
	return s.update(ctx, "forget", func(st *step) error {
		r, ok := st.one(rows.Record{Fact: &sessions.FactRecord{Scope: scope, Fact: sessions.Fact{ID: id}}})
		if !ok || id == 0 || r.Fact.Scope != scope {
			return fmt.Errorf("%w: fact %d", sessions.ErrNotFound, id)
		}
		st.changes.Removed = append(st.changes.Removed, r)
		return nil
	})
}
