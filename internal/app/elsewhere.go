package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
)

// sayNotOffered is of a tool that could work.
const sayNotOffered = "the model is not offered it: agent.tools leaves it out"

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
	if len(d.cfg.Routes) == 0 && len(networks(d.cfg)) < 2 {
		return nil
	}
	return elsewhere{d}
}

// networks are the channels on which people have chats of their own, sorted: all but the page
// and the terminal.
func networks(cfg *config.Config) (names []string) {
	for name, c := range cfg.Channels {
		if c.Enabled && !c.Local() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

var _ = feature(func(cfg *config.Config, _ *Daemon) []api.Feature {
	f := api.Feature{Name: tools.SendMessage(nil).Spec().Name, State: api.FeatureOff}
	var ways []string
	if n := len(cfg.Routes); n > 0 {
		ways = append(ways, fmt.Sprintf("on %d of the configuration's routes", n))
	}
	if own := networks(cfg); len(own) > 1 {
		ways = append(ways, "to people's own chats on "+strings.Join(own, ", "))
	}
	switch {
	case len(ways) == 0:
		f.Says = "the model cannot write to other chats: set routes, or connect a second network"
	case !offers(cfg, f.Name):
		f.Says = sayNotOffered
	default:
		f.State = api.FeatureOn
		f.Says = "the model writes to other chats when somebody asks it to, " + strings.Join(ways, " and ")
	}
	return []api.Feature{f}
})

var _ = feature(func(cfg *config.Config, _ *Daemon) []api.Feature {
	f := api.Feature{Name: tools.Delegate(nil).Spec().Name, State: api.FeatureOff}
	c := cfg.Agent.Delegate
	switch {
	case !c.Enabled:
		f.Says = "the model has no helpers: set agent.delegate.enabled"
	case !offers(cfg, f.Name):
		f.Says = sayNotOffered
	default:
		f.State = api.FeatureOn
		f.Says = fmt.Sprintf("helpers with %s do tasks, each with at most %d steps, %d tokens and %s",
			cmp.Or(c.Model, "the model that answers"), c.MaxSteps, c.MaxTokens, c.Timeout)
	}
	return []api.Feature{f}
})

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
