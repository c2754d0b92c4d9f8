package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Said is where a message of [Gateway.Say] went.
type Said struct {
	// Seq is its number in the queues of its conversation, as events name it, and ID that
	// of its row.
	Seq int64
	ID  string
	// Repeated: it was said before, with the same id.
	Repeated bool
}

// Say puts q into its conversation, as if its channel had, and does not wait for the
// answer, which is delivered there. With an id it is safe to repeat. mode is how it is
// answered while a turn runs, "" as configured. A command that a person says in a room of the
// page is carried out, as on every network; it has no Seq, and neither has what answers the
// question of a server of tools. Errors: those of
// [Gateway.Converse], and a [*sessions.ReplaceError] if q may not replace what it names.
func (g *Gateway) Say(ctx context.Context, q Question, mode Mode) (Said, error) {
	m, former, err := g.asked(ctx, q)
	if err != nil {
		return Said{}, err
	}
	if mode == "" && g.takesCommands(q, m) {
		if taken, err := g.takeForm(ctx, m); taken || err != nil {
			return Said{ID: m.ID}, err
		}
		if name, is := parseCommand(m.Text); is {
			return Said{ID: m.ID}, g.carryOut(ctx, m, name)
		}
	}
	got, err := g.put(ctx, &q, m, former, mode)
	if err != nil {
		return Said{}, err
	}
	return Said{Seq: got.Seq, ID: m.ID, Repeated: got.Outcome == sessions.Duplicate}, nil
}

// Order carries out a command, like "stop", of whoever asks q, and answers it in the
// conversation. It is safe to repeat with the same id. Errors: those of
// [Gateway.Converse].
func (g *Gateway) Order(ctx context.Context, q Question, name string) error {
	q.Text = "/" + name
	m, _, err := g.asked(ctx, q)
	if err != nil {
		return err
	}
	return g.carryOut(ctx, m, name)
}

// takesCommands reports whether m, which is what q means, may be a command: on the page people
// type them, as in every chat. Other programs have verbs, and a model must not command.
func (g *Gateway) takesCommands(q Question, m channels.Inbound) bool {
	room := slices.Contains(g.opts.People.Rooms(), m.Key.Channel())
	return room && m.Via == channels.ViaAPI && q.Replaces == 0 && len(m.Attachments) == 0
}

// carryOut carries out the command name of m on the node that has the chat.
func (g *Gateway) carryOut(ctx context.Context, m channels.Inbound, name string) error {
	c := command{Message: m, Name: name}
	b := g.bindings[m.Key.Channel()]
	if s, able := b.Channel.(channels.Stopper); able && name == "stop" {
		c.StoppedDelivery = s.Stop(m.Key)
	}
	_, err := onNode(ctx, g, sessions.Peer{Key: m.Key}, callCommand, c, g.command)
	return err
}

// Reply sends text to a conversation in the name of the assistant, whose next turns see it
// as its own words. by is who wrote it, for the transcript. If by speaks asThemselves, the
// text begins with their name, and the next turns see it as theirs. It is safe to repeat
// with the same id. Errors: [*RefusedError], the store's.
func (g *Gateway) Reply(ctx context.Context, q Question, by string, asThemselves bool) error {
	text := strings.TrimSpace(strings.ToValidUTF8(q.Text, "\uFFFD"))
	if why := g.whyNot(q.Key, text, len(text)); why != nil {
		return why
	}
	said := sessions.Message{Role: sessions.RoleAssistant, Content: text, Name: by, At: g.opts.Now(), Synthetic: true}
	if asThemselves {
		text = by + ": " + text
		said.Role = sessions.RoleUser
		said.Content = text
		said.ForModel = []sessions.Mark{{End: len(by) + len(": ")}}
		said.Via = channels.ViaReply
	}
	id := onceID("reply", q.Key.String(), q.ID)
	_, err := g.store.Accept(ctx, sessions.Entry{
		Inbound: channels.Inbound{Key: q.Key, ID: id, At: g.opts.Now()}, Source: sessions.SourceNotice, Answered: true,
		Append:  []sessions.Message{said},
		Replies: g.split(sessions.Label{Kind: channels.KindNotice}, q.Key, text, channels.Inbound{}),
	})
	if err != nil {
		return fmt.Errorf("gateway: reply in %s: %w", q.Key, err)
	}
	g.chats.kick(q.Key)
	return nil
}

// whyNot is why nothing can be said in k; nil if it can.
func (g *Gateway) whyNot(k channels.Key, text string, bytes int) error {
	switch {
	case g.bindings[k.Channel()] == nil:
		return &RefusedError{Why: "there is no channel " + k.Channel()}
	case slices.Contains(g.opts.People.Rooms(), k.Channel()) && !channels.IsRoom(people.RoomName(k)):
		return &RefusedError{Why: fmt.Sprintf("there can be no room %s: write a name of a-z, 0-9, _ and -, at most 64 of them", k)}
	case channels.Invisible(text):
		return &RefusedError{Why: "the question is empty"}
	case bytes > g.opts.MaxMessageBytes:
		return &RefusedError{Why: fmt.Sprintf("the question is too long (%s, at most %s)", size(bytes), size(g.opts.MaxMessageBytes))}
	case g.busy.closed():
		return &RefusedError{Why: "Dragoman is stopping", Later: true}
	}
	return nil
}

// asked is the message that q means, and its id in former versions. Errors: [*RefusedError]
// if it may not be said.
func (g *Gateway) asked(ctx context.Context, q Question) (m channels.Inbound, former string, err error) {
	k, text := q.Key, strings.TrimSpace(strings.ToValidUTF8(q.Text, "\uFFFD"))
	present := text
	if len(q.Attachments) > 0 {
		present = "a file"
	}
	if err := g.whyNot(k, present, len(text)+len(q.Instructions)); err != nil {
		return m, "", err
	}
	if err := g.knownModel(q.Model); err != nil {
		return m, "", err
	}
	m = channels.Inbound{
		Key: k, Text: text, At: g.opts.Now(), Sender: q.Sender, Private: !g.isShared(k), Addressed: true,
		Attachments: cleanAttachments(q.Attachments), Via: cmp.Or(q.Via, channels.ViaAPI), Instructions: q.Instructions, Model: q.Model,
	}
	if q.Sender.ID() == "" {
		m.Sender = channels.Person{IDs: []string{people.OperatorID}, Name: "operator"}
		m.ID = onceID("ask", k.String(), q.ID)
		return m, formerAsk + q.ID, nil
	}
	m.ID = onceID("ask", k.String(), q.ID, q.Sender.ID()) // two people may choose one id
	return m, "", g.mayAsk(ctx, m)
}

// put accepts m, which is what q means, and tells a running turn.
func (g *Gateway) put(ctx context.Context, q *Question, m channels.Inbound, former string, mode Mode) (got sessions.Acceptance, err error) {
	if why := g.notAsked(m.Text); why != "" {
		return got, &RefusedError{Why: why}
	}
	got, err = g.store.Accept(ctx, sessions.Entry{
		Inbound: m, FormerID: former, MaxWaiting: g.opts.MaxWaiting, ResetBefore: g.resetBefore(m), Replaces: q.Replaces, Own: q.Own,
	})
	if err != nil {
		return got, fmt.Errorf("gateway: ask in %s: %w", m.Key, err)
	}
	g.opts.Observer.Accepted(m.Key.Channel(), string(got.Outcome))
	if got.Outcome == sessions.Queued {
		if mode == "" {
			mode = g.opts.Queue
		}
		g.chats.arrived(m.Key, got.Seq, mode)
	}
	return got, nil
}
