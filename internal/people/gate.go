package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"dragoman/channels"
)

// Groups says which messages of shared chats are answered.
type Groups string

// The values of [Policy.Groups].
const (
	Addressed Groups = "addressed" // a mention, a reply to us, a command
	All       Groups = "all"
	Off       Groups = "off"
)

// Policy says who may talk on one channel.
type Policy struct {
	// Allow lists who may talk: immutable ids, "chat:<chat>" for everybody in
	// a chat, "*" for everybody. Empty: nobody.
	Allow []string
	// Shut closes the channel to everybody, paired people included.
	Shut bool
	// Pairing offers strangers in private chats a code for the operator.
	Pairing bool
	// Groups says what is answered in shared chats. "": Addressed.
	Groups Groups
}

// Verdict is what a [Gate] says about a message.
type Verdict int

// The verdicts.
const (
	// Stranger: they may not talk. Stay silent.
	Stranger Verdict = iota
	// NotAddressed: it is other people's talk. Ignore it.
	NotAddressed
	// WantsPairing: they may not talk yet. Offer a pairing code.
	WantsPairing
	// Welcome: they may talk.
	Welcome
)

// Paired knows who was let in with a code.
type Paired interface {
	// Paired reports whether one of ids was let in on channel.
	Paired(ctx context.Context, channel string, ids []string) (bool, error)
}

// Gate alone decides who may talk, for all channels. It only looks at
// identities that the network vouches for.
type Gate struct {
	store Paired

	mu       sync.Mutex
	policies map[string]Policy // by channel
}

// NewGate returns a gate that lets nobody in: see [Gate.Set].
func NewGate(store Paired) *Gate {
	return &Gate{store: store, policies: map[string]Policy{}}
}

// Set says who may talk on a channel from now on.
func (g *Gate) Set(channel string, p Policy) {
	p.Allow = slices.Clone(p.Allow)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.policies[channel] = p
}

// Policy returns who may talk on a channel; nobody on one that was never set.
func (g *Gate) Policy(channel string) Policy {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, found := g.policies[channel]
	if !found {
		p.Shut = true
	}
	return p
}

// MayTalk decides about a message. Errors are those of the store; then nobody
// may talk who is not on the allow list.
func (g *Gate) MayTalk(ctx context.Context, m channels.Inbound) (Verdict, error) {
	p := g.Policy(m.Key.Channel())
	if !m.Private && (p.Groups == Off || p.Groups != All && !m.Addressed && m.Edits == "") {
		return NotAddressed, nil
	}
	return g.Sender(ctx, m)
}

// Sender is MayTalk for a message that is addressed to us.
func (g *Gate) Sender(ctx context.Context, m channels.Inbound) (Verdict, error) {
	p := g.Policy(m.Key.Channel())
	switch {
	case p.Shut:
		return Stranger, nil
	case p.allows(m):
		return Welcome, nil
	}
	paired, err := g.paired(ctx, m.Key.Channel(), m.Sender.IDs)
	switch {
	case err != nil:
		return Stranger, err
	case paired:
		return Welcome, nil
	case m.Private && p.Pairing && len(m.Sender.IDs) > 0:
		return WantsPairing, nil
	}
	return Stranger, nil
}

// Admits reports whether somebody with one of these ids may talk on a channel
// now, in groups if in is one. It asks for the person: an entry "chat:…" or "*"
// lets in whoever the network shows in a chat, and does not say who that is.
func (g *Gate) Admits(ctx context.Context, k channels.Key, ids []string, private bool) (bool, error) {
	p := g.Policy(k.Channel())
	if p.Shut || !private && p.Groups == Off {
		return false, nil
	}
	named := func(who string) bool { return who != "" && slices.Contains(ids, who) }
	if slices.ContainsFunc(p.Allow, named) || private && slices.Contains(p.Allow, "*") {
		return true, nil
	}
	return g.paired(ctx, k.Channel(), ids)
}

func (g *Gate) paired(ctx context.Context, channel string, ids []string) (bool, error) {
	if len(ids) == 0 {
		return false, nil
	}
	paired, err := g.store.Paired(ctx, channel, ids)
	if err != nil {
		return false, fmt.Errorf("people: look up pairing on %s: %w", channel, err)
	}
	return paired, nil
}

// allows reports whether the allow list lets the author of m talk.
func (p Policy) allows(m channels.Inbound) bool {
	// A topic "chat:topic" belongs to its chat.
	chat, _, _ := strings.Cut(m.Key.Chat(), ":")
	return slices.ContainsFunc(p.Allow, func(who string) bool {
		return who == "*" || who == "chat:"+m.Key.Chat() || who == "chat:"+chat ||
			who != "" && slices.Contains(m.Sender.IDs, who) // an adapter may have no id
	})
}
