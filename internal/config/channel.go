package config

import (
	"fmt"
	"slices"
)

// The channel types of this version.
const (
	TypeTelegram = "telegram"
	TypeWhatsApp = "whatsapp"
	TypeIRC      = "irc"
	TypeWeb      = "web"
	TypeCLI      = "cli"
)

var channelTypes = []string{TypeTelegram, TypeWhatsApp, TypeIRC, TypeWeb, TypeCLI}

// The values of Access.Groups.
const (
	GroupsAddressed = "addressed"
	GroupsAll       = "all"
	GroupsOff       = "off"
)

// Channel is one configured channel instance. Only the pointer for its Type is set;
// web and cli have no settings beyond Access.
type Channel struct {
	Type     string `yaml:"type" doc:"telegram, whatsapp, irc, web or cli. Default: the channel's name."`
	Access   `yaml:",inline"`
	Telegram *Telegram `yaml:",inline"`
	WhatsApp *WhatsApp `yaml:",inline"`
	IRC      *IRC      `yaml:",inline"`
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

// Telegram is one bot.
type Telegram struct {
	Token       Secret   `yaml:"token,omitempty" is:"bot token" doc:"The bot's token from @BotFather."`
	APIURL      string   `yaml:"api_url" default:"https://api.telegram.org" is:"url" doc:"The Bot API server."`
	PollTimeout Duration `yaml:"poll_timeout" default:"30s" range:"1s..1m" doc:"How long a poll waits at the server when there are no messages."`
	Preview     bool     `yaml:"preview" default:"true" doc:"Show the answer while it is written."`
}

// WhatsApp is one linked device. The phone that links it decides the account: see
// dragoman login.
type WhatsApp struct {
	Names      []string `yaml:"names,flow" default:"dragoman" is:"calling name" doc:"The bot's names in groups: it answers to \"name: …\", \"name, …\" and \"@name …\"."`
	DeviceName string   `yaml:"device_name" default:"Dragoman" is:"device name" doc:"The name that the phone shows under Linked devices."`
	WebVersion string   `yaml:"web_version" is:"web version" empty:"ok" doc:"The version of WhatsApp Web to claim: three numbers, or auto to ask WhatsApp for the current one. Empty: the built-in one."`
	Typing     bool     `yaml:"typing" default:"true" doc:"Show that an answer is being written."`
	ReadMarks  bool     `yaml:"read_marks" default:"true" doc:"Mark messages as read when Dragoman begins to answer them."`
	SelfChat   bool     `yaml:"self_chat" default:"true" doc:"Answer the owner in their chat with themselves. Dragoman reads nothing else that the owner writes."`
}

// IRC is one network.
type IRC struct {
	Server     string       `yaml:"server,omitempty" is:"server address" empty:"ok" doc:"host:port of the network."`
	TLS        bool         `yaml:"tls" default:"true" doc:"Use TLS. Without it, anybody on the network path can read along."`
	CAFile     string       `yaml:"ca_file" is:"file" empty:"ok" doc:"PEM file with the authorities to trust instead of the system's."`
	ClientCert string       `yaml:"client_cert" is:"file" empty:"ok" doc:"PEM file with our certificate, for SASL EXTERNAL or CertFP."`
	ClientKey  string       `yaml:"client_key" is:"file" empty:"ok" doc:"PEM file with the certificate's key. Default: the key is in client_cert."`
	Password   Secret       `yaml:"password,omitempty" doc:"The server's password, if it needs one."`
	Nick       string       `yaml:"nick" default:"dragoman" is:"nick" doc:"Our name there."`
	AltNicks   []string     `yaml:"alt_nicks,flow" is:"nick" doc:"Nicks to use while nick is taken."`
	User       string       `yaml:"user" is:"ident" empty:"ok" doc:"User name (ident). Default: nick."`
	RealName   string       `yaml:"real_name" default:"Dragoman" is:"line" doc:"Shown by WHOIS."`
	SASL       SASL         `yaml:"sasl"`
	NickServ   NickServ     `yaml:"nickserv"`
	Channels   []IRCChannel `yaml:"channels"`
	MaxLines   int          `yaml:"max_lines" default:"12" range:"0..1000" doc:"Maximum lines of an answer shown in a channel; !more shows as many again. 0: no limit."`
	Flood      Flood        `yaml:"flood"`
}

// SASL identifies us to the network's services while connecting.
type SASL struct {
	Mechanism string `yaml:"mechanism" oneof:"plain external" empty:"ok" doc:"plain (user and password) or external (client_cert). Empty: no SASL."`
	User      string `yaml:"user" is:"line" doc:"The services account."`
	Password  Secret `yaml:"password,omitempty" doc:"Its password."`
	Required  bool   `yaml:"required" default:"true" doc:"Disconnect if SASL login fails."`
}

// NickServ identifies us where the network has no SASL.
type NickServ struct {
	User     string `yaml:"user" is:"line" doc:"The services account."`
	Password Secret `yaml:"password,omitempty" doc:"Its password, sent to NickServ after connecting."`
	Nick     string `yaml:"nick" is:"line" doc:"Who receives the password. A form like NickServ@services.example protects it from impostors."`
	Regain   string `yaml:"regain" oneof:"regain ghost recover" empty:"ok" doc:"The service's command that frees our nick from a dead connection: regain, ghost or recover. Empty: none."`
}

// IRCChannel is one channel to join. In YAML it may be the name alone.
type IRCChannel struct {
	Name string `yaml:"name" short:"yes" once:"yes" is:"irc channel" doc:"The channel, with its #."`
	Key  Secret `yaml:"key,omitempty" is:"channel key" doc:"Its key (mode +k)."`
}

// Flood limits the rate of our lines on an IRC network.
type Flood struct {
	Burst int      `yaml:"burst" default:"4" range:"1..100" doc:"Lines that may go out at once."`
	Every Duration `yaml:"every" default:"2s" range:"10ms..1m" doc:"After these, one line per this interval."`
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
		lines = append(lines, fmt.Sprintf("%s: %s", name, c.Channels[name].policy(c.HTTP.Token.IsSet())))
	}
	return lines
}

func (ch Channel) policy(token bool) string {
	var s string
	switch {
	case ch.Type == TypeWeb && slices.Contains(ch.Allow, "*") && token:
		s = "everybody who has the token of the page"
	case ch.Type == TypeWeb && slices.Contains(ch.Allow, "*"):
		s = "everybody who can open the page"
	case ch.Type == TypeCLI && slices.Contains(ch.Allow, "*"):
		s = "everybody who can run dragoman chat on this machine"
	case slices.Contains(ch.Allow, "*"):
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
	if ch.Type == TypeWeb || ch.Type == TypeCLI {
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
	return s
}
