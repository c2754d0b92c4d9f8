package gateway

import (
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/internal/people"
)

// OfferCommands gives each channel the commands that it offers while people type. Call it
// again when the configuration has changed.
func (g *Gateway) OfferCommands() {
	for name, b := range g.bindings {
		if c, able := b.Channel.(channels.Commander); able {
			c.SetCommands(g.menuOf(name))
		}
	}
}

// Menu is the menu of a channel. Nobody may change its lists.
func (g *Gateway) Menu(channel string) channels.Menu { return g.menuOf(channel) }

// menuOf is the menu of a channel: what /help would list for somebody whom nobody knows, and
// for whoever runs Dragoman.
func (g *Gateway) menuOf(name string) channels.Menu {
	somebody := channels.Inbound{Key: keyIn(name, "1"), Private: true, Sender: channels.Person{IDs: []string{"1"}}}
	operator := somebody
	operator.Sender.IDs = []string{people.OperatorID}
	if slices.Contains(g.opts.People.Rooms(), name) {
		somebody.Sender.IDs = []string{people.Identity("somebody", "1")}
		somebody.Key = keyIn(name, somebody.Sender.ID()+"/1")
	}
	var m channels.Menu
	k := g.opts.People.OperatorChat()
	if k.Channel() == name {
		m.OperatorChat = k.Chat()
		operator.Key = k
		operator.Sender.IDs = append(operator.Sender.IDs, k.Chat())
	}
	for _, c := range g.offered() {
		m.Known = append(m.Known, channels.Command{Name: c.Name, Help: c.Help})
	}
	m.Private = g.menuFor(somebody)
	m.Operator = g.menuFor(operator)
	somebody.Private = false
	m.Shared = g.menuFor(somebody)
	return m
}

// keyIn is a chat of a channel that exists.
func keyIn(channel, chat string) channels.Key {
	k, _ := channels.NewKey(channel, chat)
	return k
}

// menuFor is what /help would list for the author of m. If the store fails, that is nothing:
// a menu only saves typing.
func (g *Gateway) menuFor(m channels.Inbound) []channels.Command {
	list, err := g.commandsFor(context.Background(), m)
	if err != nil {
		g.log(m.Key).Warn("the commands are not offered while people type", "err", err)
	}
	return list
}
