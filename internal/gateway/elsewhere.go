package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Route is a way on which the model may send words from one chat to another.
type Route struct {
	From, To channels.Pattern
	// Name is what the model and people call To. "": they write its key.
	Name string
}

const (
	// maxElsewhereBytes limits a message for another chat: a question about it shows all of it, in one
	// message of every network but IRC.
	maxElsewhereBytes = 3000
	// elsewherePerMinute limits how many one person, or one job, sends.
	elsewherePerMinute = 6
	// maxListed limits how many chats the model is told of.
	maxListed = 30
	// maxNameElsewhere limits a name there, in bytes.
	maxNameElsewhere = 60
)

// addressee is a chat, or several, to which words may be sent.
type addressee struct {
	to   channels.Pattern
	name string
	own  bool // the person's own chat on another network
}

// shown is how the model names a.
func (a addressee) shown() string {
	switch {
	case a.own:
		return a.name + " (the person's own chat there)"
	case a.name != "":
		return a.name
	}
	return string(a.to)
}

// SendMessage sends text from the chat of c to the chat that to names, which is told who
// asked for it. It is stored before it returns, once for each call: whoever makes the same
// call again sends nothing more. What it returns, errors too, is for the model.
func (g *Gateway) SendMessage(ctx context.Context, c agent.Call, to, text string) (said string, err error) {
	k, a, err := g.elsewhere(ctx, c, to)
	if err != nil {
		return "", err
	}
	text, err = textElsewhere(text)
	if err != nil {
		return "", err
	}
	who := cmp.Or(c.Person.ID(), c.Key.String())
	if g.elsewheres.after(c.Key.Channel()+" "+who) > 0 {
		return "", fmt.Errorf("not sent: at most %d messages a minute go to other chats", elsewherePerMinute)
	}
	origins := slices.Clone(c.Taint)
	if !a.own && !slices.Contains(origins, sessions.OriginOthers) {
		origins = append(origins, sessions.OriginOthers)
	}
	asked := g.askedElsewhere(ctx, c, a.own)
	_, err = g.store.Accept(ctx, sessions.Entry{
		Inbound: channels.Inbound{Key: k, ID: onceID("elsewhere", c.Key.String(), c.Turn, c.ID), At: g.opts.Now()},
		Source:  sessions.SourceNotice, Answered: true,
		Append: []sessions.Message{{
			Role: sessions.RoleUser, Content: "[" + asked + " This was sent here:]\n" + text,
			Origins: origins, At: g.opts.Now(), Synthetic: true,
		}},
		Replies: g.split(sessions.Label{Kind: channels.KindNotice}, k, asked+"\n\n"+text, channels.Inbound{}),
	})
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		g.log(c.Key).Error("a message for another chat cannot be stored", "err", err)
		return "", errors.New("not sent: the store did not answer as it should; try again later")
	}
	g.chats.kick(k)
	g.log(c.Key).Info("a message goes to another chat", "to", k.String(), "turn", c.Turn)
	return "It is on its way to " + a.shown() + ". Their network has not confirmed it yet.", nil
}

// AskToSend is the question whether [Gateway.SendMessage] may do that.
func (g *Gateway) AskToSend(ctx context.Context, c agent.Call, to, text string) (string, error) {
	k, a, err := g.elsewhere(ctx, c, to)
	if err != nil {
		return "", err
	}
	text, err = textElsewhere(text)
	if err != nil {
		return "", err
	}
	name := k.String()
	if a.name != "" {
		name = a.shown() + ", " + name
	}
	return "To " + name + ":\n" + text, nil
}

// textElsewhere is a message as it is sent.
func textElsewhere(text string) (string, error) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	switch {
	case channels.Invisible(text):
		return "", errors.New("not sent: the text is empty")
	case len(text) > maxElsewhereBytes:
		return "", fmt.Errorf("not sent: the text has %d bytes, at most %d are possible: write a shorter one", len(text), maxElsewhereBytes)
	}
	return text, nil
}

// elsewhere is the chat that to names. The error says what is possible, and nothing about
// other chats.
func (g *Gateway) elsewhere(ctx context.Context, c agent.Call, to string) (channels.Key, addressee, error) {
	list, err := g.addressees(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			return channels.Key{}, addressee{}, context.Cause(ctx)
		}
		g.log(c.Key).Error("the chats to which words may be sent cannot be looked up", "err", err)
		return channels.Key{}, addressee{}, errors.New("not sent: the store did not answer as it should; try again later")
	}
	to = strings.TrimSpace(to)
	k, _ := channels.ParseKey(to) // a name is none
	for _, a := range list {
		switch {
		case a.name != "" && strings.EqualFold(a.name, to):
			return a.to.Key(), a, nil
		case !k.IsZero() && k != c.Key && a.to.Matches(k) && g.bindings[k.Channel()] != nil:
			return k, a, nil
		}
	}
	if len(list) == 0 {
		return channels.Key{}, addressee{}, errors.New("not sent: from this chat nothing can be sent to others, as long as no route allows it")
	}
	var names []string
	for _, a := range list[:min(len(list), maxListed)] {
		names = append(names, a.shown())
	}
	return channels.Key{}, addressee{}, fmt.Errorf("not sent: from this chat that is no possible target. Possible: %s", strings.Join(names, "; "))
}

