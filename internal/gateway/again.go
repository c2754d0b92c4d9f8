package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// againLooks is how far back /again looks for the question.
const againLooks = 50

// againMark tells the model why it reads a question once more.
const againMark = "[asks for another answer to:] "

const (
	sayNoQuestion = "There is no question here for me to answer again."
	sayAnswering  = "Your last message is not answered yet."
)

// again asks the model once more what it was asked last. What it answered stays.
func (g *Gateway) again(ctx context.Context, m channels.Inbound) error {
	feed, err := g.store.Feed(ctx, m.Key, 0, againLooks)
	if err != nil {
		return fmt.Errorf("gateway: again %s: %w", m.Key, err)
	}
	asked := lastAsked(feed)
	switch {
	case len(asked) == 0:
		return g.answer(ctx, sessions.Entry{Inbound: m}, sayNoQuestion)
	case asked[len(asked)-1].Waiting:
		return g.answer(ctx, sessions.Entry{Inbound: m}, sayAnswering)
	}
	var said []string
	m.Quote, m.Attachments = nil, nil
	for _, it := range asked {
		said = append(said, strings.TrimPrefix(it.Text, againMark))
		m.Attachments = append(m.Attachments, it.Attachments...)
	}
	m.Text, m.Attachments = againMark+strings.Join(said, "\n"), attachments(m.Attachments)
	if refusal := g.overLimit(ctx, m); refusal != "" {
		return g.refuse(ctx, m, refusal)
	}
	return g.enqueue(ctx, m, false)
}

// lastAsked are the messages that the last answer in feed is about, if no /new
// came since.
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

// What somebody reads whose press on a button does nothing.
const (
	sayNotAllowed = "I do not know you, so I cannot do that for you."
	sayOldButton  = "That answer is no longer being written."
)

var _ channels.Presser = intake{}

// Press does what a button stands for, and returns what to show where it does nothing.
func (in intake) Press(ctx context.Context, m channels.Inbound) (say string, err error) {
	verdict, err := in.g.mayTalk(ctx, in.b, m)
	if err != nil {
		return "", err
	}
	if verdict != welcome {
		in.g.opts.Observer.Accepted(in.b.Channel.Name(), "refused")
		return sayNotAllowed, nil
	}
	if command, _ := parseCommand(m.Text); command == "stop" {
		say, err := where(ctx, in.g, sessions.Peer{Key: m.Key}, callPress, m, in.g.press)
		if say != "" || err != nil {
			return say, err
		}
	}
	return "", in.g.accept(ctx, in.b, m)
}

// press is what to show instead where m, the press of a button, would stop nothing.
func (g *Gateway) press(ctx context.Context, m channels.Inbound) (say string, err error) {
	switch t := g.live.get(m.Key); {
	case t != nil:
		if _, shown := t.current(); shown != "" && m.Quote != nil && shown != m.Quote.ID {
			return sayOldButton, nil
		}
	case !g.underway.isLeft(m.Key, ""):
		waits, err := g.waits(ctx, m.Key)
		if err != nil || waits == sayNothing {
			return sayNothing, err
		}
	}
	return "", nil
}

var _ channels.Opener = intake{}

// Opened makes what waits for k and its topics due: k takes messages again.
func (in intake) Opened(ctx context.Context, k channels.Key) error {
	items, err := in.g.store.ListQueue(ctx, wakeMost)
	if err != nil {
		return fmt.Errorf("gateway: open %s: %w", k, err)
	}
	var ids []string
	for _, it := range items {
		if it.Kind == "out" && it.State != "dead" && (it.Key == k.String() || strings.HasPrefix(it.Key, k.String()+":")) {
			ids = append(ids, it.Delivery)
		}
	}
	// A claim that has just put one back may hold it for a moment still.
	if busy := in.g.makeDue(ctx, ids); len(busy) > 0 && sleep(ctx, connectedEvery) {
		in.g.makeDue(ctx, busy)
	}
	return nil
}
