package api

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

// Bounds are a part of a transcript, between two messages that do not belong to
// it. Each is a seq, or a time in RFC 3339, which means the first message from
// then on. "" does not bound.
type Bounds struct {
	After  string `json:"after,omitempty"`
	Before string `json:"before,omitempty"`
}

// Part is a part of a transcript, at most Limit messages long.
type Part struct {
	Key   channels.Key `json:"key"`
	Limit int          `json:"limit,omitempty"`
	Bounds
}

// messages returns the first messages within the bounds or, if only before is
// set, the last, oldest first.
func (a *admin) messages(ctx context.Context, p Part) ([]sessions.Message, error) {
	if err := requireKey(p.Key); err != nil {
		return nil, err
	}
	limit := page(p.Limit)
	after, timed, err := a.bound(ctx, p.Key, p.After)
	if err != nil {
		return nil, err
	}
	if timed {
		after-- // include the message at that time
	}
	before := int64(math.MaxInt64)
	if p.Before != "" {
		if before, _, err = a.bound(ctx, p.Key, p.Before); err != nil {
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
	return list(withoutAttached(messages[:n]), err)
}

// bound reads a seq, or finds the first message from a time on.
func (a *admin) bound(ctx context.Context, k channels.Key, text string) (seq int64, timed bool, err error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		if seq, err = strconv.ParseInt(cmp.Or(text, "0"), 10, 64); err != nil || seq < 0 {
			return 0, false, &Refusal{Sentence: text + " is neither the number of a message nor a time like 2026-11-01T10:00:00Z"}
		}
		return seq, false, nil
	}
	end, err := a.end(ctx, k)
	if err != nil {
		return 0, true, err
	}
	// After a clock was set back several messages can be the first from t on;
	// this finds one.
	n := sort.Search(int(end-1), func(n int) bool {
		var one []sessions.Message
		if err == nil {
			one, err = a.Store.Messages(ctx, k, int64(n), 1)
		}
		return len(one) > 0 && !one[0].At.Before(t)
	})
	return int64(n) + 1, true, err
}

// end is the seq of the next message of k.
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

// withoutAttached removes from messages, in place, the data that is only for
// their provider.
func withoutAttached(messages []sessions.Message) []sessions.Message {
	for i := range messages {
		messages[i].Attached = nil
	}
	return messages
}

// Hit is a message found by a search.
type Hit struct {
	sessions.Found
	// Cursor is the "after" of the next page.
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

// Running is an unfinished turn: it runs now, or will resume after a crash.
type Running struct {
	Turn string `json:"turn"` // "": there is none
	// Messages are those that it answers and its own so far, as they will be in
	// the transcript, but without a seq.
	Messages []sessions.Message `json:"messages"`
}

func (a *admin) running(ctx context.Context, k channels.Key) (Running, error) {
	p, err := a.Store.Running(ctx, k)
	return Running{p.Turn, soFar(p)}, err
}

// soFar returns the messages of a journal. Those that joined the running turn
// are steps of it, and are returned where they joined.
func soFar(p sessions.Pending) []sessions.Message {
	joined := make(map[int64]bool)
	for _, s := range p.Steps {
		if s.Kind == sessions.StepSteer && s.Message != nil {
			joined[s.Message.Seq] = true
		}
	}
	list := []sessions.Message{}
	for _, w := range p.Messages {
		if !joined[w.Seq] {
			m := sessions.UserMessage(w.Inbound)
			if m.At.IsZero() {
				m.At = w.Accepted
			}
			list = append(list, m)
		}
	}
	for _, s := range p.Steps {
		if s.Message != nil {
			m := *s.Message
			m.Seq = 0 // a steered message has its seq in the inbox
			list = append(list, m)
		}
	}
	for i := range list {
		list[i].Turn = p.Turn
	}
	return withoutAttached(list)
}
