package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

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

// Remember stores a fact. The same words are stored once in a scope: a crash may repeat a
// tool call, and a model a fact. A fact that is remembered again without origins becomes the
// person's own. What it replaces is kept for [sessions.FactUndo], for [Store.UndoFacts].
// Errors: ErrNotFound if a number in Replaces is none of the scope's; ErrTooMany if the
// scope has sessions.MostFacts and n replaces none. Both change nothing.
func (s *Store) Remember(ctx context.Context, scope string, n sessions.NewFact) (kept sessions.Kept, err error) {
	n.Text = rules.Text(n.Text)
	n.Origins = rules.Origins(n.Origins)
	if scope == "" {
		return kept, s.wrap("remember", errNoScope)
	}
	err = s.update(ctx, "remember", func(st *step) (err error) {
		kept, err = st.memory(scope, n.Beside...).remember(n)
		return err
	})
	return kept, err
}

// Recall finds facts by words, best first; an empty query lists the newest. It leaves out
// what was replaced or forgotten.
func (s *Store) Recall(ctx context.Context, scope, query string, limit int) ([]sessions.Fact, error) {
	found, err := s.RecallOf(ctx, []string{scope}, query, limit)
	list := make([]sessions.Fact, 0, len(found))
	for _, f := range found {
		list = append(list, f.Fact)
	}
	return list, err
}

// RecallOf is [Store.Recall] in several scopes at once.
func (s *Store) RecallOf(ctx context.Context, scopes []string, query string, limit int) (found []sessions.FactRecord, err error) {
	var all []sessions.Fact
	of := map[int64]string{}
	v := s.view(ctx)
	for _, scope := range scopes {
		if scope == "" {
			v.err = errNoScope
		}
		for r := range v.records(factsOf(scope)) {
			if r.Fact.Scope == scope && r.Fact.Gone.IsZero() {
				all = append(all, r.Fact.Fact)
				of[r.Fact.ID] = scope
			}
		}
	}
	if v.err != nil {
		return nil, s.wrap("recall", v.err)
	}
	if len(scopes) > 1 {
		slices.SortFunc(all, byNumber)
	}
	if strings.TrimSpace(query) != "" {
		all = bestFacts(query, all, limit)
	} else {
		slices.Reverse(all)
		all = all[:min(max(limit, 0), len(all))]
	}
	for _, f := range all {
		found = append(found, sessions.FactRecord{Scope: of[f.ID], Fact: f})
	}
	return found, nil
}

// Forget takes a fact out of the memory. It is kept for [sessions.FactUndo], for
// [Store.UndoFacts]. Errors: ErrNotFound.
func (s *Store) Forget(ctx context.Context, scope string, id int64) error {
	return s.changeFact(ctx, "forget", scope, id, func(m *memory, f sessions.Fact) {
		m.bury(f, "", m.nextGone())
	})
}

// PinFact pins a fact, or unpins it. Errors: ErrNotFound.
func (s *Store) PinFact(ctx context.Context, scope string, id int64, pinned bool) error {
	return s.changeFact(ctx, "pin", scope, id, func(m *memory, f sessions.Fact) {
		if f.Pinned != pinned {
			f.Pinned = pinned
			m.put(f)
		}
	})
}

// changeFact calls change with the fact of that number.
func (s *Store) changeFact(ctx context.Context, what, scope string, id int64, change func(*memory, sessions.Fact)) error {
	if scope == "" {
		return s.wrap(what, errNoScope)
	}
	return s.update(ctx, what, func(st *step) error {
		m := st.memory(scope)
		i := slices.IndexFunc(m.live, func(f sessions.Fact) bool { return f.ID == id })
		if i < 0 {
			return fmt.Errorf("%w: fact %d", sessions.ErrNotFound, id)
		}
		change(m, m.live[i])
		return nil
	})
}

// UndoFacts takes back the newest replacement or forgetting in a scope. Called again, it
// takes back the one before. Errors: ErrNotFound if there is none of the last
// [sessions.FactUndo]. Scopes beside it are the same person's: it takes back the newest of all.
func (s *Store) UndoFacts(ctx context.Context, scope string, beside ...string) (undone sessions.UndoneFacts, err error) {
	if scope == "" || slices.Contains(beside, "") {
		return undone, s.wrap("undo", errNoScope)
	}
	err = s.update(ctx, "undo", func(st *step) (err error) {
		undone, err = st.memory(scope, beside...).undo()
		return err
	})
	return undone, err
}

// UseFacts notes that a model was shown these facts. It writes only for those that were not
// noted today, so that a turn rarely costs a commit more.
func (s *Store) UseFacts(ctx context.Context, scope string, ids ...int64) error {
	if scope == "" {
		return s.wrap("use facts", errNoScope)
	}
	now := s.now()
	stale := func(scoped string, f *sessions.Fact) bool {
		return scoped == scope && f.Gone.IsZero() && slices.Contains(ids, f.ID) && rules.Day(f.Used) < rules.Day(now)
	}
	v, some := s.view(ctx), false
	for r := range v.records(factsOf(scope)) {
		some = some || stale(r.Fact.Scope, &r.Fact.Fact)
	}
	if v.err != nil || !some {
		return s.wrap("use facts", v.err)
	}
	return s.update(ctx, "use facts", func(st *step) error {
		m := st.memory(scope)
		for _, f := range m.live {
			if stale(scope, &f) {
				f.Used = rules.Time(now)
				m.put(f)
			}
		}
		return nil
	})
}

// CountFacts counts the facts of scopes, also those that are kept only for an undo: an
// erasure deletes these as well.
func (s *Store) CountFacts(ctx context.Context, scopes ...string) (n int, err error) {
	v := s.view(ctx)
	for _, scope := range scopes {
		for r := range v.records(factsOf(scope)) {
			if scope != "" && r.Fact.Scope == scope {
				n++
			}
		}
	}
	return n, s.wrap("count facts", v.err)
}

// FactScopes lists the scopes that begin with prefix and have facts, sorted. One whose facts
// are kept only to be taken back is listed: an erasure must find it.
func (s *Store) FactScopes(ctx context.Context, prefix string) (list []string, err error) {
	v := s.view(ctx)
	for r := range v.records(factsOf("")) {
		if scope := r.Fact.Scope; strings.HasPrefix(scope, prefix) && (len(list) == 0 || list[len(list)-1] != scope) {
			list = append(list, scope)
		}
	}
	return list, s.wrap("scopes", v.err)
}

// sweepFacts deletes the facts that can no longer be brought back.
func (s *Store) sweepFacts(ctx context.Context) error {
	over := map[string]bool{}
	v := s.view(ctx)
	for r := range v.records(factsOf("")) {
		if isOver(&r.Fact.Fact, s.now()) {
			over[r.Fact.Scope] = true
		}
	}
	if v.err != nil {
		return s.wrap("sweep facts", v.err)
	}
	for scope := range over {
		err := s.update(ctx, "sweep facts", func(st *step) error {
			st.memory(scope)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
