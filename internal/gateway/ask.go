package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// operatorID is the sender of what the operator asks in a conversation. No
// network gives an identity that looks so.
const operatorID = "operator"

const (
	// askedEvery is how often the store is asked whether a question is answered.
	askedEvery = 200 * time.Millisecond
	// askedWithin is how many of the newest items of a conversation are looked
	// through for it. An answer alone may have mostParts.
	askedWithin = 2 * mostParts
)

// ErrUnanswered: the question was taken, and ended without an answer.
var ErrUnanswered = errors.New("the question was stopped before it was answered")

// RefusedError says in a sentence why a question is not taken, or what the chat
// was told instead of an answer.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// Question is what the operator asks in a conversation.
type Question struct {
	Key      channels.Key
	ID, Text string
	// Owner says that only whoever runs Dragoman reads the answer: where there is
	// none they are told the cure too.
	Owner bool
}

// Ask puts q into its conversation and waits for the answer, which is also
// delivered there: it returns what the chat is sent for q, in lines of its own
// if that is several messages. A question with the id of one that was asked
// before is that one: only its answer is waited for, also after a restart. When
// ctx ends first, the question stays and is answered all the same. Errors:
// [*RefusedError], [ErrUnanswered], sessions.ErrFull, ctx's.
func (g *Gateway) Ask(ctx context.Context, q Question) (string, error) {
	k, text := q.Key, strings.TrimSpace(strings.ToValidUTF8(q.Text, "\uFFFD"))
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
		Key: k, ID: "ask:" + q.ID, Text: text, At: g.opts.Now(),
		Sender: channels.Person{IDs: []string{operatorID}, Name: "operator"}, Private: true,
	}
	got, err := g.store.Accept(ctx, sessions.Entry{Inbound: m, MaxWaiting: g.opts.MaxWaiting, ResetBefore: g.resetBefore(m)})
	if err != nil {
		return "", fmt.Errorf("gateway: ask in %s: %w", k, err)
	}
	g.opts.Observer.Accepted(k.Channel(), string(got.Outcome))
	if got.Outcome == sessions.Queued {
		g.live.arrived(k, g.opts.Queue)
	}
	for {
		if text, over, err := g.answerTo(ctx, k, m.ID, q.Owner); over || err != nil {
			return text, err
		}
		if !sleep(ctx, askedEvery) {
			return "", ctx.Err()
		}
	}
}

// answerTo looks for the answer to a question in the store. Over says that
// there is one, or that none will come.
func (g *Gateway) answerTo(ctx context.Context, k channels.Key, id string, owner bool) (text string, over bool, err error) {
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
		return "", true, &RefusedError{"it was asked long ago; its answer is in: dragoman sessions show " + k.String() + " has its answer"}
	}
	turn := h.Messages[asked].Turn
	var said []string
	var last sessions.Message
	for _, m := range h.Messages[asked:] {
		if turn != "" && m.Turn == turn && m.Role == sessions.RoleAssistant {
			if last = m; m.Content != "" {
				said = append(said, m.Content)
			}
		}
	}
	if last.Role == "" || len(last.ToolCalls) > 0 {
		return "", true, ErrUnanswered
	}
	if text = sentFor(turn, items[i:]); text == "" {
		text = strings.Join(said, "\n\n")
	}
	if !last.Synthetic {
		return text, true, nil
	}
	if cure := g.cures.of(turn); owner && cure != "" {
		text += "\n\n" + cure
	}
	return "", true, &RefusedError{text}
}

// asked reports whether the turn answers a question of [Gateway.Ask].
func (r *run) asked() bool {
	return slices.ContainsFunc(r.rows, func(w sessions.Waiting) bool { return w.Inbound.Sender.ID() == operatorID })
}

// name gives the replies to a question ids by which [sentFor] knows them.
func (r *run) name(replies []sessions.Reply) {
	if !r.asked() {
		return
	}
	once := rand.Text()
	for i := range replies {
		replies[i].ID = fmt.Sprintf("%s%s.%d.%d", answerPrefix(r.id), once, len(replies), i)
	}
}

// answerPrefix begins the ids of the replies of a turn. Networks and people see
// the ids, so that they do not hold the turn's name, which has the chat's.
func answerPrefix(turn string) string {
	sum := sha256.Sum256([]byte(turn))
	return fmt.Sprintf("turn:%x.", sum[:8])
}

// ofChannel is what only its channel understands in a reply: a mark at its
// beginning, and codes.
var ofChannel = lazily.Compile(`^<!-- \w+ -->\n|[\x00-\x08\x0b-\x1f]`)

// readable is a reply without that.
func readable(reply string) string { return ofChannel.Regexp().ReplaceAllString(reply, "") }

// sentFor is what turn answered with, or "" if not all of it is in items.
func sentFor(turn string, items []sessions.FeedItem) string {
	var parts []string
	total := 0
	for _, it := range items {
		rest, ours := strings.CutPrefix(it.ID, answerPrefix(turn))
		if !ours {
			continue
		}
		if whole, file := strings.CutPrefix(it.Text, fileMark); file {
			return whole
		}
		_, _ = fmt.Sscanf(rest[strings.IndexByte(rest, '.')+1:], "%d", &total)
		parts = append(parts, readable(it.Text))
	}
	if len(parts) != total {
		return ""
	}
	return strings.Join(parts, "\n")
}

// cures keeps what whoever runs Dragoman can do about turns that answered a
// question of theirs in a chat that is not theirs. It is memory only: after a
// restart only the log has it.
type cures struct {
	mu sync.Mutex
	m  map[string]string // by the turn's id
}

// curesKept bounds the memory.
const curesKept = 1000

func (c *cures) keep(turn, cure string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= curesKept {
		c.m = make(map[string]string)
	}
	c.m[turn] = cure
}

func (c *cures) of(turn string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m[turn]
}
