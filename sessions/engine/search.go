package engine

import (
	"cmp"
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Lookup finds messages in a part of a conversation: see sessions.Archive.
func (s *Store) Lookup(ctx context.Context, k channels.Key, l sessions.Lookup) (hits sessions.Hits, err error) {
	words := rules.Query(l.Query)
	if len(words) == 0 || l.Limit <= 0 {
		return hits, nil
	}
	all, some, err := s.back.Match(ctx, rows.Words{
		Query: words, Key: k, Said: rows.Said{After: l.After, Before: l.Before, Newest: !l.Oldest, Once: true},
		Most: max(sessions.MostCounted, l.Limit), Enough: l.Limit,
	})
	if err != nil {
		return hits, s.wrap("search", err)
	}
	hits.All, hits.Some = min(len(all), sessions.MostCounted), min(len(some), sessions.MostCounted)
	byAge := func(a, b sessions.Message) int { return cmp.Compare(a.Seq, b.Seq) }
	slices.SortFunc(all, byAge)
	slices.SortFunc(some, byAge) // Best prefers the later ones
	if l.Oldest {
		slices.Reverse(some)
	} else {
		slices.Reverse(all)
	}
	all = all[:min(l.Limit, len(all))]
	hits.Messages = append(all, rules.Best(words, some, func(m sessions.Message) string { return m.Content }, l.Limit-len(all))...)
	for i, m := range hits.Messages {
		hits.Messages[i] = rules.Clone(m)
	}
	return hits, nil
}

// SearchAll finds messages by words: see sessions.Catalog.
func (s *Store) SearchAll(ctx context.Context, search sessions.Search) (found []sessions.Found, err error) {
	words, ranking := rules.Query(search.Query), ranking{search: search}
	if len(words) == 0 || search.Limit <= 0 {
		return nil, nil
	}
	v := s.view(ctx)
	for f := range each(v, v.r.Scored(ctx, words, search.Key)) {
		ranking.add(f)
	}
	for _, f := range ranking.page() {
		if f.Message.Role != "" { // it was read whole
			f.Message = rules.Clone(f.Message)
			found = append(found, f)
			continue
		}
		for m := range v.messages(f.Key, rows.Said{After: f.Message.Seq - 1, Before: f.Message.Seq + 1, Once: true}) {
			f.Message = m
			found = append(found, f)
		}
	}
	return found, s.wrap("search all", v.err)
}

// ranking keeps the page that a search wants of the messages that it is shown in
// any order, and little more: most messages have a common word.
type ranking struct {
	search sessions.Search
	kept   []sessions.Found
}

// add shows f. Only its place, its time and its words must be set.
func (r *ranking) add(f sessions.Found) {
	at, s := f.Message.At, r.search
	early := !s.From.IsZero() && at.Before(s.From)
	late := !s.To.IsZero() && !at.Before(s.To)
	if f.Words == 0 || early || late || s.After != nil && f.Position().Compare(*s.After) <= 0 {
		return
	}
	r.kept = append(r.kept, f)
	if len(r.kept) > 2*max(s.Limit, 1000) {
		r.page()
	}
}

// page is the page, best first.
func (r *ranking) page() []sessions.Found {
	slices.SortFunc(r.kept, func(a, b sessions.Found) int { return a.Position().Compare(b.Position()) })
	r.kept = r.kept[:min(len(r.kept), max(r.search.Limit, 0))]
	return r.kept
}
