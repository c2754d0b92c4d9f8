package telegram

import (
	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/internal/setting"
)

// Type is what the configuration knows of Telegram.
var Type = channels.Type{Name: "telegram", Settings: func() channels.Settings { return new(Settings) }}

// Settings are those of one bot.
type Settings struct {
	Token       setting.Secret   `yaml:"token,omitempty" is:"bot token" apart:"yes" doc:"The bot's token from @BotFather."`
	APIURL      string           `yaml:"api_url" default:"https://api.telegram.org" is:"url" doc:"The Bot API server."`
	PollTimeout setting.Duration `yaml:"poll_timeout" default:"30s" range:"1s..1m" doc:"How long a poll waits at the server when there are no messages."`
	Preview     bool             `yaml:"preview" default:"true" doc:"Show the answer while it is written."`
}

var (
	_ channels.FormTeller = (*Settings)(nil)
	_ channels.Distinct   = (*Settings)(nil)
	_ channels.ChatKnower = (*Settings)(nil)
	_ channels.Maker      = (*Settings)(nil)
)

// Network is Telegram.
func (*Settings) Network() string { return "Telegram" }

// Forms are those of a token.
func (*Settings) Forms() map[string]func(text string) (what, want string) {
	return map[string]func(string) (string, string){
		"bot token": setting.Like(`^[0-9]{1,16}:[A-Za-z0-9_-]{8,}$`, "does not look like a bot token", "copy it whole from @BotFather: digits, a colon, letters and digits"),
	}
}

// Identities are numeric ids. Some belong to no person.
func (*Settings) Identities() []channels.Identity {
	const instead = "allow the group instead, like chat:-1001234567890"
	return []channels.Identity{
		{Form: `^1087968824$`, What: "means every anonymous administrator of every group", Want: instead},
		{Form: `^136817688$`, What: "means everybody who writes in the name of a channel", Want: instead},
		{Form: `^777000$`, What: "is Telegram's own service account", Want: instead},
		{Form: `^(chat:-)?[1-9][0-9]{0,15}$`},
		{
			Form: `^@`, What: "is a username; its owner can change it, and then somebody else can take it",
			Want: "write the numeric id (when the person sends /start to the bot, dragoman logs it), or set pairing: true",
		},
		{Form: `^-`, What: "is a group", Want: "write chat:%s"},
		{Form: ``, What: "is not a Telegram id", Want: `write a user's number, chat:-100… for a group, or "*"`},
	}
}

var chatPattern = lazily.Compile(`^-?[0-9*]+(:[0-9*]+)?$`)

// IsChat knows the ids of chats and topics.
func (*Settings) IsChat(pattern string) bool { return chatPattern.Matches(pattern) }

// Distinct is the token.
func (s *Settings) Distinct() (id, what string) {
	return s.Token.Reveal(), "has the same token as %s, and two pollers of one bot stop each other"
}

// Check wants a token.
func (*Settings) Check(r channels.Report) {
	if r.Enabled() && !r.Written("token") {
		r.Bad("token", "is needed", "get one from @BotFather, and write token: \"${file:/path}\"")
	}
}

// Make makes the bot's channel.
func (s *Settings) Make(with channels.Setup) (channels.Channel, error) {
	return New(with.Name, Options{
		Token: s.Token.Reveal(), APIURL: s.APIURL, PollTimeout: s.PollTimeout.D(), NoPreview: !s.Preview,
		Shared: with.Shared, Proxy: with.Proxy, Logger: with.Logger,
	})
}
