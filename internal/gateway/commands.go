package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"dragoman/channels"
	"dragoman/sessions"
)

// knownCommand is a line of the table of commands.
type knownCommand struct {
	Name string // without the "/"
	Help string // a few words for /help and the menus of networks
	// Look is Help for those who may only look: in a shared chat, only whoever runs
	// Dragoman may change something with this command. "": everybody may use all of it.
	Look string
	// Needs reports whether the part that it is about is configured. Without it, the
	// command is not offered. Nil: it needs none.
	Needs func(*Gateway) bool
	// May reports whether the author of a message may use it in that chat. Where it would be
	// refused, neither /help nor a menu lists it. Nil: everybody may.
	May func(*Gateway, context.Context, channels.Inbound) (bool, error)
}

// commands work on every network. docs/adding.md says how to add one.
var commands = []knownCommand{
	{Name: "help", Help: "what I can do"},
	{Name: "new", Help: "start a new conversation (the old one is kept)"},
	{Name: "stop", Help: "stop the answer that is being written"},
	{Name: "again", Help: "answer your last message once more"},
	{Name: "compact", Help: "summarise the older part of this conversation (all of it is kept)", Needs: (*Gateway).summarises},
	{Name: "title", Help: "give this conversation a title, or show it"},
	{Name: "model", Help: "show the models, or choose the one that answers here", Look: "show the models, and which one answers here", Needs: (*Gateway).hasChoice},
	{Name: "think", Help: "show or choose how much the model thinks before it answers", Look: "show how much the model thinks before it answers"},
	{Name: "agent", Help: "show who can answer here, or choose one", Look: "show who can answer here", Needs: (*Gateway).hasAgents, May: (*Gateway).hasAgentsIn},
	{Name: "memory", Help: "show what I remember beyond this conversation; /memory pin 12 keeps one thing in view", Needs: (*Gateway).hasMemory},
	{Name: "remember", Help: "make me remember something", Needs: (*Gateway).hasMemory},
	{Name: "forget", Help: "make me forget something, by its number", Needs: (*Gateway).hasMemory},
	{Name: "undo", Help: "take back what I forgot or replaced last in my memory", Needs: (*Gateway).hasMemory},
	{Name: "jobs", Help: "show your reminders; /jobs cancel r7 removes one, /jobs restore r7 brings it back", Needs: (*Gateway).hasReminders},
	{Name: "snooze", Help: "put off the reminder that came last, like /snooze 1h", Needs: (*Gateway).hasReminders},
	{Name: "approvals", Help: "show what waits for your yes, and what is always allowed", Needs: (*Gateway).asks},
	{Name: "allow", Help: "allow what I asked about, by its code", Needs: (*Gateway).asks, May: (*Gateway).mayAnswer},
	{Name: "deny", Help: "refuse what I asked about, by its code", Needs: (*Gateway).asks, May: (*Gateway).mayAnswer},
	{Name: "always", Help: "allow it now and whenever it is exactly the same", Needs: (*Gateway).asks, May: (*Gateway).mayAnswer},
	{Name: "connect", Help: "be one person here and on another network", Needs: (*Gateway).connects, May: (*Gateway).mayConnect},
	{Name: "disconnect", Help: "be a person of your own here again", Needs: (*Gateway).connects, May: (*Gateway).mayConnect},
	{Name: "forget_me", Help: "erase all that I have of you, after I said what that is", Needs: (*Gateway).hasLeaving, May: (*Gateway).mayLeave},
	{Name: "usage", Help: "show what was used today and this month, and what is left", Needs: (*Gateway).countsUsage},
	{Name: "status", Help: "show the state of this conversation and of the model"},
	{Name: "start", Help: "say hello"},
}

// parseCommand reads "/name" at the beginning of text. The name need not be that of a
// command. Other words with a slash are ordinary text for the model.
func parseCommand(text string) (string, bool) {
	text = strings.TrimSpace(text)
	name, ok := commandName(strings.TrimSuffix(text, arguments(text)))
	return strings.ToLower(name), ok
}

func arguments(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[i:]
	}
	return ""
}

// SpellCommands writes the commands in our own text (never the model's) as
// people type them on the network of k: "!new" on IRC.
func (g *Gateway) SpellCommands(k channels.Key, text string) string {
	sign := g.commandSign(k)
	if sign == "/" {
		return text
	}
	return commandWord().ReplaceAllStringFunc(text, func(word string) string {
		return strings.Replace(word, "/", sign, 1)
	})
}

