package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// maxTitle is the longest title, in bytes: lists have no room for more.
const maxTitle = 200

// title sets the conversation's title, or answers with the present one. The title is
// stored first: a network repeats commands in order, so the last title wins.
func (g *Gateway) title(ctx context.Context, m channels.Inbound) error {
	title := strings.Join(strings.Fields(arguments(m.Text)), " ")
	e := sessions.Entry{Inbound: m}
	e.Inbound.Text = clipText(m.Text, 1000)
	switch {
	case title == "":
		c, err := g.store.Conversation(ctx, m.Key)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return fmt.Errorf("gateway: title of %s: %w", m.Key, err)
		}
		if c.Title == "" {
			return g.answerCommand(ctx, e, "This conversation has no title. Write one after the command, like /title Holiday plans")
		}
		return g.answerCommand(ctx, e, "This conversation is called “"+c.Title+"”.")
	case len(title) > maxTitle:
		return g.answerCommand(ctx, e, fmt.Sprintf("That is too long for a title (%s; at most %s fit).", size(len(title)), size(maxTitle)))
	}
	err := g.opts.Audit("title", func() error { return g.store.Rename(ctx, m.Key, title) }, m.Key)
	if errors.Is(err, sessions.ErrNotFound) {
		return g.answerCommand(ctx, e, "This conversation is still empty. It can have a title once something has been said.")
	}
	if err != nil {
		// Without an answer the network would hand in the command for ever, and
		// nothing after it. A failing store refuses the answer, too.
		g.log(m.Key).Error("a title was not set", "err", err)
		return g.answerCommand(ctx, e, "Sorry, I could not give this conversation that title. Please try again later.")
	}
	return g.answerCommand(ctx, e, "This conversation is now called “"+title+"”.")
}
