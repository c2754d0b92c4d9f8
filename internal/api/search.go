package api

import (
	"context"
	"time"

	"dragoman/channels"
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
	// Cursor is the "after" of the next page.
	Cursor string `json:"cursor"`
}

// maxSearchReads is how many pages of results one call looks through for messages that
// the caller may read. If that was not enough, the page is short, and the next one goes on.
const maxSearchReads = 5

func (s *server) search(ctx context.Context, q Search) (Page[Hit], error) {
	like := sessions.Search{Query: q.Query, Key: q.Key, From: q.From, To: q.To, Limit: page(q.Limit)}
	if q.After != "" {
		place, err := sessions.ParseFoundCursor(q.After)
		if err != nil {
			return Page[Hit]{}, refuse("after", "after is the next of the page before, with the same query")
		}
		like.After = &place
	}
	if !q.Key.IsZero() {
		if err := s.readable(ctx, q.Key); err != nil {
			return Page[Hit]{}, err
		}
	}
	limit := like.Limit
	readable := map[channels.Key]bool{}
	hits := []Hit{}
	for range maxSearchReads {
		found, err := s.Store.SearchAll(ctx, like)
		if err != nil {
			return Page[Hit]{}, err
		}
		for _, f := range found {
			may, asked := readable[f.Key]
			if !asked {
				may, err = s.mayRead(ctx, f.Key)
				if err != nil {
					return Page[Hit]{}, err
				}
				readable[f.Key] = may
			}
			if !may {
				continue
			}
			hits = append(hits, Hit{Key: f.Key, Message: messageOf(f.Message), Words: f.Words, Cursor: f.Position().String()})
			if len(hits) == limit {
				return Page[Hit]{Data: hits, Next: hits[limit-1].Cursor}, nil
			}
		}
		if len(found) < like.Limit {
			return Page[Hit]{Data: hits}, nil
		}
		place := found[len(found)-1].Position()
		like.After = &place
	}
	return Page[Hit]{Data: hits, Next: like.After.String()}, nil
}
