package httpapi

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/url"
	"sort"
	"strconv"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Bounds are the part of a transcript between two messages, of which neither
// is in it. Each is named by its seq, or by a time in RFC 3339, which stands
// for the first message from then on. "" does not bound.
type Bounds struct{ After, Before string }

// messages answers with the first messages of the bounds or, if only before is
// there, with the last, oldest first.
func (a *admin) messages(ctx context.Context, k channels.Key, r *request) (any, error) {
	limit := r.limit()
	after, timed, err := a.border(ctx, k, r, "after")
	if err != nil {
		return nil, err
	}
	if timed {
		after-- // what was said at that time is wanted
	}
	before := int64(math.MaxInt64)
	if r.text("before") != "" {
		if before, _, err = a.border(ctx, k, r, "before"); err != nil {
			return nil, err
		}
	}
	if r.text("after") == "" && r.text("before") != "" {
		end, err := a.end(ctx, k)
		if err != nil {
			return nil, err
		}
		after = max(min(before, end)-1-int64(limit), 0)
	}
	messages, err := a.Store.Messages(ctx, k, after, limit)
	n := sort.Search(len(messages), func(i int) bool { return messages[i].Seq >= before })
	return list(forPeople(messages[:n]), err)
}

// border reads a seq, or looks for the first message of a time.
func (a *admin) border(ctx context.Context, k channels.Key, r *request, name string) (seq int64, timed bool, err error) {
	t, err := time.Parse(time.RFC3339Nano, r.text(name))
	if err != nil {
		if seq, err = strconv.ParseInt(cmp.Or(r.text(name), "0"), 10, 64); err != nil || seq < 0 {
			return 0, false, &badRequest{name + " wants the number of a message, or a time like 2026-11-01T10:00:00Z"}
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
	v := url.Values{"key": {k.String()}, "limit": {strconv.Itoa(limit)}}
	if b.After != "" {
		v.Set("after", b.After)
	}
	if b.Before != "" {
		v.Set("before", b.Before)
	}
	return fetch[[]sessions.Message](ctx, c, "/v1/sessions/log", v)
}

// Hit is one message that a search found.
type Hit struct {
	sessions.Found
	// Cursor is what "after" takes for the page behind this one.
	Cursor string `json:"cursor"`
}

func (a *admin) searchAll(ctx context.Context, r *request) (any, error) {
	s := sessions.Search{Query: r.text("query"), Limit: r.limit(), From: r.time("from"), To: r.time("to")}
	if text := r.text("key"); text != "" {
		var err error
		if s.Key, err = key(text); err != nil {
			return nil, err
		}
	}
	if text := r.text("after"); text != "" {
		place, err := sessions.ParseFoundCursor(text)
		if err != nil {
			return nil, &badRequest{"after wants the cursor of the last message on the previous page"}
		}
		s.After = &place
	}
	if r.bad != nil {
		return nil, r.bad
	}
	found, err := a.Store.SearchAll(ctx, s)
	hits := make([]Hit, len(found))
	for i, f := range found {
		f.Message.Attached = nil
		hits[i] = Hit{f, f.Position().String()}
	}
	return hits, err
}

// time reads a query value, the zero time if there is none.
func (r *request) time(name string) (t time.Time) {
	s := r.text(name)
	if s == "" {
		return t
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		r.bad = &badRequest{name + " wants a time like 2026-11-01T10:00:00Z"}
	}
	return t
}

// SearchAll finds messages by words, the best first.
func (c *Client) SearchAll(ctx context.Context, s sessions.Search) ([]Hit, error) {
	v := url.Values{"query": {s.Query}, "limit": {strconv.Itoa(s.Limit)}}
	if !s.Key.IsZero() {
		v.Set("key", s.Key.String())
	}
	for name, t := range map[string]time.Time{"from": s.From, "to": s.To} {
		if !t.IsZero() {
			v.Set(name, t.Format(time.RFC3339Nano))
		}
	}
	if s.After != nil {
		v.Set("after", s.After.String())
	}
	return fetch[[]Hit](ctx, c, "/v1/search", v)
}
