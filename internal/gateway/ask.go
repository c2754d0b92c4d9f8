package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// operatorID is the sender of what the operator asks in a conversation. No
// network gives an identity that looks so.
const operatorID = "operator"

const (
	// askedEvery is how often the store is asked whether a question is answered.
	askedEvery = 200 * time.Millisecond
	// askedWithin is how many of the newest items of a conversation are looked
	// through for it.
	askedWithin = 200
)

// ErrUnanswered: the question was taken, and ended without an answer.
var ErrUnanswered = errors.New("the question was stopped before it was answered")

// RefusedError says in a sentence why a question is not taken, or what the chat
// was told instead of an answer.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// Ask puts a question of the operator's into the conversation k and waits for
// the answer, which is also delivered there. A question with the id of one that
// was asked before is that one: only its answer is waited for, also after a
// restart. When ctx ends first, the question stays and is answered all the
// same. Errors: [*RefusedError], [ErrUnanswered], sessions.ErrFull, ctx's.
func (g *Gateway) Ask(ctx context.Context, k channels.Key, id, text string) (string, error) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	switch {
	case g.bindings[k.Channel()] == nil:
		return "", &RefusedError{"there is no channel " + k.Channel()}
	case text == "":
		return "", &RefusedError{"the question is empty"}
	case len(text) > g.opts.MaxMessageBytes:
		return "", &RefusedError{fmt.Sprintf("the question is too long (%s, at most %s)", size(len(text)), size(g.opts.MaxMessageBytes))}
	case g.busy.closed():
		return "", &RefusedError{"Dragoman is stopping"}
	}
	m := channels.Inbound{
		Key: k, ID: "ask:" + id, Text: text, At: g.opts.Now(),
		Sender: channels.Person{IDs: []string{operatorID}, Name: "operator"}, Private: true,
	}
	got, err := g.store.Accept(ctx, sessions.Entry{Inbound: m, MaxWaiting: g.opts.MaxWaiting, ResetBefore: g.resetBefore(m)})
	if err != nil {
		return "", fmt.Errorf("gateway: ask in %s: %w", k, err)
	}
	g.opts.Observer.Accepted(k.Channel(), string(got.Outcome))
	if got.Outcome == sessions.Queued {
		g.live.arrived(k, got.Seq, m, g.opts.Queue)
	}
	for {
		if text, over, err := g.answerTo(ctx, k, m.ID); over || err != nil {
			return text, err
		}
		if !sleep(ctx, askedEvery) {
			return "", ctx.Err()
		}
	}
}

// answerTo looks for the answer to a question in the store. Over says that
// there is one, or that none will come.
func (g *Gateway) answerTo(ctx context.Context, k channels.Key, id string) (text string, over bool, err error) {
	items, err := g.store.Feed(ctx, k, 0, askedWithin)
	if err != nil {
		return "", false, fmt.Errorf("gateway: look for a question in %s: %w", k, err)
	}
	i := slices.IndexFunc(items, func(it sessions.FeedItem) bool { return it.From == "person" && it.ID == id })
	if i >= 0 && items[i].Waiting {
		return "", false, nil
	}
	h, err := g.store.History(ctx, k, sessions.HistoryLimit{})
	if err != nil {
		return "", false, fmt.Errorf("gateway: look for an answer in %s: %w", k, err)
	}
	// A turn adds what it answers, as it was said, and then its answer.
	asked := slices.IndexFunc(h.Messages, func(m sessions.Message) bool {
		return i >= 0 && m.Role == sessions.RoleUser && m.Sender == operatorID && m.At.Equal(items[i].At)
	})
	if asked < 0 {
		return "", true, &RefusedError{"it was asked long ago; dragoman sessions show " + k.String() + " has its answer"}
	}
	turn := h.Messages[asked].Turn
	for _, m := range slices.Backward(h.Messages[asked:]) {
		switch {
		case turn == "" || m.Turn != turn || m.Role != sessions.RoleAssistant || len(m.ToolCalls) > 0:
		case m.Synthetic:
			return "", true, &RefusedError{m.Content}
		default:
			return m.Content, true, nil
		}
	}
	return "", true, ErrUnanswered
}
