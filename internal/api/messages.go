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

// Part is a part of a transcript, at most Limit messages long (1 to 200; left out: a hundred), between two messages
// that do not belong to it. Each bound is a seq, or a time in RFC 3339, which means the
// first message from then on. "" does not bound.
type Part struct {
	Key    channels.Key `json:"key"`
	After  string       `json:"after,omitempty"`
	Before string       `json:"before,omitempty"`
	Limit  int          `json:"limit,omitempty"`
}

// messages returns the first messages within the bounds or, without an after, the last,
// oldest first. The page's next takes the place of the after, or of the before.
func (s *server) messages(ctx context.Context, p Part) (Page[Message], error) {
	none := Page[Message]{}
	sight, err := s.read(ctx, p.Key)
	if err != nil {
		return none, err
	}
	limit := page(p.Limit)
	after, timed, err := s.bound(ctx, p.Key, "after", p.After)
	if err != nil {
		return none, err
	}
	if timed {
		after-- // include the message at that time
	}
	before := int64(math.MaxInt64)
	if p.Before != "" {
		before, _, err = s.bound(ctx, p.Key, "before", p.Before)
		if err != nil {
			return none, err
		}
	}
	if p.After == "" {
		end, err := s.end(ctx, p.Key)
		if err != nil {
			return none, err
		}
		after = max(min(before, end)-1-int64(limit), 0)
	}
	after = max(after, sight.From-1)
	messages, err := s.Store.Messages(ctx, p.Key, after, limit)
	if err != nil {
		return none, err
	}
	n := sort.Search(len(messages), func(i int) bool { return messages[i].Seq >= before })
	page := Page[Message]{Data: messagesOf(messages[:n], sight.Group)}
	if err := s.markReplaced(ctx, p.Key, page.Data); err != nil {
		return none, err
	}
	if err := s.markFeedback(ctx, messages[:n], page.Data); err != nil {
		return none, err
	}
	if n == limit {
		next := messages[n-1].Seq
		if p.After == "" {
			next = messages[0].Seq
		}
		if next > max(sight.From, 1) {
			page.Next = strconv.FormatInt(next, 10)
		}
	}
	return page, nil
}

// markReplaced sets ReplacedBy of messages in a row of k.
func (s *server) markReplaced(ctx context.Context, k channels.Key, list []Message) error {
	if len(list) == 0 {
		return nil
	}
	replaced, err := s.Store.Replacements(ctx, k, list[0].Seq)
	for i := range list {
		list[i].ReplacedBy = sessions.ReplacedBy(replaced, list[i].Seq)
	}
	return err
}

// bound reads a seq, or finds the first message from a time on.
func (s *server) bound(ctx context.Context, k channels.Key, name, text string) (seq int64, timed bool, err error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		seq, err = strconv.ParseInt(cmp.Or(text, "0"), 10, 64)
		if err != nil || seq < 0 {
			return 0, false, refuse(name, "%s is neither the number of a message nor a time like 2026-11-01T10:00:00Z", text)
		}
		return seq, false, nil
	}
	end, err := s.end(ctx, k)
	if err != nil {
		return 0, true, err
	}
	// After a clock was set back several messages can be the first from t on;
	// this finds one.
	n := sort.Search(int(end-1), func(n int) bool {
		var one []sessions.Message
		if err == nil {
			one, err = s.Store.Messages(ctx, k, int64(n), 1)
		}
		return len(one) > 0 && !one[0].At.Before(t)
	})
	return int64(n) + 1, true, err
}

// end is the seq of the next message of k.
func (s *server) end(ctx context.Context, k channels.Key) (int64, error) {
	all, err := s.Store.Generations(ctx, k)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && len(all) == 0 {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	return all[len(all)-1].LastSeq + 1, nil
}

// Running is an unfinished turn: it runs now, or will resume after a crash.
type Running struct {
	Turn string `json:"turn"` // "": there is none
	// Messages are those that it answers and its own so far, as they will be in
	// the transcript, but without a seq. Before its first step there are none: the feed has
	// what people wrote.
	Messages []Message `json:"messages"`
	// Text is what people can read of its answer so far, with the words of Messages. It is
	// left out before the first word, and where the turn runs on another node. The events
	// "text" go on from here: see their offset.
	Text string `json:"text,omitempty"`
}

func (s *server) running(ctx context.Context, a About) (Running, error) {
	sight, err := s.read(ctx, a.Key)
	if err != nil {
		return Running{}, err
	}
	p, err := s.Store.Running(ctx, a.Key)
	now := Running{Turn: p.Turn, Messages: messagesOf(soFar(p), sight.Group)}
	if s.Talk == nil {
		return now, err
	}
	turn, text := s.Talk.Saying(a.Key)
	if p.Turn == "" {
		now.Turn = turn
	}
	if now.Turn == turn {
		now.Text = text
	}
	return now, err
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
		if s.Message != nil && s.Kind != sessions.StepCut {
			m := *s.Message
			m.Seq = 0 // a steered message has its seq in the inbox
			list = append(list, m)
		}
	}
	for i := range list {
		list[i].Turn = p.Turn
	}
	return list
}
