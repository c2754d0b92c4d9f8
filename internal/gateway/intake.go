package gateway

import (
	"context"
	"errors"
	"fmt"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

var (
	_ channels.Intake   = intake{}
	_ channels.Resolver = intake{}
	_ channels.Presser  = intake{}
	_ channels.Opener   = intake{}
	_ channels.Joiner   = intake{}
	_ channels.Judge    = intake{}
)

// intake is where one channel hands in its messages.
type intake struct {
	g *Gateway
	b *binding
}

// Callbacks are, by channel, those whose network calls.
func (g *Gateway) Callbacks() map[string]Callback {
	all := map[string]Callback{}
	for name, b := range g.bindings {
		c := b.callback()
		if c == nil {
			continue
		}
		all[name] = Callback{*c, func(ctx context.Context, body []byte) (err error) {
			defer recoverTo(&err, "a call for channel "+name)
			return c.Take(ctx, intake{g, b}, body)
		}}
	}
	return all
}

// Callback is how the network of one channel calls.
type Callback struct {
	channels.Callback
	// Store is Take, into the store of this gateway.
	Store func(ctx context.Context, body []byte) error
}

func (in intake) Accept(ctx context.Context, m channels.Inbound) error {
	return in.g.accept(ctx, in.b, m)
}

// Answers asks the gate. A message that nobody may answer is no reason to try again
// where the bot could not write.
func (in intake) Answers(ctx context.Context, m channels.Inbound) bool {
	verdict, err := in.g.opts.Gate.MayTalk(ctx, m)
	return err == nil && verdict == people.Welcome
}

// Quarantine keeps a message that the channel could not decode, so that later
// ones need not wait for it.
func (in intake) Quarantine(ctx context.Context, channel, id string, raw []byte, why error) error {
	in.g.opts.Logger.Warn("quarantined a message that the channel could not decode", "channel", channel, "msg_id", id, "err", why)
	in.g.opts.Observer.Quarantined(channel)
	return in.g.store.Quarantine(ctx, sessions.Quarantined{Channel: channel, ID: id, Raw: raw, Why: why.Error()})
}

// Resolve removes a quarantined message that the channel has decoded after all.
func (in intake) Resolve(ctx context.Context, channel, id string) error {
	if err := in.g.store.Resolve(ctx, channel, id); err != nil {
		return fmt.Errorf("gateway: resolve on %s: %w", channel, err)
	}
	return nil
}

// These are shown to the person whose button does nothing.
const (
	sayNotAllowed = "I do not know you, so I cannot do that for you."
	sayOldButton  = "That answer is no longer being written."
)

// Press does what a button stands for. If it does nothing, Press returns what
// to show instead.
func (in intake) Press(ctx context.Context, m channels.Inbound) (say string, err error) {
	verdict, err := in.g.opts.Gate.MayTalk(ctx, m)
	if err != nil {
		return "", err
	}
	if verdict != people.Welcome {
		in.g.opts.Observer.Accepted(in.b.Channel.Name(), "refused")
		return sayNotAllowed, nil
	}
	command, _ := parseCommand(m.Text)
	if a, answers := verbs[command]; answers && in.g.opts.Actions != nil {
		say, err := in.g.pressAnswer(ctx, m, a)
		if say != "" || err != nil {
			return say, err
		}
	}
	if command == "snooze" {
		id, _, err := in.g.pressedSnooze(ctx, m)
		if err != nil {
			return "", err
		}
		if id == "" {
			return sayNotYourJob, nil
		}
	}
	if command == "stop" {
		say, err := onNode(ctx, in.g, sessions.Peer{Key: m.Key}, callPress, m, in.g.press)
		if say != "" || err != nil {
			return say, err
		}
	}
	return "", in.g.accept(ctx, in.b, m)
}

// press returns what to show instead if m, a pressed Stop button, would stop
// nothing.
func (g *Gateway) press(ctx context.Context, m channels.Inbound) (say string, err error) {
	switch t := g.chats.turn(m.Key); {
	case t != nil:
		if _, shown := t.current(); shown != "" && m.Quote != nil && shown != m.Quote.ID {
			return sayOldButton, nil
		}
	case !g.chats.partlySent(m.Key, ""):
		waits, err := g.sayWaits(ctx, m.Key)
		if err != nil || waits == sayNothing {
			return sayNothing, err
		}
	}
	return "", nil
}

// Opened makes all waiting deliveries to k and its topics due, because k takes
// messages again.
func (in intake) Opened(ctx context.Context, k channels.Key) error {
	topics, err := in.g.store.Topics(ctx, k)
	if err != nil {
		return fmt.Errorf("gateway: open %s: %w", k, err)
	}
	var ids []string
	for _, one := range append(topics, k) {
		items, err := in.g.store.QueueOf(ctx, one)
		if err != nil {
			return fmt.Errorf("gateway: open %s: %w", k, err)
		}
		for _, it := range items {
			if it.Lane == sessions.LaneOut && it.State != sessions.QueueDead {
				ids = append(ids, it.Delivery)
			}
		}
	}
	in.g.makeDue(ctx, ids)
	return nil
}

// Join makes from a part of to. Both keys must be the channel's own.
func (in intake) Join(ctx context.Context, from, to channels.Key) error {
	name := in.b.Channel.Name()
	if from.Channel() != name || to.Channel() != name {
		return fmt.Errorf("gateway: channel %s asked to join %s and %s", name, from, to)
	}
	if from == to {
		return nil
	}
	if in.g.busy.closed() {
		return errDraining
	}
	_, err := in.g.store.Conversation(ctx, from)
	existed := err == nil
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return fmt.Errorf("gateway: join %s to %s: %w", from, to, err)
	}
	if err := in.g.store.Join(ctx, from, to); err != nil {
		return fmt.Errorf("gateway: join %s to %s: %w", from, to, err)
	}
	if existed { // a network asks before every message; the first join is the news
		in.g.opts.Logger.Info("joined two conversations of the same chat", "key", to.String(), "from", from.String())
		in.g.emit(stream.Event{Event: stream.SessionDelete, Key: from, Why: "joined"})
	}
	return nil
}
