package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

const (
	// askLook is how often Ask looks for the answer although it heard nothing: a
	// question may also end without a turn (the operator dropped it, its conversation was
	// deleted), and the node whose turn ended may have died before it told the others.
	askLook = 5 * time.Second
	// askFeed is how many of the newest items of a conversation are searched
	// for the answer, which alone may have maxParts.
	askFeed = 2 * maxParts
)

// ErrUnanswered: the question was accepted, and ended without an answer.
var ErrUnanswered = errors.New("the question was stopped before it was answered")

// RefusedError says in a sentence why a question was not accepted, or what the
// chat was told instead of an answer.
type RefusedError struct {
	Why string
	// Later says that the same question may be accepted in a while.
	Later bool
}

func (e *RefusedError) Error() string { return e.Why }

// Question is a question of somebody in a conversation.
type Question struct {
	Key      channels.Key
	ID, Text string
	// Sender is who asks; zero: whoever runs Dragoman. Others ask as if they wrote in the
	// conversation: only where they may talk, and within their rate.
	Sender channels.Person
	// Owner: only whoever runs Dragoman reads the answer. Without an answer they are
	// also told how to fix it.
	Owner bool
}

// Ask puts q into its conversation and waits for the answer, which is also delivered
// there. It returns what the chat receives, one line after another if that is several
// messages. A question with the id of an earlier one is not asked again: Ask waits for
// the earlier one's answer, also after a restart. When ctx ends first, the question is
// answered all the same. Errors: [*RefusedError], [ErrUnanswered], sessions.ErrFull,
// ctx's.
func (g *Gateway) Ask(ctx context.Context, q Question) (string, error) {
	k, text := q.Key, strings.TrimSpace(strings.ToValidUTF8(q.Text, "\uFFFD"))
	switch {
	case g.bindings[k.Channel()] == nil:
		return "", &RefusedError{Why: "there is no channel " + k.Channel()}
	case text == "":
		return "", &RefusedError{Why: "the question is empty"}
	case len(text) > g.opts.MaxMessageBytes:
		return "", &RefusedError{Why: fmt.Sprintf("the question is too long (%s, at most %s)", size(len(text)), size(g.opts.MaxMessageBytes))}
	case g.busy.closed():
		return "", &RefusedError{Why: "Dragoman is stopping"}
	}
	m := channels.Inbound{Key: k, Text: text, At: g.opts.Now(), Sender: q.Sender, Private: true}
	former := ""
	if q.Sender.ID() == "" {
		m.Sender = channels.Person{IDs: []string{people.OperatorID}, Name: "operator"}
		m.ID = onceID("ask", q.ID)
		former = formerAsk + q.ID
	} else {
		m.ID = onceID("ask", q.ID+"@"+q.Sender.ID()) // two people may choose one id
		if err := g.mayAsk(ctx, m); err != nil {
			return "", err
		}
	}
	got, err := g.store.Accept(ctx, sessions.Entry{Inbound: m, FormerID: former, MaxWaiting: g.opts.MaxWaiting, ResetBefore: g.resetBefore(m)})
	if err != nil {
		return "", fmt.Errorf("gateway: ask in %s: %w", k, err)
	}
	g.opts.Observer.Accepted(k.Channel(), string(got.Outcome))
	if got.Outcome == sessions.Queued {
		g.live.arrived(k, got.Seq, g.opts.Queue)
	}
	for {
		text, over, err := g.lookOrWait(ctx, m, got.Seq, q.Owner)
		if over || err != nil {
			return text, err
		}
	}
}

// lookOrWait is [Gateway.answerTo] and, if there is no answer, a wait until one may be
// there.
func (g *Gateway) lookOrWait(ctx context.Context, m channels.Inbound, question int64, owner bool) (text string, over bool, err error) {
	// It listens before the look, so that it misses no end.
	l, err := g.opts.Events.Listen(ctx, stream.Filter{
		Names: []stream.Name{stream.Settled}, See: func(e *stream.Event) bool { return e.Key == m.Key },
	}, "")
	if err != nil {
		return "", false, fmt.Errorf("gateway: wait for the answer to a question in %s: %w", m.Key, err)
	}
	defer l.Close()
	text, over, err = g.answerTo(ctx, m, question, owner)
	if over || err != nil {
		return text, over, err
	}
	limited, cancel := context.WithTimeout(ctx, askLook)
	defer cancel()
	_, _ = l.Next(limited) // whatever it says, there may be something to see
	return "", false, ctx.Err()
}

