package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Commands lists the commands that work on every network.
func Commands() []channels.Command {
	return []channels.Command{
		{Name: "help", Help: "what I can do"},
		{Name: "new", Help: "start a new conversation (the old one is kept)"},
		{Name: "stop", Help: "stop the answer that is being written"},
		{Name: "again", Help: "answer your last message once more"},
		{Name: "compact", Help: "summarise the older part of this conversation (all of it is kept)"},
		{Name: "title", Help: "give this conversation a title, or show it"},
		{Name: "status", Help: "show the state of this conversation and of the model"},
		{Name: "start", Help: "say hello"},
	}
}

// parseCommand reads "/name" at the start of text. Other words that start
// with a slash are ordinary text for the model.
func parseCommand(text string) (string, bool) {
	text = strings.TrimSpace(text)
	word := strings.TrimSuffix(text, arguments(text))
	name, found := strings.CutPrefix(strings.ToLower(word), "/")
	if !found {
		return "", false
	}
	for _, c := range Commands() {
		if c.Name == name {
			return name, true
		}
	}
	return "", false
}

// command is one that a person gave.
type command struct {
	Message channels.Inbound
	Name    string
	// Hushed says that its channel said something by itself, and was stopped.
	Hushed bool
}

// command answers c at once, also while a turn runs. It is called where that
// turn runs: what it is to end or to tell of is there.
func (g *Gateway) command(ctx context.Context, c command) (done struct{}, err error) {
	m := c.Message
	var text string
	switch c.Name {
	case "stop":
		return done, g.control(ctx, m, sessions.ControlStop, c.Hushed)
	case "new":
		return done, g.control(ctx, m, sessions.ControlNew, false)
	case "again":
		return done, g.again(ctx, m)
	case "title":
		return done, g.title(ctx, m)
	case "compact":
		answered := make(chan struct{})
		defer close(answered)
		text, err = g.summaries.Ask(ctx, m, answered)
	case "status":
		text, err = g.statusText(ctx, m.Key)
	case "start":
		text = "Hello! Write to me as you would to a person. /help shows what else I can do."
	default:
		text = g.helpText()
	}
	if err != nil {
		return done, err
	}
	return done, g.answer(ctx, sessions.Entry{Inbound: m}, text)
}

// sayGivenUp answers /stop while a message waits because the model does not
// answer.
const sayGivenUp = "Stopped. Your message was waiting, because the model is not answering yet. I will not answer it now; ask again whenever you like."

// sayNothing answers /stop where there is nothing to stop.
const sayNothing = "Nothing is running now."

// sayNotAsked answers /stop while a message waits for its turn to begin.
const sayNotAsked = "Stopped. Your message was still waiting. I will not answer it now; ask again whenever you like."

// control ends the running turn and keeps what it had written so far. For
// /stop, what waits after that turn is answered next; only if none runs, /stop
// closes what waits, and says so. An answer that is going out ends there. /new closes all of it and begins a new
// generation.
func (g *Gateway) control(ctx context.Context, m channels.Inbound, c sessions.Control, hushed bool) error {
	e := sessions.Entry{Inbound: m, Answered: true, Control: c}
	defer g.live.get(m.Key).hold(ctx)()
	var partial, preview string
	var seqs []int64
	whose, spared := "", false
	if c == sessions.ControlStop {
		whose, spared = g.stops(m)
	}
	if !spared {
		partial, preview, seqs = g.live.partial(ctx, m.Key)
	}
	text := "Stopped."
	switch {
	case len(seqs) > 0:
	case c == sessions.ControlStop && g.underway.isLeft(m.Key, whose):
		e.Control = sessions.ControlNone // It stops what is going out; what waits is answered next.
	default:
		waits, err := g.waits(ctx, m.Key)
		if err != nil {
			return fmt.Errorf("gateway: %s %s: %w", c, m.Key, err)
		}
		if text = waits; hushed && waits == sayNothing {
			text = "Stopped."
		}
	}
	if c == sessions.ControlStop {
		e.Ends = seqs
	}
	if strings.TrimSpace(partial) != "" {
		e.Append = []sessions.Message{{
			Role: sessions.RoleAssistant, Content: partial + "\n\n[stopped by the person]",
			At: g.opts.Now(), Synthetic: true,
		}}
		text = partial + "\n\n*(stopped)*"
	}
	if c == sessions.ControlStop || strings.TrimSpace(partial) != "" {
		e.Replies = g.split(m.Key, text, m)
		e.Replies[0].Edit = preview
		if len(seqs) > 0 {
			g.underway.finishes(m.Key, e.Replies)
		}
	}
	if c == sessions.ControlNew { // a message of its own: nobody is told about an edit
		e.Replies = append(e.Replies, g.split(m.Key, "A new conversation begins. The old one is kept.", m)...)
	}
	got, err := g.store.Accept(ctx, e)
	if err != nil {
		return fmt.Errorf("gateway: %s %s: %w", c, m.Key, err)
	}
	if c == sessions.ControlStop && got.Outcome == sessions.Done && (g.underway.end(m.Key, whose, got.Seq) || g.interleaver(m.Key) != nil) {
		g.underway.hurry(m.Key, got.Seq, len(e.Replies))
	}
	g.told.clear(m.Key)
	g.resting.over(m.Key)
	g.commanded(m.Key, got.Outcome)
	g.live.kick(m.Key)
	return nil
}