// commandSign begins commands on the network of k.
func (g *Gateway) commandSign(k channels.Key) string {
	if signed, ok := channelAs[channels.CommandSigner](g, k); ok {
		return signed.CommandSign()
	}
	return "/"
}

// commandWord matches a command at the beginning of a word.
var commandWord = sync.OnceValue(func() *regexp.Regexp {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return regexp.MustCompile(`(?:^|[\s(])/(?:` + strings.Join(names, "|") + `)\b`)
})

// command is what a person typed. It is sent between nodes as JSON.
type command struct {
	Message channels.Inbound
	Name    string
	// StoppedDelivery says that /stop ended something that the channel itself
	// was sending. Nodes of older versions know it in JSON by this name only.
	StoppedDelivery bool `json:"Hushed"`
}

// command answers c at once, also while a turn runs. It runs on the node that
// has the claim of the chat, and so knows that turn.
func (g *Gateway) command(ctx context.Context, c command) (done struct{}, err error) {
	m := c.Message
	var text string
	switch c.Name {
	case "stop":
		return done, g.control(ctx, m, sessions.ControlStop, c.StoppedDelivery)
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
	case "model":
		text, err = g.chooseModel(ctx, m)
	case "agent":
		return done, g.chooseAgent(ctx, m)
	case "think":
		text, err = g.chooseThinking(ctx, m)
	case "allow", "always", "deny", "approvals":
		if g.opts.Actions == nil {
			text, err = g.unknownCommand(ctx, m, c.Name)
			break
		}
		if c.Name != "approvals" {
			return done, g.decide(ctx, m, c.Name)
		}
		text, err = g.approvals(ctx, m)
	case "memory", "remember", "forget", "undo":
		text, err = g.aboutMemory(ctx, m, c.Name)
	case "jobs", "snooze":
		text, err = g.aboutReminders(ctx, m, c.Name)
	case "connect", "disconnect":
		text, err = g.connect(ctx, m, c.Name)
	case "forget_me":
		text, err = g.forgetMe(ctx, m)
	case "usage":
		text, err = g.usage(ctx, m)
	case "status":
		text, err = g.statusText(ctx, m.Key)
	case "start":
		text = "Hello! Write to me as you would to a person. /help shows what else I can do."
	case "help":
		text, err = g.helpText(ctx, m)
	default:
		text, err = g.unknownCommand(ctx, m, c.Name)
	}
	if err != nil {
		return done, err
	}
	return done, g.answerCommand(ctx, sessions.Entry{Inbound: m}, text)
}

