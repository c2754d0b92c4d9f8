package config

import (
	"fmt"
	"slices"

	"dragoman/channels"

	"gopkg.in/yaml.v3"
)

// The values of Access.Groups.
const (
	GroupsAddressed = "addressed"
	GroupsAll       = "all"
	GroupsOff       = "off"
)

// Channel is one configured channel instance.
type Channel struct {
	Type   string `yaml:"type" doc:"{types}. Default: the channel's name."`
	Access `yaml:",inline"`
	// Settings are those that channels of this type have and others do not. Load leaves
	// none without.
	Settings channels.Settings `yaml:",inline"`
}

// Access says who may talk on a channel, and where. It is the same for all types,
// because the gateway decides it for all of them.
type Access struct {
	Enabled      bool     `yaml:"enabled" default:"true" doc:"false turns the channel off but keeps its settings. The files and variables that they name may then be missing."`
	Allow        []string `yaml:"allow,flow" doc:"Who may talk, by ids that people cannot choose for themselves: see above. Empty: nobody. \"*\": everybody."`
	Pairing      bool     `yaml:"pairing" doc:"Give strangers in private chats a code, which you approve with dragoman pair approve."`
	Groups       string   `yaml:"groups" default:"addressed" oneof:"addressed all off" doc:"In shared chats: addressed answers when spoken to, all answers every message, off answers none."`
	Reset        string   `yaml:"reset" oneof:"never daily idle" empty:"ok" doc:"Overrides sessions.reset.mode on this channel: never, daily or idle. Empty: no override."`
	SystemPrompt string   `yaml:"system_prompt" is:"prompt" doc:"Added to the system prompt on this channel. {channel} becomes the room, {chat} the chat's id, {network} the network and {nick} the bot's name."`
	Prompts      Prompts  `yaml:"prompts,omitempty" is:"prompt" doc:"Added after it, with the same placeholders: for private chats, for groups (or rooms), and for chats by their id, in which * stands for any characters. All that match are added, the longest last."`
	Models       Prompts  `yaml:"models,omitempty" doc:"Another model of the same server for chats by their id, in which * stands for any characters; of those that match, the longest counts. dragoman sessions set KEY model=… overrides it."`
}

// Active lists the names of the enabled channels, sorted.
func (c *Config) Active() []string {
	return slices.DeleteFunc(sortedKeys(c.Channels), func(name string) bool { return !c.Channels[name].Enabled })
}

// OfType lists the names of the channels of a type, sorted.
func (c *Config) OfType(kind string) []string {
	return slices.DeleteFunc(sortedKeys(c.Channels), func(name string) bool { return c.Channels[name].Type != kind })
}

// Policy says in sentences who may talk on which channel. The daemon prints it at
// its start, so that the operator sees what is in force.
func (c *Config) Policy() []string {
	var lines []string
	for _, name := range c.Active() {
		lines = append(lines, fmt.Sprintf("%s: %s", name, c.Channels[name].policy(c.HTTP.Token.IsSet() || c.HTTP.NeedsNamedToken())))
	}
	return lines
}

// policy is what Policy says about one channel. token: the page asks for one, whether any
// was made by a command or not.
func (ch Channel) policy(token bool) string {
	local, isLocal := ch.Settings.(channels.Local)
	everybody := slices.Contains(ch.Allow, "*")
	var s string
	switch {
	case everybody && isLocal:
		s = local.Everybody(token)
	case everybody:
		s = "EVERYBODY (allow has \"*\")"
	case len(ch.Allow) == 0 && !ch.Pairing:
		s = "only people who were paired earlier (allow is empty, pairing is off)"
	case len(ch.Allow) == 0:
		s = "only people who were paired"
	case len(ch.Allow) == 1:
		s = "1 entry in allow may talk"
	default:
		s = fmt.Sprintf("%d entries in allow may talk", len(ch.Allow))
	}
	if ch.Pairing {
		s += "; strangers in private chats get a pairing code"
	}
	if isLocal {
		return s
	}
	switch ch.Groups {
	case GroupsAll:
		s += "; in shared chats every message is answered"
	case GroupsOff:
		s += "; shared chats are ignored"
	default:
		s += "; in shared chats only when addressed"
	}
	if called, ok := ch.Settings.(channels.CalledBack); ok && called.CallsAt() != "" {
		s += "; " + ch.Settings.Network() + " calls " + called.CallsAt()
	}
	return s
}

// Local reports whether people come to the daemon itself to use the channel, as to the
// page. See [channels.Local].
func (ch Channel) Local() bool {
	_, local := ch.Settings.(channels.Local)
	return local
}

// MarshalYAML writes the settings of all channels, then those of the type.
func (ch Channel) MarshalYAML() (any, error) {
	type shared struct {
		Type   string `yaml:"type"`
		Access `yaml:",inline"`
	}
	var all, own yaml.Node
	if err := all.Encode(shared{ch.Type, ch.Access}); err != nil {
		return nil, err
	}
	if err := own.Encode(ch.Settings); err != nil {
		return nil, err
	}
	all.Content = append(all.Content, own.Content...)
	return &all, nil
}