// mayAsk refuses a question of somebody who may not write it as a message.
func (g *Gateway) mayAsk(ctx context.Context, m channels.Inbound) error {
	verdict, err := g.opts.Gate.MayTalk(ctx, m)
	switch {
	case err != nil:
		return err
	case verdict != people.Welcome:
		return &RefusedError{Why: "you may not talk on " + m.Key.Channel()}
	case !g.withinRate(ctx, m):
		return &RefusedError{Why: fmt.Sprintf("that is more than %d messages in a minute; wait a little", g.opts.RatePerMinute), Later: true}
	}
	return nil
}

// answerTo looks for the answer to m, which has that number. over: there is one, or none
// will come.
func (g *Gateway) answerTo(ctx context.Context, m channels.Inbound, question int64, owner bool) (text string, over bool, err error) {
	k := m.Key
	items, err := g.store.Feed(ctx, k, 0, askFeed)
	if err != nil {
		return "", false, fmt.Errorf("gateway: look for a question in %s: %w", k, err)
	}
	i := slices.IndexFunc(items, func(it sessions.FeedItem) bool { return it.From == "person" && it.Seq == question })
	if i >= 0 && items[i].Waiting {
		return "", false, nil
	}
	h, err := g.store.History(ctx, k, sessions.HistoryLimit{})
	if err != nil {
		return "", false, fmt.Errorf("gateway: look for an answer in %s: %w", k, err)
	}
	// A turn appends the messages that it answers, and then its answer.
	asked := slices.IndexFunc(h.Messages, func(one sessions.Message) bool {
		return i >= 0 && one.Role == sessions.RoleUser && one.Sender == m.Sender.ID() && one.At.Equal(items[i].At)
	})
	if asked < 0 {
		return "", true, &RefusedError{Why: "it was asked long ago; to read the answer: dragoman sessions show " + k.String()}
	}
	turn := h.Messages[asked].Turn
	var said []string
	var last sessions.Message
	for _, m := range h.Messages[asked:] {
		if turn != "" && m.Turn == turn && m.Role == sessions.RoleAssistant {
			last = m
			if m.Content != "" {
				said = append(said, m.Content)
			}
		}
	}
	if last.Role == "" || len(last.ToolCalls) > 0 {
		return "", true, ErrUnanswered
	}
	text = g.sentAnswer(k, turn, items[i:])
	if text == "" {
		text = strings.Join(said, "\n\n")
	}
	if !last.Synthetic {
		return text, true, nil
	}
	if cure := g.cures.of(turn); owner && cure != "" {
		text += "\n\n" + cure
	}
	return "", true, &RefusedError{Why: text}
}

// answersAsk reports whether the operator asked by [Gateway.Ask], which can return
// the cure of a failed model beside the answer.
func (r *run) answersAsk() bool {
	return slices.ContainsFunc(r.rows, func(w sessions.InboxRecord) bool { return w.Inbound.Sender.ID() == people.OperatorID })
}

// sentAnswer is the answer of turn as it was sent to k, or "" if items does not have
// all of it.
func (g *Gateway) sentAnswer(k channels.Key, turn string, items []sessions.FeedItem) string {
	var parts []string
	all := 0
	for _, it := range items {
		answers := it.Kind == channels.KindAnswer || it.Kind == channels.KindApology
		switch {
		case it.Turn != turn || !answers:
		case it.File != "":
			return it.Text
		default:
			all = it.Parts
			parts = append(parts, g.plain(k, it.Text, it.Form))
		}
	}
	if len(parts) != all {
		return ""
	}
	return strings.Join(parts, "\n")
}

// cures keeps, in memory only, the advice for whoever runs Dragoman about turns that
// answered their question in somebody else's chat.
type cures struct {
	mu sync.Mutex
	m  map[string]string // by turn id
}

const maxCures = 1000

func (c *cures) keep(turn, cure string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) >= maxCures {
		clear(c.m)
	}
	c.m[turn] = cure
}

func (c *cures) of(turn string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m[turn]
}
