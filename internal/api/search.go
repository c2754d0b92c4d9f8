package api

import (
	"context"
	"time"
	"unicode/utf16"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Search is a search over messages.
type Search struct {
	// Query is text as a person typed it. There is no query language.
	Query string `json:"query"`
	// Key is the conversation to look in; the zero key means all of them.
	Key channels.Key `json:"key,omitzero"`
	// From and To bound the time of a message; To is exclusive. Zero does not bound.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 1000; 0: a hundred.
	Limit int `json:"limit,omitempty"`
}

// Hit is a message found by a search.
type Hit struct {
	Key     channels.Key `json:"key"`
	Message Message      `json:"message"`
	// Words counts the different query words in the message.
	Words int `json:"words"`
	// Marks are where the content has them: the first hundred.
	Marks []Mark `json:"marks"`
	// Cursor is the "after" of the next page.
	Cursor string `json:"cursor"`
}

// Mark is a part of a message's content, in UTF-16 code units, as JavaScript counts them:
// content.slice(start, start + length).
type Mark struct {
	Start  int `json:"start"`
	Length int `json:"length"`
}

// marksOf are marks of content as they go over the wire.
func marksOf(content string, marks []sessions.Mark) []Mark {
	list := make([]Mark, 0, len(marks))
	at, units := 0, 0 // how far content is counted
	count := func(to int) int {
		for _, r := range content[at:to] {
			units += utf16.RuneLen(r)
		}
		at = to
		return units
	}
	for _, m := range marks {
		start := count(m.Start)
		list = append(list, Mark{Start: start, Length: count(m.End) - start})
	}
	return list
}

// maxSearchReads is how many pages of results one call looks through for messages that
// the caller may read. If that was not enough, the page is short, and the next one goes on.
const maxSearchReads = 5

func (s *server) search(ctx context.Context, q Search) (Page[Hit], error) {
	none := Page[Hit]{}
	like := sessions.Search{Query: q.Query, Key: q.Key, From: q.From, To: q.To, Limit: page(q.Limit)}
	if !q.From.IsZero() && !q.To.IsZero() && q.To.Before(q.From) {
		return none, refuse("to", "to is before from")
	}
	if q.After != "" {
		place, err := sessions.ParseFoundCursor(q.After)
		if err != nil {
			return none, refuse("after", "after is the next of the page before, with the same query")
		}
		like.After = &place
	}
	seen := map[channels.Key]people.Sight{}
	if !q.Key.IsZero() {
		sight, err := s.read(ctx, q.Key)
		if err != nil {
			return none, err
		}
		seen[q.Key] = sight
	}
	hits := []Hit{}
	for range maxSearchReads {
		found, err := s.Store.SearchAll(ctx, like)
		if err != nil {
			return none, err
		}
		visible, err := s.visible(ctx, found, seen)
		if err != nil {
			return none, err
		}
		hits = append(hits, visible...)
		if len(hits) >= like.Limit {
			hits = hits[:like.Limit]
			return Page[Hit]{Data: hits, Next: hits[like.Limit-1].Cursor}, nil
		}
		if len(found) < like.Limit {
			return Page[Hit]{Data: hits}, nil
		}
		place := found[len(found)-1].Position()
		like.After = &place
	}
	return Page[Hit]{Data: hits, Next: like.After.String()}, nil
}

// visible are those of found that the caller sees. seen remembers what they see.
func (s *server) visible(ctx context.Context, found []sessions.Found, seen map[channels.Key]people.Sight) ([]Hit, error) {
	var hits []Hit
	for _, f := range found {
		sight, asked := seen[f.Key]
		if !asked {
			var err error
			sight, err = s.found(ctx, f.Key)
			if err != nil {
				return nil, err
			}
			seen[f.Key] = sight
		}
		if sight.May && f.Message.Seq >= sight.From {
			hits = append(hits, Hit{Key: f.Key, Message: messageOf(f.Message), Words: f.Words, Marks: marksOf(f.Message.Content, f.Marks), Cursor: f.Position().String()})
		}
	}
	return hits, nil
}
