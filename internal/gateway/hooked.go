package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Hooked is what a webhook of that name brought for a conversation.
type Hooked struct {
	Hook string
	Key  channels.Key
	// ID names the call and its repeats; FormerID is another id of the same. "": it is new.
	ID, FormerID string
	// Owner is who wrote the hook's template, and whom the turn counts for; zero: the
	// operator.
	Owner channels.Person
	// Text is the prompt or, with Shown, the message.
	Text string
	// Shown is what the transcript has of a message, which the chat is sent as it is; "":
	// Text is a prompt.
	Shown string
}

// TakeHook stores what a webhook brought, in one step: as a message that the next turn of
// the conversation answers, or as one that the chat is sent. It is never a command, and
// waits for the running turn. It reports whether it was stored before. Errors:
// [*RefusedError], sessions.ErrFull, the store's.
func (g *Gateway) TakeHook(ctx context.Context, h Hooked) (repeated bool, err error) {
	text := clipText(strings.TrimSpace(strings.ToValidUTF8(h.Text, "\uFFFD")), g.opts.MaxMessageBytes-len("…"))
	if why := g.whyNot(h.Key, text, len(text)); why != nil {
		return false, why
	}
	m := channels.Inbound{
		Key: h.Key, Text: text, At: g.opts.Now(), Sender: h.Owner, Private: !g.isShared(h.Key), Addressed: true,
		Via: channels.ViaHook(h.Hook), ID: g.hookID(h, h.ID),
	}
	e := sessions.Entry{FormerID: g.hookID(h, h.FormerID)}
	if h.ID == "" {
		m.ID = g.hookID(h, rand.Text())
		e.FormerID = ""
	}
	m.Sender.Name = "webhook " + h.Hook
	if h.Owner.ID() == "" {
		m.Sender.IDs = []string{people.OperatorID}
	} else if err := g.mayAsk(ctx, m); err != nil {
		return false, err
	}
	if h.Shown == "" {
		e.Inbound = m
		e.MaxWaiting = g.opts.MaxWaiting
		e.ResetBefore = g.resetBefore(m)
	} else {
		e.Inbound = channels.Inbound{Key: h.Key, ID: m.ID, At: m.At, Via: m.Via}
		e.Source = sessions.SourceNotice
		e.Answered = true
		e.Append = []sessions.Message{{Role: sessions.RoleUser, Content: h.Shown, Name: m.Sender.Name, At: m.At, Via: m.Via, Synthetic: true}}
		e.Replies = g.split(sessions.Label{Kind: channels.KindNotice}, h.Key, text, channels.Inbound{})
	}
	got, err := g.store.Accept(ctx, e)
	if err != nil {
		return false, fmt.Errorf("gateway: take a webhook for %s: %w", h.Key, err)
	}
	g.opts.Observer.Accepted(h.Key.Channel(), string(got.Outcome))
	switch {
	case got.Outcome == sessions.Queued:
		g.chats.arrived(h.Key, got.Seq, Collect)
	case h.Shown != "":
		g.chats.kick(h.Key)
	}
	return got.Outcome == sessions.Duplicate, nil
}

// hookID is the id of a call in the store.
func (g *Gateway) hookID(h Hooked, id string) string { return onceID("hook", h.Hook, id) }
