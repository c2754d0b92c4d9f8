package gateway

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/lazily"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// What people say to questions of package actions. Whoever may decide says it by a
// command, by a button, by the words "allow K7QM", or by a reply to the question. What
// others say is ordinary text.

// verbs are the commands that answer a question.
var verbs = map[string]actions.Answer{
	"allow":  actions.AllowOnce,
	"always": actions.AllowAlways,
	"deny":   actions.Deny,
}

const (
	sayWhichQuestion = "Write the code of the question after the command, like /allow K7QM. /approvals shows what waits."
	sayNotDecided    = "Sorry, I could not note that. Please try again later."
	sayNoQuestions   = "No question waits for an answer here, and nothing is always allowed."
	sayLostQuestion  = "I no longer know this question."
)

// whoIs is the author of m as one who decides. The operator is known by who they are, not
// by the chat: on IRC anybody can have the nick of a private talk.
func (g *Gateway) whoIs(ctx context.Context, m channels.Inbound) (actions.Who, error) {
	who := actions.Who{Channel: m.Key.Channel(), IDs: m.Sender.IDs, Name: m.Sender.Name}
	person, err := g.opts.People.Resolve(ctx, who.Channel, who.Vouched())
	who.Operator = person == people.OperatorID || m.Sender.ID() == people.OperatorID
	return who, err
}

// mayAnswer reports whether the author of m may answer a question of theirs in this chat.
func (g *Gateway) mayAnswer(ctx context.Context, m channels.Inbound) (bool, error) {
	who, err := g.whoIs(ctx, m)
	return g.opts.Actions.MayAnswer(who, m.Private), err
}

// decide answers /allow, /always and /deny.
func (g *Gateway) decide(ctx context.Context, m channels.Inbound, name string) error {
	ref := strings.TrimSpace(arguments(m.Text))
	if ref == "" {
		return g.answerCommand(ctx, sessions.Entry{Inbound: m}, sayWhichQuestion)
	}
	o, err := g.answerQuestion(ctx, m, ref, verbs[name])
	if err != nil && ctx.Err() == nil {
		// As for a title: without an answer the network would hand in the command for ever.
		g.log(m.Key).Error("an answer to a question was not noted", "err", err)
		return g.answerCommand(ctx, sessions.Entry{Inbound: m}, sayNotDecided)
	}
	if err != nil {
		return err
	}
	e := sessions.Entry{Inbound: m, Answered: true}
	if o.Result == actions.Decided {
		if m.Quote != nil && !actions.IsCode(ref) { // a quick press comes before the note of what shows it
			o.Question.Message = m.Quote.ID
		}
		e.Replies = g.showDecision(o.Question)
	}
	if len(e.Replies) == 0 {
		said := g.SpellCommands(m.Key, o.Say())
		e.Replies = append(e.Replies, g.split(sessions.Label{Kind: channels.KindCommand}, m.Key, said, m)...)
	}
	got, err := g.store.Accept(ctx, e)
	if err != nil {
		return fmt.Errorf("gateway: answer %s: %w", m.Key, err)
	}
	g.countCommand(m.Key, got.Outcome)
	g.chats.kick(m.Key)
	return nil
}

// answerQuestion takes an answer, and makes the turns due that can go on.
func (g *Gateway) answerQuestion(ctx context.Context, m channels.Inbound, ref string, a actions.Answer) (o actions.Outcome, err error) {
	who, err := g.whoIs(ctx, m)
	if err != nil {
		return o, err
	}
	err = g.closeQuestions(ctx, m.Key) // a crash may have come between a /stop and this
	if err != nil {
		return o, err
	}
	o, err = g.opts.Actions.Decide(ctx, who, actions.Ref{Chat: m.Key, Text: ref, Private: m.Private}, a)
	g.makeDue(ctx, o.Due)
	return o, err
}

