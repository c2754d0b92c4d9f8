package engine

import (
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
	said := slices.Concat(all, some)
	slices.SortFunc(said, func(a, b sessions.Message) int { return int(a.Seq - b.Seq) })
	hits = rules.Lookup(said, l)
	hits.All, hits.Some = min(len(all), sessions.MostCounted), min(len(some), sessions.MostCounted)
	for i, m := range hits.Messages {
		hits.Messages[i] = rules.Clone(m)
	}
	return hits, nil
}

// SearchAll finds messages by words: see sessions.Catalog.
func (s *Store) SearchAll(ctx context.Context, search sessions.Search) ([]sessions.Found, error) {
	found, err := s.searchAll(ctx, search)
	return found, s.wrap("search all", err)
}

func (s *Store) searchAll(ctx context.Context, search sessions.Search) ([]sessions.Found, error) {
	words, ranking := rules.Query(search.Query), rules.NewRanking(search)
	if len(words) == 0 || search.Limit <= 0 {
		return nil, nil
	}
	for f, err := range s.back.Scored(ctx, words, search.Key) {
		if err != nil {
			return nil, err
		}
		ranking.Add(f)
	}
	var found []sessions.Found
	for _, f := range ranking.Page() {
		if f.Message.Role != "" { // it was read whole
			f.Message = rules.Clone(f.Message)
			found = append(found, f)
			continue
		}
		for m, err := range s.back.Messages(ctx, f.Key, rows.Said{After: f.Message.Seq - 1, Before: f.Message.Seq + 1, Once: true}) {
			if err != nil {
				return nil, err
			}
			f.Message = m
			found = append(found, f)
		}
	}
	return found, nil
}
