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
	// Limit is 1 to 200; left out: a hundred.
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

// search finds what the caller may read, and only that: were others' messages left out of
// pages that the store had filled, a short page or its Next would tell of them.
func (s *server) search(ctx context.Context, q Search) (Page[Hit], error) {
	none := Page[Hit]{}
	limit := page(q.Limit)
	like := sessions.Search{Query: q.Query, Key: q.Key, From: q.From, To: q.To, Limit: limit + 1}
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
	var err error
	like.Within, err = s.searched(ctx, q.Key)
	if err != nil {
		return none, err
	}
	found, err := s.Store.SearchAll(ctx, like)
	if err != nil {
		return none, err
	}
	more := len(found) > limit
	hits := []Hit{}
	read := map[channels.Key]people.Sight{}
	for _, f := range found[:min(len(found), limit)] {
		sight, asked := read[f.Key]
		if !asked {
			sight, err = s.found(ctx, f.Key)
			if !q.Key.IsZero() {
				sight, err = s.read(ctx, f.Key)
			}
			if err != nil {
				return none, err
			}
			read[f.Key] = sight
		}
		if sight.May && f.Message.Seq >= sight.From {
			m := messageOf(f.Message, sight.Group)
			m.ReplacedBy = f.ReplacedBy
			hits = append(hits, Hit{Key: f.Key, Message: m, Words: f.Words, Marks: marksOf(f.Message.Content, f.Marks), Cursor: f.Position().String()})
		}
	}
	if !more {
		return Page[Hit]{Data: hits}, nil
	}
	return Page[Hit]{Data: hits, Next: found[limit-1].Position().String()}, nil
}

// searched are the conversations that a search of the caller looks in, each from the seq
// that they may see; nil at the socket, which sees all. k is the only one, if it is one.
func (s *server) searched(ctx context.Context, k channels.Key) (map[channels.Key]int64, error) {
	if !k.IsZero() {
		sight, err := s.read(ctx, k)
		return map[channels.Key]int64{k: sight.From}, err
	}
	if AtSocket(ctx) {
		return nil, nil
	}
	own, err := s.own(ctx)
	if err != nil {
		return nil, err
	}
	within := make(map[channels.Key]int64, len(own))
	for k, sight := range own {
		within[k] = sight.From
	}
	return within, nil
}
