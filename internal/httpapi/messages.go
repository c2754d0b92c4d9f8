package httpapi

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sort"
	"strconv"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Bounds are the part of a transcript between two messages, of which neither
// is in it. Each is named by its seq, or by a time in RFC 3339, which stands
// for the first message from then on. "" does not bound.
type Bounds struct {
	After  string `json:"after,omitempty"`
	Before string `json:"before,omitempty"`
}

// part asks for messages of a conversation within bounds.
type part struct {
	Key   channels.Key `json:"key"`
	Limit int          `json:"limit,omitempty"`
	Bounds
}

// messages answers with the first messages of the bounds or, if only before is
// there, with the last, oldest first.
func (a *admin) messages(ctx context.Context, p part) ([]sessions.Message, error) {
	if err := named(p.Key); err != nil {
		return nil, err
	}
	limit := page(p.Limit)
	after, timed, err := a.border(ctx, p.Key, p.After)
	if err != nil {
		return nil, err
	}
	if timed {
		after-- // what was said at that time is wanted
	}
	before := int64(math.MaxInt64)
	if p.Before != "" {
		if before, _, err = a.border(ctx, p.Key, p.Before); err != nil {
			return nil, err
		}
	}
	if p.After == "" && p.Before != "" {
		end, err := a.end(ctx, p.Key)
		if err != nil {
			return nil, err
		}
		after = max(min(before, end)-1-int64(limit), 0)
	}
	messages, err := a.Store.Messages(ctx, p.Key, after, limit)
	n := sort.Search(len(messages), func(i int) bool { return messages[i].Seq >= before })
	return list(forPeople(messages[:n]), err)
}

// border reads a seq, or looks for the first message of a time.
func (a *admin) border(ctx context.Context, k channels.Key, text string) (seq int64, timed bool, err error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		if seq, err = strconv.ParseInt(cmp.Or(text, "0"), 10, 64); err != nil || seq < 0 {
			return 0, false, &badRequest{text + " is not a place: a page of messages wants the number of a message, or a time like 2026-11-01T10:00:00Z"}
		}
		return seq, false, nil
	}
	end, err := a.end(ctx, k)
	if err != nil {
		return 0, true, err
	}
	// A clock that was set back makes this one of the places where time passes t.
	n := sort.Search(int(end-1), func(n int) bool {
		var one []sessions.Message
		if err == nil {
			one, err = a.Store.Messages(ctx, k, int64(n), 1)
		}
		return len(one) > 0 && !one[0].At.Before(t)
	})
	return int64(n) + 1, true, err
}

// end is the seq that the next message of k gets.
func (a *admin) end(ctx context.Context, k channels.Key) (int64, error) {
	all, err := a.Store.Generations(ctx, k)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && len(all) == 0 {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	return all[len(all)-1].LastSeq + 1, nil
}

// forPeople takes from messages what only their provider is to see, in place.
func forPeople(messages []sessions.Message) []sessions.Message {
	for i := range messages {
		messages[i].Attached = nil
	}
	return messages
}

// Messages reads a page of the transcript of k, oldest first.
func (c *Client) Messages(ctx context.Context, k channels.Key, after int64, limit int) ([]sessions.Message, error) {
	return c.Part(ctx, k, Bounds{After: strconv.FormatInt(after, 10)}, limit)
}

// Part reads the first messages of a part of the transcript of k or, if it has
// no After, the last, oldest first.
func (c *Client) Part(ctx context.Context, k channels.Key, b Bounds, limit int) ([]sessions.Message, error) {
	return fetch[[]sessions.Message](ctx, c, "/v1/sessions/log", part{k, limit, b})
}

// Hit is one message that a search found.
type Hit struct {
	sessions.Found
	// Cursor is what "after" takes for the page behind this one.
	Cursor string `json:"cursor"`
}

func (a *admin) searchAll(ctx context.Context, s sessions.Search) ([]Hit, error) {
	s.Limit = page(s.Limit)
	found, err := a.Store.SearchAll(ctx, s)
	hits := make([]Hit, len(found))
	for i, f := range found {
		f.Message.Attached = nil
		hits[i] = Hit{f, f.Position().String()}
	}
	return hits, err
}

// SearchAll finds messages by words, the best first.
func (c *Client) SearchAll(ctx context.Context, s sessions.Search) ([]Hit, error) {
	return fetch[[]Hit](ctx, c, "/v1/search", s)
}