// Answer answers a question by its id in the name of who, who is not in its chat, and shows
// the decision there. Errors are the store's.
func (g *Gateway) Answer(ctx context.Context, who actions.Who, id string, a actions.Answer) (o actions.Outcome, err error) {
	q, found, err := g.opts.Actions.Find(ctx, id)
	if err != nil || !found {
		return o, err
	}
	err = g.closeQuestions(ctx, q.Chat)
	if err != nil {
		return o, err
	}
	o, err = g.opts.Actions.Decide(ctx, who, actions.Ref{Text: id}, a)
	g.makeDue(ctx, o.Due)
	if err != nil || o.Result != actions.Decided {
		return o, err
	}
	replies := g.showDecision(o.Question)
	if len(replies) == 0 {
		replies = g.split(sessions.Label{Kind: channels.KindNotice, Turn: q.Turn}, q.Chat, g.SpellCommands(q.Chat, o.Say()), channels.Inbound{})
	}
	_, told := g.notify(ctx, channels.Inbound{Key: q.Chat}, onceID("decision", q.ID), "", replies)
	if told != nil {
		g.log(q.Chat).Warn("a decision is not shown in its chat", "err", told)
	}
	return o, nil
}

// showDecision edits the message that asks q, where that is known and the network can.
func (g *Gateway) showDecision(q actions.Question) []sessions.Reply {
	_, edits := channelAs[channels.Previewer](g, q.Chat)
	if q.Message == "" || !edits {
		return nil
	}
	replies := g.split(sessions.Label{Kind: channels.KindCommand, Turn: q.Turn}, q.Chat, g.SpellCommands(q.Chat, q.DecidedText()), channels.Inbound{})
	if len(replies) != 1 {
		return nil
	}
	replies[0].Edit = q.Message
	return replies
}

// closeQuestions closes the questions of k whose turns wait no longer.
func (g *Gateway) closeQuestions(ctx context.Context, k channels.Key) error {
	if g.opts.Actions == nil {
		return nil
	}
	items, err := g.store.QueueOf(ctx, k)
	if err != nil {
		return fmt.Errorf("gateway: questions of %s: %w", k, err)
	}
	waits := map[string]bool{}
	for _, it := range items {
		waits[it.ID] = it.Lane == sessions.LaneIn
	}
	return g.opts.Actions.Close(ctx, k, waits)
}

// answerForm are an answer and a code that are no command.
var answerForm = lazily.Compile(`(?i)^\s*(allow|deny|always)\s+([a-z0-9]{4})\s*$`)

// asAnswer returns m as the command that it means, if it answers a question of which its
// author may decide; else m itself.
func (g *Gateway) asAnswer(ctx context.Context, m channels.Inbound) (channels.Inbound, error) {
	if g.opts.Actions == nil || m.Forwarded != nil || m.Edits != "" {
		return m, nil
	}
	verb, ref, err := g.saidAnswer(ctx, m)
	if verb == "" || err != nil {
		return m, err
	}
	m.Text = "/" + verb + " " + ref
	m.Reaction = ""
	m.Addressed = true
	return m, nil
}

// saidAnswer is which command m means, and the question that it means; "" for none.
func (g *Gateway) saidAnswer(ctx context.Context, m channels.Inbound) (verb, ref string, err error) {
	found := answerForm.Regexp().FindStringSubmatch(m.Text)
	reply := m.Quote != nil && m.Quote.ID != "" && (m.Reaction != "" || len(m.Text) <= len("always"))
	if found == nil && !reply {
		return "", "", nil
	}
	who, err := g.whoIs(ctx, m)
	if err != nil {
		return "", "", err
	}
	if found != nil {
		heard, err := g.opts.Actions.Hears(ctx, who, actions.Ref{Chat: m.Key, Text: found[2], Private: m.Private})
		if !heard || err != nil {
			return "", "", err
		}
		return strings.ToLower(found[1]), found[2], nil
	}
	q, is, err := g.opts.Actions.ShownBy(ctx, m.Key, m.Quote.ID)
	if !is || err != nil || !who.MayDecide(q) {
		return "", "", err
	}
	return replied(m, q), q.ID, nil
}

