package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/config"
	"dragoman/internal/console"
	"dragoman/internal/linking"
)

func (d *Daemon) findLinkable(name string) (channels.Linker, error) {
	if ch, ok := d.channels.linked[name]; ok {
		return ch, nil
	}
	return nil, errNotLinkable(name, d.cfg)
}

// onlyLinkable makes a channel for a command, without a running daemon.
func onlyLinkable(cfg *config.Config, name string) (channels.Linker, error) {
	c, ok := cfg.Channels[name]
	if !ok || c.Type != config.TypeWhatsApp {
		return nil, errNotLinkable(name, cfg)
	}
	ch, err := buildWhatsApp(name, c.WhatsApp, cfg, false, nil)
	if err != nil {
		return nil, fmt.Errorf("app: channel %s: %w", name, err)
	}
	return ch, nil
}

// errNotLinkable says that a channel cannot be linked, and which ones can.
func errNotLinkable(name string, cfg *config.Config) error {
	if c, ok := cfg.Channels[name]; ok && c.Type == config.TypeWhatsApp && !c.Enabled {
		return fmt.Errorf("app: the channel %q is turned off (enabled: false); turn it on and restart", name)
	}
	advice := "add one under channels, see docs/whatsapp.md"
	if there := cfg.OfType(config.TypeWhatsApp); len(there) > 0 {
		advice = "name one of these: " + strings.Join(there, ", ")
	}
	return fmt.Errorf("app: the configuration has no channel %q of type whatsapp; %s", name, advice)
}

type accounts struct {
	*Daemon
	*linking.Links
}

var _ console.Accounts = accounts{}

// Channels lists the channels by name.
func (a accounts) Channels() []console.Channel {
	states, holders := a.gateway.Channels(), a.Daemon.holders()
	list := make([]console.Channel, 0, len(states))
	for _, name := range slices.Sorted(maps.Keys(states)) {
		list = append(list, console.Channel{
			Name: name, Type: a.Daemon.cfg.Channels[name].Type, Linkable: a.Daemon.channels.linked[name] != nil, Status: states[name], Node: holders[name],
		})
	}
	return list
}