func (g *Gateway) statusText(ctx context.Context, k channels.Key) (string, error) {
	h, err := g.history(ctx, k)
	if err != nil {
		return "", fmt.Errorf("gateway: status of %s: %w", k, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Dragoman %s, model %s.\n", g.opts.Version, g.modelOf(h))
	if h.Settings.Agent != "" {
		fmt.Fprintf(&b, "The persona %s answers here.\n", h.Settings.Agent)
	}
	if h.Settings.Reasoning != "" {
		fmt.Fprintf(&b, "The model thinks here: %s.\n", h.Settings.Reasoning)
	}
	if by := lastAnswerBy(h); by != "" && by != g.modelOf(h) {
		fmt.Fprintf(&b, "The last answer was written by %s.\n", by)
	}
	if rest := g.resting.left(g.modelOf(h), g.opts.Now()); rest > 0 {
		fmt.Fprintf(&b, "The model's server asked me to wait for %s; I try again now and then.\n", rest.Round(time.Second))
	}
	waits := false
	if ids, err := g.postponed(ctx, k); err == nil && len(ids) > 0 {
		waits = true
		b.WriteString("A message is waiting here because the model does not answer; /stop drops it.\n")
	}
	if why := g.parkedFor(ctx, k); why != "" {
		waits = true
		fmt.Fprintf(&b, "A message is kept here for later (%s); /stop drops it.\n", why)
	}
	switch {
	case h.Generation == "" && waits: // it begins with what was just said
	case h.Generation == "":
		b.WriteString("This conversation is empty.\n")
	default:
		fmt.Fprintf(&b, "Conversation %s: %d messages in view", h.Generation, len(h.Messages))
		if h.Summary != nil {
			b.WriteString(", earlier ones summarised")
		}
		b.WriteString(".\n")
	}
	if age, ok := g.chats.age(k, g.opts.Now()); ok {
		fmt.Fprintf(&b, "I have been writing an answer for %s.\n", age.Round(time.Second))
	}
	b.WriteString(g.runningLines(ctx, k))
	for name, st := range g.Channels() {
		if st.State != channels.StateConnected {
			fmt.Fprintf(&b, "Channel %s is %s.\n", name, st.State)
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// lastAnswerBy is the model of the last answer, which can be a fallback, or "".
func lastAnswerBy(h sessions.History) string {
	for _, m := range slices.Backward(h.Messages) {
		if m.Role == sessions.RoleAssistant && m.Model != "" {
			return m.Model
		}
	}
	return ""
}

func (g *Gateway) modelOf(h sessions.History) string {
	if g.opts.OneModel {
		return g.opts.Model
	}
	return cmp.Or(h.Settings.Model, g.opts.Model)
}

// helpText lists what the author of m may use in this chat, or explains the one command that
// they name. Where lines are sent slowly, the list is names alone: with a line for each, all
// other answers would wait for a minute.
func (g *Gateway) helpText(ctx context.Context, m channels.Inbound) (string, error) {
	list, err := g.commandsFor(ctx, m)
	if err != nil {
		return "", err
	}
	about := strings.ToLower(strings.TrimLeft(strings.TrimSpace(arguments(m.Text)), "/!"))
	var lines, names []string
	for _, c := range list {
		line := fmt.Sprintf("/%s: %s", c.Name, c.Help)
		if c.Name == about {
			return line, nil
		}
		lines = append(lines, "- "+line)
		names = append(names, "/"+c.Name)
	}
	if about != "" {
		return g.unknownCommand(ctx, m, about)
	}
	const hello = "Write to me as you would to a person. I remember our conversation, and I can use tools.\n\n"
	if _, slow := channelAs[channels.Interleaver](g, m.Key); slow {
		return hello + "I know: " + strings.Join(names, ", ") + "\n\n/help new says what one of them does.", nil
	}
	return hello + strings.Join(lines, "\n"), nil
}

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

// againLooksBack is how many items of the feed /again searches for the question.
const againLooksBack = 50

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
	var taint sessions.Taint
	m.Quote, m.Attachments = nil, nil
	for _, it := range asked {
		said = append(said, it.Text)
		m.Attachments = append(m.Attachments, it.Attachments...)
		taint.Add(it.Origins...)
		author := channels.Person{Name: it.Name}
		if it.Sender != "" {
			author.IDs = []string{it.Sender}
		}
		if !m.Private && !m.Sender.Is(author) {
			taint.Add(sessions.OriginOthers) // whoever asks again has not said it
		}
	}
	m.Origins = taint.List()
	m.Text = strings.Join(said, "\n")
	m.Again = true
	m.Attachments = cleanAttachments(m.Attachments)
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

// answerCommand stores a command with the answer to it.
func (g *Gateway) answerCommand(ctx context.Context, e sessions.Entry, text string) error {
	got, err := g.storeReply(ctx, e, channels.KindCommand, text)
	if err == nil {
		g.countCommand(e.Inbound.Key, got.Outcome)
	}
	return err
}

// countCommand counts a command by its outcome.
func (g *Gateway) countCommand(k channels.Key, outcome sessions.Outcome) {
	if outcome == sessions.Done {
		outcome = "command"
	}
	g.opts.Observer.Accepted(k.Channel(), string(outcome))
}

// storeReply stores e as answered by the gateway itself.
func (g *Gateway) storeReply(ctx context.Context, e sessions.Entry, kind channels.Kind, text string) (sessions.Acceptance, error) {
	e.Answered = true
	if text != "" {
		e.Replies = g.split(sessions.Label{Kind: kind}, e.Inbound.Key, g.SpellCommands(e.Inbound.Key, text), e.Inbound)
	}
	got, err := g.store.Accept(ctx, e)
	if err != nil {
		return got, fmt.Errorf("gateway: answer %s: %w", e.Inbound.Key, err)
	}
	if got.Outcome == sessions.Done {
		g.chats.expedite(e.Inbound.Key, got.Seq, len(e.Replies))
	}
	g.chats.kick(e.Inbound.Key)
	return got, nil
}