// replied is what m, a reply to the question q, says, "" if that is no answer. A thumb is
// too easily hit for a program.
func replied(m channels.Inbound, q actions.Question) string {
	word := strings.ToLower(strings.TrimSpace(m.Text))
	_, isVerb := verbs[word]
	switch {
	case strings.HasPrefix(m.Reaction, "👍") && !q.Runs:
		return "allow"
	case strings.HasPrefix(m.Reaction, "👎"):
		return "deny"
	case m.Reaction != "":
		return ""
	case isVerb:
		return word
	case strings.EqualFold(word, q.Code):
		return "allow"
	}
	return ""
}

// pressAnswer returns what to show the author of m, a pressed button under a question,
// instead of doing what it says.
func (g *Gateway) pressAnswer(ctx context.Context, m channels.Inbound, a actions.Answer) (say string, err error) {
	who, err := g.whoIs(ctx, m)
	if err != nil {
		return "", err
	}
	q, found, err := g.opts.Actions.Show(ctx, m.Key, strings.TrimSpace(arguments(m.Text)))
	switch {
	case err != nil:
		return "", err
	case !found:
		return sayLostQuestion, nil
	case !who.MayDecide(q):
		return actions.Outcome{Result: actions.NotYours, Question: q}.Say(), nil
	case q.State != actions.Pending:
		return actions.Outcome{Result: actions.Before, Question: q}.Say(), nil
	case a == actions.AllowAlways && !q.MayAlways:
		return actions.Outcome{Result: actions.NotAlways, Question: q}.Say(), nil
	}
	return "", nil
}

// approvals answers /approvals: what waits, what is always allowed, and what was decided.
func (g *Gateway) approvals(ctx context.Context, m channels.Inbound) (string, error) {
	words := strings.Fields(arguments(m.Text))
	standings, err := g.opts.Actions.Standings(ctx, m.Key)
	if err != nil {
		return "", err
	}
	switch {
	case len(words) == 2 && words[0] == "revoke":
		return g.revoke(ctx, m, standings, words[1])
	case len(words) > 0:
		q, found, err := g.opts.Actions.Show(ctx, m.Key, words[0])
		if !found {
			return sayLostQuestion, err
		}
		return q.Whole(), err
	}
	questions, err := g.opts.Actions.List(ctx, m.Key)
	if err != nil {
		return "", err
	}
	return listApprovals(questions, standings), nil
}

// maxDecided is how many decisions /approvals shows.
const maxDecided = 5

func listApprovals(questions []actions.Question, standings []actions.Standing) string {
	var waiting, decided, always []string
	for _, q := range questions {
		line := "- " + q.Brief()
		switch {
		case q.State == actions.Pending:
			waiting = append(waiting, line)
		case len(decided) < maxDecided:
			decided = append(decided, line)
		}
	}
	for i, s := range standings {
		always = append(always, fmt.Sprintf("%d. %s", i+1, s.Brief()))
	}
	var parts []string
	part := func(head string, lines []string, tail string) {
		if len(lines) > 0 {
			parts = append(parts, head+"\n\n"+strings.Join(lines, "\n")+tail)
		}
	}
	part("These questions wait for an answer:", waiting, "")
	part("Always allowed here:", always, "\n\n/approvals revoke 1 takes the first one back.")
	part("Decided last:", decided, "")
	if len(parts) == 0 {
		return sayNoQuestions
	}
	return strings.Join(parts, "\n\n")
}

// revoke takes back what is always allowed under number.
func (g *Gateway) revoke(ctx context.Context, m channels.Inbound, standings []actions.Standing, number string) (string, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(standings) {
		return fmt.Sprintf("Nothing is always allowed here under the number %s.", clipText(number, maxDroppedBytes)), nil
	}
	who, err := g.whoIs(ctx, m)
	if err != nil {
		return "", err
	}
	if !g.opts.Actions.MayRevoke(who, m.Private) {
		return g.mayNotChange(m.Key), nil
	}
	s := standings[n-1]
	err = g.opts.Actions.Revoke(ctx, m.Key, s.ID)
	if err != nil {
		return "", err
	}
	return "I ask again about " + s.Brief() + ".", nil
}
