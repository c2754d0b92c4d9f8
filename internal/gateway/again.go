package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// againLooksBack is how many items of the feed /again searches for the question.
const againLooksBack = 50

// againMark tells the model why it reads a question once more.
const againMark = "[asks for another answer to:] "

const (
	sayNoQuestion = "There is no question here for me to answer again."
	sayAnswering  = "Your last message is not answered yet."
)

// again asks the model the last question once more. The first answer stays.
func (g *Gateway) again(ctx context.Context, m channels.Inbound) error {
	feed, err := g.store.Feed(ctx, m.Key, 0, againLooksBack)
	if err != nil {
		return fmt.Errorf("gateway: again %s: %w", m.Key, err)
	}
	asked := lastAsked(feed)
	switch {
	case len(asked) == 0:
		return g.answerCommand(ctx, sessions.Entry{Inbound: m}, sayNoQuestion)
	case asked[len(asked)-1].Waiting:
		return g.answerCommand(ctx, sessions.Entry{Inbound: m}, sayAnswering)
	}
	var said []string
	m.Quote, m.Attachments = nil, nil
	for _, it := range asked {
		said = append(said, strings.TrimPrefix(it.Text, againMark))
		m.Attachments = append(m.Attachments, it.Attachments...)
	}
	m.Text, m.Attachments = againMark+strings.Join(said, "\n"), cleanAttachments(m.Attachments)
	if refusal := g.overLimit(ctx, m); refusal != "" {
		return g.refuse(ctx, m, refusal)
	}
	return g.enqueue(ctx, m, false)
}

// lastAsked returns the messages that the last answer in feed is about, unless
// /new came after them.
func lastAsked(feed []sessions.FeedItem) (asked []sessions.FeedItem) {
	for _, it := range slices.Backward(feed) {
		command, is := parseCommand(it.Text)
		switch {
		case command == "new", it.From != "person" && len(asked) > 0:
			return asked
		case !is && it.From == "person":
			asked = slices.Insert(asked, 0, it)
		}
	}
	return asked
}
