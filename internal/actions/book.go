package actions

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/channels"
)

// Options configure a [Book]. The zero value works: in private chats the person decides,
// in others nobody does.
type Options struct {
	// Approvers decide in shared chats: identities like "telegram:42".
	Approvers []string
	// Self: without Approvers, whoever asked decides in shared chats.
	Self bool
	// For is how long a question waits for an answer, and an answer for its turn. 0: ten
	// minutes.
	For time.Duration
	// Zone is that of times that people read in shared chats. Nil: the machine's.
	Zone *time.Location
	// ZoneOf is the zone in which an identity lives: that of times in a private chat with it.
	// Nil: Zone.
	ZoneOf func(ctx context.Context, identity string) *time.Location
	// Tell gets what happens, for whoever listens. It must not block. Nil: nobody does.
	Tell func(Event)
	Log  *slog.Logger
	Now  func() time.Time
}

// Event is a change of a record.
type Event struct {
	// State is what it is now; of a new one it is Pending.
	State State
	Chat  channels.Key
	ID    string
	Turn  string
	Tool  string
	// By is the identity that decided, "" if nobody did.
	By string
}

// Book has the questions of all chats. Make it with [New].
type Book struct {
	store Store
	o     Options
}

// New returns the book that store keeps.
func New(store Store, o Options) *Book {
	o.For = cmp.Or(o.For, 10*time.Minute)
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.ZoneOf == nil {
		o.ZoneOf = func(context.Context, string) *time.Location { return o.Zone }
	}
	if o.Tell == nil {
		o.Tell = func(Event) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Book{store: store, o: o}
}

// policy identifies what the configuration says about a call of a tool with that rule. A yes
// under another rule, or with other approvers, is none.
func (b *Book) policy(rule agent.Rule) string {
	approvers := slices.Sorted(slices.Values(b.o.Approvers))
	lines := []string{fmt.Sprint("self ", b.o.Self), "approvers " + strings.Join(approvers, " "), "rule " + string(rule)}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// tell logs and tells what became of a record. Neither has the arguments of the call.
func (b *Book) tell(r *record) {
	b.o.Log.Info("an approval has changed", "key", r.Chat.String(), "approval", r.id, "tool", r.Tool, "state", string(r.State), "by", r.By)
	b.o.Tell(Event{State: r.State, Chat: r.Chat, ID: r.id, Turn: r.Turn, Tool: r.Tool, By: r.By})
}

// Who is somebody who answers, as far as their network vouches for them.
type Who struct {
	Channel string
	IDs     []string
	// Name is for people to read.
	Name string
	// Known are identities like telegram:42 that are theirs, too: of a token, for example.
	Known []string
	// Operator: whoever runs Dragoman. They decide everywhere.
	Operator bool
}

// identity is the first identity of w that is a person's, "" without one.
func (w Who) identity() string {
	list := w.identities()
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// identities are those of w that are a person's.
func (w Who) identities() (list []string) {
	for _, id := range w.Vouched() {
		list = append(list, w.Channel+":"+id)
	}
	return append(list, w.Known...)
}

// Vouched are the ids of w that are one person's.
func (w Who) Vouched() (ids []string) {
	for _, id := range w.IDs {
		if isPerson(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// isPerson reports whether an id of a network is one person's. On Telegram a negative one
// is a group, or a channel: an administrator who hides writes in its name. On IRC only
// services know who somebody is: everybody can have a mask, and a bridge says what it likes.
func isPerson(id string) bool {
	return id != "" && !strings.HasPrefix(id, "-") && !strings.HasPrefix(id, "mask:") && !strings.HasPrefix(id, "bridge:")
}

// mayDecide reports whether w may answer r.
func (w Who) mayDecide(r *record) bool {
	return w.Operator || slices.ContainsFunc(w.identities(), func(id string) bool { return slices.Contains(r.Deciders, id) })
}

// MayRevoke reports whether w may take back what is always allowed in a chat. That gives
// nobody more than they had, so in a private chat it is whoever writes there.
func (b *Book) MayRevoke(w Who, private bool) bool {
	ours := slices.ContainsFunc(w.identities(), func(id string) bool { return slices.Contains(b.o.Approvers, id) })
	return w.Operator || private || ours || len(b.o.Approvers) == 0 && b.o.Self
}

// Approvers are the identities that decide in shared chats, like "telegram:42".
func (b *Book) Approvers() []string { return slices.Clone(b.o.Approvers) }

// MayAnswer reports whether w may answer questions that come up for them in a chat.
func (b *Book) MayAnswer(w Who, private bool) bool {
	return w.Operator || w.mayDecide(&record{Deciders: b.deciders(w, private)})
}

// Approves reports whether w decides for others in shared chats.
func (b *Book) Approves(w Who) bool {
	return w.Operator || slices.ContainsFunc(w.identities(), func(id string) bool { return slices.Contains(b.o.Approvers, id) })
}

// deciders are who may answer a question of requester in a chat; none: nobody.
func (b *Book) deciders(requester Who, private bool) []string {
	switch {
	case private:
		return requester.identities()
	case len(b.o.Approvers) > 0:
		return slices.Clone(b.o.Approvers)
	case b.o.Self:
		return requester.identities()
	}
	return nil
}
