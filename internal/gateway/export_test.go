package gateway

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"dragoman/channels"
)

// ReadCall is the message that a call asks this node to send.
func ReadCall(t *testing.T, call any) channels.Outbound {
	t.Helper()
	var c sendCall
	data, err := json.Marshal(call)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.message()
}

// WriteCall is the call that asks another node to send a message.
func WriteCall(t *testing.T, o channels.Outbound) []byte {
	t.Helper()
	data, err := json.Marshal(callOf(o))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Outcomes knows which network calls are running.
type Outcomes struct{ o inFlight }

// NewOutcomes knows of no calls.
func NewOutcomes() *Outcomes { return &Outcomes{inFlight{calls: map[string]chan struct{}{}}} }

// Begin notes a call.
func (o *Outcomes) Begin(id string) (end func()) { return o.o.begin(id) }

// Wait waits for a call.
func (o *Outcomes) Wait(ctx context.Context, id string) (bool, error) { return o.o.wait(ctx, id) }

// Left is how many messages this person may write here now.
func Left(g *Gateway, who string) float64 {
	g.rates.mu.Lock()
	defer g.rates.mu.Unlock()
	if l := g.rates.people[who]; l != nil {
		return l.TokensAt(g.opts.Now())
	}
	return float64(g.opts.RatePerMinute)
}

// Rounds is the order in which answers take turns.
var Rounds = rounds

// Streak is the run of pieces to one person that a chat received last.
type Streak = streak

// Chats is the number of conversations of which g knows more than its store.
func Chats(g *Gateway) int {
	g.chats.mu.Lock()
	defer g.chats.mu.Unlock()
	return len(g.chats.m)
}

// Watchers is how many wait for an answer.
func Watchers(g *Gateway) (n int) {
	g.chats.mu.Lock()
	defer g.chats.mu.Unlock()
	for _, c := range g.chats.m {
		n += len(c.watchers)
	}
	return n
}

// Refused is the number of conversations that are remembered after each of keys was refused
// something.
func Refused(keys []channels.Key) (remembered []int) {
	s := chats{m: map[channels.Key]*chat{}}
	for _, k := range keys {
		s.refuse(k, "too long", time.Unix(1, 0))
		remembered = append(remembered, len(s.m))
	}
	return remembered
}

// MaxChatsKept is how many conversations are remembered in which nothing happens.
const MaxChatsKept = maxChatsKept
