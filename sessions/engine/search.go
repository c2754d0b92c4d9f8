package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Lookup is [Store.SearchAll] within a range of seqs of k, without messages that were
// replaced. It also counts the other hits.
func (s *Store) Lookup(ctx context.Context, k channels.Key, l sessions.Lookup) (hits sessions.Hits, err error) {
	v := s.viewOf(ctx, k)
	words := rules.Query(l.Query)
	if v.err == nil && l.After > 0 && l.Before > 0 && l.Before <= l.After {
		v.err = fmt.Errorf("the messages begin after %d and end before %d", l.After, l.Before)
	}
	if v.err != nil || len(words) == 0 || l.Limit <= 0 {
		return hits, s.wrap("search", v.err)
	}
	replaced := v.replacements(k, l.After+1)
	counts := func(f sessions.Found) bool { return sessions.ReplacedBy(replaced, f.Message.Seq) == 0 }
	w := rows.WordSearch{Query: words, All: true, Key: k, MessageFilter: rows.MessageFilter{After: l.After, Before: l.Before, Newest: !l.Oldest}}
	found := v.search(w, counts)
	hits.All = len(found)
	if hits.All < l.Limit && len(words) > 1 {
		w.All = false
		some := v.search(w, func(f sessions.Found) bool { return f.Words < len(words) && counts(f) })
		slices.SortStableFunc(some, func(a, b sessions.Found) int { return cmp.Compare(b.Words, a.Words) })
		hits.Some, found = len(some), append(found, some...)
	}
	for _, f := range v.loaded(found[:min(l.Limit, len(found))]) {
		hits.Messages = append(hits.Messages, f.Message)
	}
	return hits, s.wrap("search", v.err)
}

// search returns the first messages that w finds and keep accepts, up to MostCounted.
func (v *view) search(w rows.WordSearch, keep func(sessions.Found) bool) (list []sessions.Found) {
	for f := range each(v, v.r.Search(v.ctx, w)) {
		if keep(f) {
			list = append(list, f)
		}
		if len(list) == sessions.MostCounted {
			break
		}
	}
	return list
}

// loaded returns the messages of list that still exist, with their content.
func (v *view) loaded(list []sessions.Found) (found []sessions.Found) {
	for _, f := range list {
		for m := range v.messages(f.Key, rows.MessageFilter{After: f.Message.Seq - 1, Before: f.Message.Seq + 1}) {
			f.Message = m
			found = append(found, f)
		}
	}
	return found
}

// SearchAll finds messages by words in their content: those with the most words of
// the query first, ties by time, the latest first. It skips what IsFound reports.
// If the different words of a message exceed one mebibyte together, only the first
// mebibyte is searched.
func (s *Store) SearchAll(ctx context.Context, search sessions.Search) ([]sessions.Found, error) {
	words, ranking := rules.Query(search.Query), ranking{search: search}
	v := s.view(ctx)
	v.err = inOrder(search.From, search.To)
	if v.err != nil || len(words) == 0 || search.Limit <= 0 {
		return nil, s.wrap("search all", v.err)
	}
	for f := range each(v, v.r.Search(ctx, rows.WordSearch{Query: words, Key: search.Key})) {
		ranking.add(f)
	}
	found := v.loaded(ranking.page())
	v.markReplaced(found)
	for i := range found {
		found[i].Marks = rules.Located(words, found[i].Message.Content, sessions.MostMarks)
	}
	return found, s.wrap("search all", v.err)
}

// ranking selects a page of the results of a search, which come in any order. It
// keeps little more than the page, because most messages match a common word.
type ranking struct {
	search sessions.Search
	kept   []sessions.Found
}

// add offers f. Only its key, seq, time and words must be set.
func (r *ranking) add(f sessions.Found) {
	at, s := f.Message.At, r.search
	early := !s.From.IsZero() && at.Before(s.From)
	late := !s.To.IsZero() && !at.Before(s.To)
	if s.Within != nil {
		from, in := s.Within[f.Key]
		if !in || f.Message.Seq < from {
			return
		}
	}
	if f.Words == 0 || early || late || s.After != nil && f.Position().Compare(*s.After) <= 0 {
		return
	}
	r.kept = append(r.kept, f)
	if len(r.kept) > 2*max(s.Limit, 1000) {
		r.page()
	}
}

// page returns the page, best first.
func (r *ranking) page() []sessions.Found {
	slices.SortFunc(r.kept, func(a, b sessions.Found) int { return a.Position().Compare(b.Position()) })
	r.kept = r.kept[:min(len(r.kept), max(r.search.Limit, 0))]
	return r.kept
}
