package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/people"
)

// What people say to become one person on several networks: [people.Connections] has what
// is stored, and this file the sentences. Whoever is asked something, or has to know that
// something ended, is told by a notice that the store takes once.

// connectEvery is how often questions are looked for that nobody answered.
const connectEvery = 20 * time.Second

const (
	sayOnlyPrivate   = "Write that to me in a private chat: here others read it. A code that was said here is no longer good."
	sayRoom          = "The page and the terminal are not accounts of a network. What two networks know is connected by /connect in a private chat there; whoever runs me can do it with: dragoman people join"
	sayNotVouched    = "Your network does not tell me for certain who you are, so I cannot connect you. On IRC, log in to the services (NickServ) first."
	sayNotConnected  = "You are connected with nobody."
	sayNothingAsked  = "I have not asked you anything. /connect gives a code that you say on the other network."
	sayGoneCode      = "I do not know this code. A code is good once, and for ten minutes; /connect gives a new one."
	sayConnectError  = "Sorry, I could not do that. Please try again later."
	sayConnectCommon = "what I remember about you, your budget, your reminders and your time zone"
)

func (g *Gateway) connects() bool { return g.opts.Connections != nil }

// sideOf is the author of m, by what their network vouches for; why is a sentence if that
// is nobody who can be connected.
func (g *Gateway) sideOf(m channels.Inbound) (s people.Side, why string) {
	who := actions.Who{Channel: m.Key.Channel(), IDs: m.Sender.IDs}
	ids := who.Vouched()
	switch {
	case !m.Private:
		return s, sayOnlyPrivate
	case slices.Contains(g.opts.People.Rooms(), m.Key.Channel()), m.Via != "":
		return s, sayRoom
	case len(ids) == 0:
		return s, sayNotVouched
	}
	s = people.Side{Name: m.Sender.Name, Chat: m.Key}
	for _, id := range ids {
		s.Identities = append(s.Identities, people.Identity(m.Key.Channel(), id))
	}
	return s, ""
}

// mayConnect reports whether the author of m can be connected from this chat.
func (g *Gateway) mayConnect(_ context.Context, m channels.Inbound) (bool, error) {
	_, why := g.sideOf(m)
	return why == "", nil
}

// connect answers /connect and /disconnect.
func (g *Gateway) connect(ctx context.Context, m channels.Inbound, name string) (string, error) {
	if !g.connects() {
		return g.unknownCommand(ctx, m, name)
	}
	text, err := g.changeConnection(ctx, m, name)
	refusal, refused := errors.AsType[*people.Refusal](err)
	switch {
	case refused:
		return refusal.Sentence, nil
	case err != nil && ctx.Err() == nil:
		// As for a title: without an answer the network would hand in the command for ever.
		g.log(m.Key).Error("a person could not be connected or disconnected", "command", name, "err", err)
		return sayConnectError, nil
	}
	return text, err
}

// changeConnection does what m, a command, says.
func (g *Gateway) changeConnection(ctx context.Context, m channels.Inbound, name string) (string, error) {
	words := strings.Join(strings.Fields(arguments(m.Text)), " ")
	s, why := g.sideOf(m)
	if why != "" {
		if m.Private || words == "" || name != "connect" {
			return why, nil
		}
		return why, g.opts.Connections.Spoil(ctx, words)
	}
	done, err := g.wasTaken(ctx, m)
	if done || err != nil {
		return "", err
	}
	switch word := strings.ToLower(words); {
	case name == "disconnect":
		return g.disconnect(ctx, s)
	case word == "":
		return g.offerConnection(ctx, s)
	case word == "yes", word == "no":
		return g.answerConnection(ctx, s, word == "yes")
	}
	return g.redeemConnection(ctx, s, words)
}

// offerConnection gives s a code.
func (g *Gateway) offerConnection(ctx context.Context, s people.Side) (string, error) {
	code, err := g.opts.Connections.Offer(ctx, s)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("To be one person here and on another network, write this to me there, in a private chat, within ten minutes:\n\n`/connect %s` (on IRC `!connect %s`)\n\n"+
		"Then I ask you in both places. Give this code to nobody: whoever says it asks to share %s.", code, code, sayConnectCommon), nil
}

// redeemConnection says a code as s, and asks both sides.
func (g *Gateway) redeemConnection(ctx context.Context, s people.Side, code string) (string, error) {
	maker, found, err := g.opts.Connections.Maker(ctx, code)
	if err != nil {
		return "", err
	}
	if found {
		may, err := g.mayTalk(ctx, maker)
		if !may || err != nil {
			return sayGoneCode, err
		}
	}
	_, err = g.opts.Connections.Redeem(ctx, s, code)
	if err != nil {
		return "", err
	}
	return "", g.tellConnections(ctx)
}

