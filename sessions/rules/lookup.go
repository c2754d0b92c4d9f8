package rules

import "dragoman/sessions"

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
