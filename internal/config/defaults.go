package config

import (
	"path/filepath"
	"reflect"

	"dragoman/agent/window"
)

// BuiltinTools are the names of the tools that come with Dragoman.
var BuiltinTools = []string{
	"forget", "list_dir", "read_attachment", "read_file", "recall", "remember", "search_history", "time", "web_fetch", "write_file",
}

// defaults is the configuration of an empty file.
func defaults(o Options) *Config {
	c := &Config{
		StateDir: o.stateDir(), Channels: map[string]Channel{},
		Summary: presetSummary(window.DefaultPreset), Prune: presetPrune(window.DefaultPrunePreset),
	}
	setDefaults(reflect.ValueOf(c).Elem())
	return c
}

// defaultChannel is what a channel of that type is before its keys are read.
// The page and the terminal are guarded by who can reach them, so there the
// default is everybody; a network's default is nobody.
func defaultChannel(kind string) Channel {
	ch := Channel{Type: kind}
	switch kind {
	case TypeTelegram:
		ch.Telegram = &Telegram{}
	case TypeWhatsApp:
		ch.WhatsApp = &WhatsApp{}
	case TypeIRC:
		ch.IRC = &IRC{}
	case TypeWeb, TypeCLI:
		ch.Allow = []string{"*"}
	}
	setDefaults(reflect.ValueOf(&ch).Elem())
	return ch
}

// addDefaultChannels gives every installation its page and its terminal. Both
// are turned off with enabled: false.
func (c *Config) addDefaultChannels() {
	for _, kind := range []string{TypeWeb, TypeCLI} {
		if _, taken := c.Channels[kind]; !taken && len(c.OfType(kind)) == 0 {
			c.Channels[kind] = defaultChannel(kind)
		}
	}
}

// stateDir follows systemd's StateDirectory=, then the XDG convention.
func (o Options) stateDir() string {
	if dir, ok := o.Env("STATE_DIRECTORY"); ok && filepath.IsAbs(dir) {
		return dir
	}
	if dir, ok := o.Env("XDG_STATE_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "dragoman")
	}
	return filepath.Join(o.Home, ".local", "state", "dragoman")
}
