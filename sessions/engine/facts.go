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

// Remember stores text and returns the fact. It stores the same words only once in a
// scope: a crash may repeat a tool call, and a model a fact. origins are whose words it is,
// beside the person's. A fact that is remembered again without any becomes the person's own.
func (s *Store) Remember(ctx context.Context, scope, text string, origins ...sessions.Origin) (f sessions.Fact, err error) {
	text = rules.Text(text)
	origins = rules.Origins(origins)
	if scope == "" {
		return f, s.wrap("remember", errNoScope)
	}
	err = s.update(ctx, "remember", func(st *step) error {
		for r := range st.records(factsOf(scope)) {
			if r.Fact.Scope == scope && rules.SameFact(r.Fact.Text, text) {
				f = r.Fact.Fact
				if len(f.Origins) > 0 && len(origins) == 0 {
					f.Origins = nil
					st.record(rows.Record{Fact: &sessions.FactRecord{Scope: scope, Fact: f}})
				}
				return nil
			}
		}
		f = sessions.Fact{ID: st.lastFact() + 1, Text: text, At: rules.Time(st.now), Origins: origins}
		st.record(rows.Record{Fact: &sessions.FactRecord{Scope: scope, Fact: f}})
		return nil
	})
	return f, err
}

// Recall finds facts by words, best first; an empty query lists the newest.
func (s *Store) Recall(ctx context.Context, scope, query string, limit int) ([]sessions.Fact, error) {
	var all []sessions.Fact
	v := s.view(ctx)
	if scope == "" {
		v.err = errNoScope
	}
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
	if scope == "" {
		return s.wrap("forget", errNoScope)
	}
	return s.update(ctx, "forget", func(st *step) error {
		r, ok := st.one(rows.Record{Fact: &sessions.FactRecord{Scope: scope, Fact: sessions.Fact{ID: id}}})
		if !ok || id == 0 || r.Fact.Scope != scope {
			return fmt.Errorf("%w: fact %d", sessions.ErrNotFound, id)
		}
		st.changes.Removed = append(st.changes.Removed, r)
		return nil
	})
}

// FactScopes lists the scopes that begin with prefix and have facts, sorted.
func (s *Store) FactScopes(ctx context.Context, prefix string) (list []string, err error) {
	v := s.view(ctx)
	for r := range v.records(factsOf("")) {
		if scope := r.Fact.Scope; strings.HasPrefix(scope, prefix) && (len(list) == 0 || list[len(list)-1] != scope) {
			list = append(list, scope)
		}
	}
	return list, s.wrap("scopes", v.err)
}
