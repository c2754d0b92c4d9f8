package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// accept decides about one message and stores it. A nil error lets the adapter
// acknowledge it.
func (g *Gateway) accept(ctx context.Context, b *binding, m channels.Inbound) error {
	if g.busy.closed() {
		return errDraining
	}
	name := b.Channel.Name()
	if m.Key.Channel() != name || m.ID == "" {
		return fmt.Errorf("gateway: channel %s handed in a message with key %q and id %q", name, m.Key, m.ID)
	}
	m.Text = strings.ToValidUTF8(m.Text, "\uFFFD")
	m.Attachments = cleanAttachments(m.Attachments)
	if channels.Invisible(m.Text) && len(m.Attachments) == 0 && m.Deletes == "" {
		return nil
	}
	m, err := g.asAnswer(ctx, m)
	if err != nil {
		return err
	}
	m, err = g.asSnooze(ctx, m)
	if err != nil {
		return err
	}
	verdict, err := g.opts.Gate.MayTalk(ctx, m)
	if err != nil {
		return err
	}
	// An edit in a shared chat that does not address us concerns us only if the
	// edited message did, which the store knows.
	unaddressed := m.Edits != "" && !m.Private && !m.Addressed && g.opts.Gate.Policy(name).Groups != people.All
	switch {
	case verdict == people.NotAddressed, verdict == people.Stranger && unaddressed:
		return nil
	case verdict == people.Stranger:
		g.opts.Observer.Accepted(name, "refused")
		g.opts.Logger.Info("message refused: sender is not on the allow list",
			"channel", name, "key", m.Key.String(), "sender", m.Sender.ID())
		return nil
	case verdict == people.WantsPairing:
		return g.offerPairing(ctx, m)
	}
	switch {
	case unaddressed && len(m.Text) > g.opts.MaxMessageBytes:
		return nil // no refusal: it does not address us
	case unaddressed, m.Deletes != "":
		return g.enqueue(ctx, m, unaddressed) // deletions have no limit
	case m.Reaction != "":
		return g.noteReaction(ctx, m)
	}
	taken, err := g.takeForm(ctx, m)
	if taken || err != nil {
		return err
	}
	if cmd, ok := parseCommand(m.Text); ok && m.Edits == "" && m.Forwarded == nil {
		return g.carryOut(ctx, m, cmd)
	}
	if refusal := g.overLimit(ctx, m); refusal != "" {
		return g.refuse(ctx, m, refusal)
	}
	return g.enqueue(ctx, withQuotedFiles(m), false)
}

// noteReaction writes a reaction into the conversation, where the next turn
// sees it. Those above the limit are dropped: their authors expect no answer.
func (g *Gateway) noteReaction(ctx context.Context, m channels.Inbound) error {
	if g.overLimit(ctx, m) != "" {
		g.opts.Observer.Accepted(m.Key.Channel(), "over_limit")
		return nil
	}
	if m.At.IsZero() {
		m.At = g.opts.Now()
	}
	e := sessions.Entry{Inbound: m, Answered: true, Append: []sessions.Message{sessions.ReactionNote(m)}}
	if _, err := g.store.Accept(ctx, e); err != nil {
		return fmt.Errorf("gateway: note a reaction on %s: %w", m.Key, err)
	}
	g.opts.Observer.Accepted(m.Key.Channel(), string(sessions.Noted))
	return nil
}

// enqueue puts m into the inbox and tells a running turn. With ifKnown it does
// so only if the message that m edits is there.
func (g *Gateway) enqueue(ctx context.Context, m channels.Inbound, ifKnown bool) error {
	quiet, most := g.bindings[m.Key.Channel()].albumPause(m)
	got, err := g.store.Accept(ctx, sessions.Entry{
		Inbound: m, MaxWaiting: g.opts.MaxWaiting, ResetBefore: g.resetBefore(m), IfKnown: ifKnown, Quiet: quiet, Most: most,
	})
	if errors.Is(err, sessions.ErrFull) {
		return g.refuse(ctx, m, fmt.Sprintf(
			"I am still busy with your last %d messages, so I did not take this one. Please send it again later.", g.opts.MaxWaiting))
	}
	if err != nil {
		return fmt.Errorf("gateway: accept %s: %w", m.Key, err)
	}
	if got.Outcome == sessions.Unknown {
		return nil
	}
	g.chats.welcome(m.Key)
	g.opts.Observer.Accepted(m.Key.Channel(), string(got.Outcome))
	g.opts.Logger.Debug("accepted", "key", m.Key.String(), "msg_id", m.ID, "outcome", got.Outcome, "waiting", got.Waiting)
	switch got.Outcome {
	case sessions.Queued:
		g.chats.arrived(m.Key, got.Seq, g.opts.Queue)
	case sessions.Replaced, sessions.Withdrawn:
		// The store would refuse the commit of a turn that reads it. The turn runs
		// again on the present messages.
		if t := g.chats.turn(m.Key); t != nil && t.reads(got.Seq) {
			t.cancel(errInterrupted)
		}
	}
	return nil
}