// addressees are the chats to which the chat of c may send: the person's own, which nobody
// has to configure, and those of the routes.
func (g *Gateway) addressees(ctx context.Context, c agent.Call) ([]addressee, error) {
	list, err := g.ownElsewhere(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, r := range g.opts.Routes {
		if r.From.Matches(c.Key) && r.To.Key() != c.Key {
			list = append(list, addressee{to: r.To, name: r.Name})
		}
	}
	return list, nil
}

// ownElsewhere are the private chats on other networks of the person who asks, the newest of
// each. In a group whoever wrote last may not be the one who asked, and the answer would show
// everybody where else somebody is; a job is nobody who asks.
func (g *Gateway) ownElsewhere(ctx context.Context, c agent.Call) (list []addressee, err error) {
	if !c.Private || c.Job || c.Person.ID() == "" || g.opts.People == nil {
		return nil, nil
	}
	identities, err := g.opts.People.Together(ctx, people.Identity(c.Key.Channel(), c.Person.ID()))
	if err != nil {
		return nil, err
	}
	talks, err := g.store.Find(ctx, sessions.Query{Owners: identities, Limit: sessions.MaxPage})
	if err != nil {
		return nil, err
	}
	found := map[string]bool{c.Key.Channel(): true}
	add := func(k channels.Key) {
		found[k.Channel()] = true
		list = append(list, addressee{to: channels.Pattern(k.String()), name: k.Channel(), own: true})
	}
	for _, talk := range talks {
		if found[talk.Key.Channel()] {
			continue
		}
		is, err := g.isTheirs(ctx, talk.Key, identities)
		if err != nil {
			return nil, err
		}
		if is {
			add(talk.Key)
		}
	}
	if k := g.opts.People.OperatorChat(); c.Operator && !k.IsZero() && !found[k.Channel()] && g.bindings[k.Channel()] != nil {
		add(k)
	}
	slices.SortFunc(list, func(a, b addressee) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// isTheirs reports whether k is a private chat in which only the person of these identities
// wrote, and may write now.
func (g *Gateway) isTheirs(ctx context.Context, k channels.Key, identities []string) (bool, error) {
	if g.bindings[k.Channel()] == nil {
		return false, nil
	}
	owners, err := g.store.Owners(ctx, k)
	if err != nil {
		return false, err
	}
	var ids []string
	for _, o := range owners {
		theirs := false
		for _, one := range o.Identities {
			channel, id, _ := strings.Cut(one, ":")
			if slices.Contains(identities, one) {
				theirs = true
				if channel == k.Channel() {
					ids = append(ids, id)
				}
			}
		}
		if !theirs || !o.Private {
			return false, nil
		}
	}
	return g.opts.Gate.Admits(ctx, k, ids, true)
}

// askedElsewhere says who asked for a message that is sent to another chat. A room of the page
// or the terminal is no network that somebody else knows.
func (g *Gateway) askedElsewhere(ctx context.Context, c agent.Call, own bool) string {
	network := c.Key.Channel()
	where := " on " + network
	switch {
	case network == HeartbeatChannel:
		return fmt.Sprintf("The job %s has this for you.", sessions.OneLine(c.Key.Chat(), 60))
	case own:
		return fmt.Sprintf("You asked me%s to send you this here.", where)
	case !c.Private:
		where = " in a group" + where
	case slices.Contains(g.opts.People.Rooms(), network):
		where = ""
	}
	return fmt.Sprintf("%s asked me%s to tell you this.", g.nameOf(ctx, c), where)
}

// nameOf is what people read of whoever asks: the name that their network gives them, or the
// one that they have elsewhere.
func (g *Gateway) nameOf(ctx context.Context, c agent.Call) string {
	name := sessions.OneLine(c.Person.Name, maxNameElsewhere)
	if c.Person.ID() == people.OperatorID {
		name = "" // the command line calls them by that word
	}
	if name == "" && g.opts.NameOf != nil {
		name = sessions.OneLine(g.opts.NameOf(ctx, c.Key.Channel(), c.Person), maxNameElsewhere)
	}
	switch {
	case name != "":
		return name
	case c.Operator && !c.Job:
		return "Whoever runs me"
	}
	return "Somebody"
}
