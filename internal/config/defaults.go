package config

import (
	"path/filepath"
	"time"

	"dragoman/agent/window"
)

// BuiltinTools are the names of the tools that come with Dragoman.
var BuiltinTools = []string{
	"forget", "list_dir", "read_attachment", "read_file", "recall", "remember", "search_history", "time", "web_fetch", "write_file",
}

// defaults is the configuration of an empty file.
func defaults(o Options) *Config {
	return &Config{
		StateDir: o.stateDir(), WorkspaceMode: WorkspaceShared, WorkspaceQuota: 1 << 30,
		Store: Store{Type: "sqlite", MaxConns: 16},
		Roles: []string{RoleChannels, RoleTurns, RoleJobs},
		HTTP:  HTTP{Listen: "127.0.0.1:8787"},
		Log:   Log{Level: "info", Format: "text"},
		Model: Model{
			Type: "auto", API: "auto", Vision: "auto", Reasoning: "auto", ShowReasoning: "off", TextTools: "auto", Retries: 3,
			FirstByteTimeout: Duration(2 * time.Minute), IdleTimeout: Duration(time.Minute),
			CallTimeout: Duration(30 * time.Minute),
		},
		Agent: Agent{
			MaxSteps:    10,
			ToolTimeout: Duration(time.Minute), GiveUpAfter: Duration(10 * time.Minute),
		},
		Summary:  presetSummary(window.DefaultPreset),
		Prune:    presetPrune(window.DefaultPrunePreset),
		Queue:    Queue{Mode: "collect", MaxWaiting: 20, MaxMessageBytes: 256 << 10, RatePerMinute: 30},
		Media:    Media{Region: "us-east-1", MaxBytes: 20 << 20, MaxTotal: 5 << 30, MaxImageBytes: 5 << 20},
		Delivery: Delivery{GiveUpAfter: Duration(24 * time.Hour)},
		Pairing:  Pairing{Expires: Duration(time.Hour), MaxPending: 3},
		Channels: map[string]Channel{},
		Heartbeat: Heartbeat{
			Every: Duration(30 * time.Minute),
		},
		Sessions: Sessions{Reset: Reset{Mode: ResetNever, At: "04:00", After: Duration(8 * time.Hour)}},
		Alerts:   Alerts{After: Duration(5 * time.Minute)},
	}
}

// defaultChannel is what a channel of that type is before its keys are read.
// The page and the terminal are guarded by who can reach them, so there the
// default is everybody; a network's default is nobody.
func defaultChannel(kind string) Channel {
	ch := Channel{Type: kind, Access: Access{Enabled: true, Groups: GroupsAddressed}}
	switch kind {
	case TypeTelegram:
		ch.Telegram = &Telegram{APIURL: "https://api.telegram.org", PollTimeout: Duration(30 * time.Second), Preview: true}
	case TypeWhatsApp:
		ch.WhatsApp = &WhatsApp{
			Names: []string{"dragoman"}, DeviceName: "Dragoman", Typing: true, ReadMarks: true, SelfChat: true,
		}
	case TypeIRC:
		ch.IRC = &IRC{
			TLS: true, Nick: "dragoman", RealName: "Dragoman", SASL: SASL{Required: true},
			MaxLines: 12,
			Flood:    Flood{Burst: 4, Every: Duration(2 * time.Second)},
		}
	case TypeWeb, TypeCLI:
		ch.Allow = []string{"*"}
	}
	return ch
}

// addDefaultChannels gives every installation its page and its terminal. Both
// are turned off with enabled: false.
func (c *Config) addDefaultChannels() {
	for _, kind := range []string{TypeWeb, TypeCLI} {
		found := false
		for _, ch := range c.Channels {
			found = found || ch.Type == kind
		}
		if _, taken := c.Channels[kind]; !found && !taken {
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