// stops is whose answers the /stop m ends, "" for everybody's, and whether that
// spares the running turn. Where answers take turns people stop what is theirs,
// and those who wait for nothing stop everything.
func (g *Gateway) stops(m channels.Inbound) (whose string, sparesTurn bool) {
	who := g.asker(m.Key, m.MessageID)
	t := g.live.get(m.Key)
	switch {
	case who == "", t != nil && t.asker == who:
		return who, false
	case g.underway.isLeft(m.Key, who):
		return who, t != nil
	}
	return "", false
}

// waits is the answer to a /stop where no turn runs: by what waits in k.
func (g *Gateway) waits(ctx context.Context, k channels.Key) (string, error) {
	items, err := g.store.ListQueue(ctx, wakeMost)
	text := sayNothing
	for _, it := range items {
		switch {
		case it.Kind != "in" || it.Key != k.String():
		case it.State == "postponed":
			return sayGivenUp, err
		case it.State == "waiting":
			text = sayNotAsked
		}
	}
	return text, err
}

func (g *Gateway) statusText(ctx context.Context, k channels.Key) (string, error) {
	h, err := g.history(ctx, k)
	if err != nil {
		return "", fmt.Errorf("gateway: status of %s: %w", k, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Dragoman %s, model %s.\n", g.opts.Version, g.modelOf(h))
	if by := lastAnswerBy(h); by != "" && by != g.modelOf(h) {
		fmt.Fprintf(&b, "The last answer was written by %s.\n", by)
	}
	if rest := g.resting.restsFor(g.modelOf(h), g.opts.Now()); rest > 0 {
		fmt.Fprintf(&b, "The model's server asked me to wait for %s; I try again now and then.\n", rest.Round(time.Second))
	}
	if ids, err := g.postponed(ctx, k); err == nil && len(ids) > 0 {
		b.WriteString("A message is waiting here because the model does not answer; /stop drops it.\n")
	}
	switch {
	case h.Generation == "":
		b.WriteString("This conversation is empty.\n")
	default:
		fmt.Fprintf(&b, "Conversation %s: %d messages in view", h.Generation, len(h.Messages))
		if h.Summary != nil {
			b.WriteString(", earlier ones summarised")
		}
		b.WriteString(".\n")
	}
	if age, ok := g.live.age(k, g.opts.Now()); ok {
		fmt.Fprintf(&b, "I have been writing an answer for %s.\n", age.Round(time.Second))
	}
	for name, st := range g.Channels() {
		if st.State != channels.StateConnected {
			fmt.Fprintf(&b, "Channel %s is %s.\n", name, st.State)
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// lastAnswerBy is the name of the model that answered last, which can be a
// fallback; "" if none did.
func lastAnswerBy(h sessions.History) string {
	for _, m := range slices.Backward(h.Messages) {
		if m.Role == sessions.RoleAssistant && m.Model != "" {
			return m.Model
		}
	}
	return ""
}

// modelOf is the name of the model that answers in a conversation.
func (g *Gateway) modelOf(h sessions.History) string {
	if g.opts.OneModel {
		return g.opts.Model
	}
	return cmp.Or(h.Settings.Model, g.opts.Model)
}

func (g *Gateway) helpText() string {
	var b strings.Builder
	b.WriteString("Write to me as you would to a person. I remember our conversation, and I can use tools.\n\n")
	for _, c := range Commands() {
		if c.Name != "start" && (c.Name != "compact" || !g.summaries.Off()) {
			fmt.Fprintf(&b, "- /%s: %s\n", c.Name, c.Help)
		}
	}
	return strings.TrimSpace(b.String())
}
