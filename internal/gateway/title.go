package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
)

// maxTitle is what a list can show and a person can mean, in bytes.
const maxTitle = 200

// title gives the conversation a title, or tells the one it has. The title is
// stored before the answer: a network that repeats the command repeats both,
// and what it repeats comes in the old order.
func (g *Gateway) title(ctx context.Context, m channels.Inbound) error {
	title := strings.Join(strings.Fields(arguments(m.Text)), " ")
	e := sessions.Entry{Inbound: m}
	e.Inbound.Text = clipText(m.Text, 1000)
	switch {
	case title == "":
		text, err := g.titleText(ctx, m.Key)
		if err != nil {
			return err
		}
		return g.answer(ctx, e, text)
	case len(title) > maxTitle:
		return g.answer(ctx, e, fmt.Sprintf("That is too long for a title (%s; at most %s fit).", size(len(title)), size(maxTitle)))
	}
	err := g.opts.Audit("title", func() error { return g.store.Rename(ctx, m.Key, title) }, m.Key)
	if errors.Is(err, sessions.ErrNotFound) {
		return g.answer(ctx, e, "This conversation is still empty. It can have a title once something has been said.")
	}
	if err != nil {
		// It is answered all the same: the network would hand it in for ever, and
		// nothing behind it. A store that fails refuses the answer, too.
		g.log(m.Key).Error("a title was not set", "err", err)
		return g.answer(ctx, e, "Sorry, I could not give this conversation that title. Please try again later.")
	}
	return g.answer(ctx, e, "This conversation is now called “"+title+"”.")
}

func (g *Gateway) titleText(ctx context.Context, k channels.Key) (string, error) {
	c, err := g.store.Conversation(ctx, k)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return "", fmt.Errorf("gateway: title of %s: %w", k, err)
	}
	if c.Title == "" {
		return "This conversation has no title. Write one after the command, like /title Holiday plans", nil
	}
	return "This conversation is called “" + c.Title + "”.", nil
}

// arguments is what stands behind a command.
func arguments(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[i:]
	}
	return ""
}

// joined tells that one conversation is part of another now, as the operator's
// join does, if there was one: a network asks for it before every message.
func (g *Gateway) joined(from, to channels.Key) {
	g.opts.Logger.Info("joined two conversations of the same chat", "key", to.String(), "from", from.String())
	g.emit(event.Event{Event: event.SessionDelete, Key: from, Why: "joined"})
}