// answerConnection says yes or no to the question that waits for s.
func (g *Gateway) answerConnection(ctx context.Context, s people.Side, yes bool) (string, error) {
	other, asked, err := g.opts.Connections.Other(ctx, s)
	if err != nil {
		return "", err
	}
	if asked && yes {
		may, err := g.mayTalk(ctx, other)
		if err == nil && !may {
			err = g.opts.Connections.Cancel(ctx, s)
		}
		if err != nil {
			return "", err
		}
	}
	var p people.Connecting
	found := false
	err = g.opts.Audit("connect", func() error {
		p, found, err = g.opts.Connections.Answer(ctx, s, yes)
		return err
	}, s.Chat)
	switch {
	case err != nil:
		return "", err
	case !found:
		return sayNothingAsked, nil
	case p.State == people.Asked:
		return fmt.Sprintf("Good. I wait for %s to say yes, too, for %s. /connect no takes your yes back.", p.Other, minutesUntil(p.Until, g.opts.Now())), nil
	case p.Told:
		return sayConnecting(p), nil
	}
	return "", g.tellConnections(ctx)
}

// minutesUntil is how long it is until then, as people say it wherever they live.
func minutesUntil(then, now time.Time) string {
	n := int(math.Ceil(then.Sub(now).Minutes()))
	if n <= 1 {
		return "another minute"
	}
	return fmt.Sprintf("another %d minutes", n)
}

// disconnect makes s a person of its own again.
func (g *Gateway) disconnect(ctx context.Context, s people.Side) (string, error) {
	var left []string
	err := g.opts.Audit("disconnect", func() (err error) {
		left, err = g.opts.Connections.Disconnect(ctx, s)
		return err
	}, s.Chat)
	if err != nil {
		return "", err
	}
	if len(left) == 0 {
		return sayNotConnected, nil
	}
	return fmt.Sprintf("You are no longer connected with %s. What was said here stays here, and what was said there stays there.", strings.Join(left, ", ")), g.tellConnections(ctx)
}

// mayTalk reports whether a side may talk to us now, in its private chat.
func (g *Gateway) mayTalk(ctx context.Context, s people.Side) (bool, error) {
	m := channels.Inbound{Key: s.Chat, Private: true}
	for _, identity := range s.Identities {
		_, id, _ := strings.Cut(identity, ":")
		m.Sender.IDs = append(m.Sender.IDs, id)
	}
	verdict, err := g.opts.Gate.Sender(ctx, m)
	return verdict == people.Welcome, err
}

// watchConnections ends questions that nobody answered, and tells who has not been told,
// until ctx ends. Several nodes may do so at once.
func (g *Gateway) watchConnections(ctx context.Context) {
	for sleep(ctx, connectEvery) {
		err := g.tellConnections(ctx)
		if err != nil && ctx.Err() == nil {
			g.opts.Logger.Warn("people who connect are told later", "err", err)
		}
	}
}

// tellConnections tells each side what it does not know yet. The store takes each notice
// once.
func (g *Gateway) tellConnections(ctx context.Context) (err error) {
	defer recoverTo(&err, "telling of connections")
	list, err := g.opts.Connections.Untold(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, p := range list {
		err := g.Tell(ctx, p.Me.Chat, "connect "+p.ID+" "+string(p.State), g.SpellCommands(p.Me.Chat, sayConnecting(p)))
		if err == nil {
			err = g.opts.Connections.Told(ctx, p)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// sayConnecting is what one side is told of a connection.
func sayConnecting(p people.Connecting) string {
	switch p.State {
	case people.Asked:
		return sayQuestion(p)
	case people.Connected:
		return fmt.Sprintf("You are connected with %s: %s are common from now on. /disconnect ends that.", p.Other, sayConnectCommon)
	case people.Refused:
		return "Nothing is connected: one of you said no."
	case people.TimedOut:
		return "Nothing is connected: not both of you said yes within ten minutes. /connect begins again."
	case people.Spoilt:
		return "Your code was said where others read it, so it is no longer good. /connect gives a new one."
	case people.Left:
		return fmt.Sprintf("%s is no longer connected with you. What was said here stays here, and what was said there stays there.", p.Other)
	}
	return "Nothing is connected: something has changed since I asked. /connect begins again."
}

// sayQuestion asks a side. Such codes are phished, so it names the other and what they get.
func sayQuestion(p people.Connecting) string {
	begin := "This would connect you with "
	if p.First {
		begin = "Somebody has said your code. This would connect you with "
	}
	return begin + fmt.Sprintf("%s. You are %s. Then %s are common to all of these, and erasing one erases all. What each may do stays its own.\n\n"+
		"If you do not know them, or somebody asked you to write that code, say no: they would read what I remember about you.\n\n"+
		"Answer /connect yes within ten minutes, or /connect no.", p.Other, p.Mine, sayConnectCommon)
}
