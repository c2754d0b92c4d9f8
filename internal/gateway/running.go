package gateway

import (
	"context"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// Commands are those that run in the background of chats: internal/background.Book.
type Commands interface {
	// Stop ends one by its name, "" for all of a chat, and returns the names of those that
	// it ends.
	Stop(ctx context.Context, k channels.Key, name string) (names []string, err error)
	// Lines are those of a chat, for people.
	Lines(ctx context.Context, k channels.Key) ([]string, error)
}

// CommandEnded is what became of a command in the background.
type CommandEnded struct {
	// ID names it and its repeats, Name is what people call it, and Text is for the model.
	ID, Name, Text string
	Key            channels.Key
	Person         channels.Person // who asked for it
	Private        bool
	Origins        []sessions.Origin // whose words Text has
}

// TakeEnded stores what became of a command as a message that the next turn of its chat
// answers, in one step. It is never a command, interrupts nothing, and has the rights of
// whoever asked for the command. It is safe to repeat.
func (g *Gateway) TakeEnded(ctx context.Context, e CommandEnded) error {
	m := channels.Inbound{
		Key: e.Key, ID: onceID("command", e.Key.String(), e.ID), Text: e.Text, At: g.opts.Now(),
		Sender: e.Person, Private: e.Private, Addressed: true, Origins: e.Origins,
	}
	m.Sender.Name = "command " + e.Name
	got, err := g.store.Accept(ctx, sessions.Entry{Inbound: m})
	if err != nil {
		return fmt.Errorf("gateway: take what a command of %s left: %w", e.Key, err)
	}
	if got.Outcome == sessions.Queued {
		g.chats.arrived(e.Key, got.Seq, Collect)
	}
	return nil
}

// ShowRunning shows text in the chat k in place of the message called shown, "" for none, and
// returns the message that shows it. An empty text takes it away. While a turn runs there, or
// where the network cannot change a message, nothing is shown. id is the same for one command.
func (g *Gateway) ShowRunning(ctx context.Context, k channels.Key, id, shown, text string) string {
	if text == "" {
		from, able := channelAs[channels.Retractor](g, k)
		if !able {
			return shown
		}
		if err := retract(ctx, from, k, shown); err != nil {
			g.log(k).Debug("could not remove the progress of a command", "err", err)
		}
		return ""
	}
	p, able := channelAs[channels.Previewer](g, k)
	if !able || g.chats.turn(k) != nil {
		return shown
	}
	now, err := showPreview(ctx, p, channels.Preview{Key: k, Turn: "command/" + id, MessageID: shown, Note: text})
	if err != nil {
		g.log(k).Debug("the progress of a command is not shown", "err", err)
		return shown
	}
	return now
}

// showPreview calls p. It recovers from a panic of the adapter.
func showPreview(ctx context.Context, p channels.Previewer, now channels.Preview) (id string, err error) {
	defer recoverTo(&err, "preview on "+now.Key.Channel())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attendTimeout)
	defer cancel()
	return p.Preview(ctx, now)
}

// runningName is how people name a command in the background.
var runningName = lazily.Compile(`^c[0-9]{1,9}$`)

const sayNoRunning = "No command called %s runs here."

// stopRunning ends what runs in the background of m's chat, because of m, a /stop: the one
// that it names, or all, unless its author stops an answer of their own in a shared chat.
// said is for whoever wrote m, and only says that m is about nothing else.
func (g *Gateway) stopRunning(ctx context.Context, m channels.Inbound) (said string, only bool) {
	name := strings.ToLower(strings.TrimSpace(arguments(m.Text)))
	only = runningName.Regexp().MatchString(name)
	if g.opts.Commands == nil {
		return "", false
	}
	if !only {
		name = ""
		if whose, _ := g.stops(m); whose != "" {
			return "", false
		}
	}
	names, err := g.opts.Commands.Stop(ctx, m.Key, name)
	switch {
	case err != nil:
		g.log(m.Key).Error("commands in the background were not stopped", "err", err)
		return "Sorry, I could not stop the command. Please try again.", only
	case len(names) == 0 && only:
		return fmt.Sprintf(sayNoRunning, name), only
	case len(names) == 0:
		return "", only
	case len(names) == 1:
		return fmt.Sprintf("The command %s no longer runs.", names[0]), only
	}
	return fmt.Sprintf("The commands %s no longer run.", strings.Join(names, ", ")), only
}

// runningLines says what runs in the background of k, for /status.
func (g *Gateway) runningLines(ctx context.Context, k channels.Key) string {
	if g.opts.Commands == nil {
		return ""
	}
	lines, err := g.opts.Commands.Lines(ctx, k)
	if err != nil {
		g.log(k).Warn("it is not known what runs in the background", "err", err)
	}
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "In the background runs %s\n", line)
	}
	if b.Len() > 0 {
		b.WriteString("/stop ends that.\n")
	}
	return b.String()
}
