package rules

import (
	"slices"

	"dragoman/sessions"
)

// Searched reports whether a search finds m at all. What a search of the
// conversation found is a copy, and one that the next search would find too:
// the copies would soon take the places of what was said.
func Searched(m sessions.Message) bool {
	return m.Role != sessions.RoleTool || m.Name != sessions.HistoryTool
}

// Lookup is [sessions.Archive.Lookup] in said, all messages of a conversation
// from oldest to newest.
func Lookup(said []sessions.Message, l sessions.Lookup) (hits sessions.Hits) {
	var there []sessions.Message
	for _, m := range said {
		if m.Seq > l.After && (l.Before <= 0 || m.Seq < l.Before) && Searched(m) {
			there = append(there, m)
		}
	}
	query := Query(l.Query)
	if len(query) == 0 || l.Limit <= 0 {
		return hits
	}
	hits.Messages, hits.All, hits.Some = best(query, there, content, l.Oldest, l.Limit)
	hits.All, hits.Some = min(hits.All, sessions.MostCounted), min(hits.Some, sessions.MostCounted)
	if hits.All >= l.Limit {
		hits.Some = 0
	}
	return hits
}

func content(m sessions.Message) string { return m.Content }

// Ranking keeps the page that a [sessions.Search] wants of what it is shown, in
// whatever order, and little more: a common word is in most messages.
type Ranking struct {
	search sessions.Search
	kept   []sessions.Found
}

// NewRanking is an empty one.
func NewRanking(s sessions.Search) *Ranking { return &Ranking{search: s} }

// Add shows f, of which only the place and what the page is to have must be set.
func (r *Ranking) Add(f sessions.Found) {
	at, s := f.Message.At, r.search
	early := !s.From.IsZero() && at.Before(s.From)
	late := !s.To.IsZero() && !at.Before(s.To)
	if f.Words == 0 || early || late || s.After != nil && f.Position().Compare(*s.After) <= 0 {
		return
	}
	r.kept = append(r.kept, f)
	if len(r.kept) > 2*max(s.Limit, 1000) {
		r.Page()
	}
}

// Page is what was wanted, best first.
func (r *Ranking) Page() []sessions.Found {
	slices.SortFunc(r.kept, func(a, b sessions.Found) int { return a.Position().Compare(b.Position()) })
	r.kept = r.kept[:min(len(r.kept), max(r.search.Limit, 0))]
	return r.kept
}
