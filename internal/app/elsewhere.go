package app

import (
	"context"
	"slices"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
)

// elsewhere is the gateway of a daemon for the tool that writes to other chats. The tools are
// made first.
type elsewhere struct{ d *Daemon }

func (e elsewhere) SendMessage(ctx context.Context, c agent.Call, to, text string) (string, error) {
	return e.d.gateway.SendMessage(ctx, c, to, text)
}

func (e elsewhere) AskToSend(ctx context.Context, c agent.Call, to, text string) (string, error) {
	return e.d.gateway.AskToSend(ctx, c, to, text)
}

// messages is nil where the model could write to no other chat: without a route, and with
// fewer than two networks.
func (d *Daemon) messages() tools.Messages {
	networks := 0
	for name, c := range d.cfg.Channels {
		if c.Enabled && !slices.Contains(d.people.Rooms(), name) {
			networks++
		}
	}
	if len(d.cfg.Routes) == 0 && networks < 2 {
		return nil
	}
	return elsewhere{d}
}

// routesOf are the ways between chats that the configuration allows.
func routesOf(c *config.Config) (list []gateway.Route) {
	for _, r := range c.Routes {
		list = append(list, gateway.Route{From: channels.Pattern(r.From), To: channels.Pattern(r.To), Name: r.Name})
	}
	return list
}

// tasks bounds those that the model hands to helpers; nil where it may not.
func (d *Daemon) tasks() *tools.Tasks {
	c := d.cfg.Agent.Delegate
	if !c.Enabled {
		return nil
	}
	return &tools.Tasks{Model: c.Model, MaxSteps: c.MaxSteps, MaxTokens: c.MaxTokens, Timeout: c.Timeout.D()}
}
