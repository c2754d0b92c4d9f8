package telegram

import (
	"net/url"
	"slices"

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
	Webhook     WebhookSettings  `yaml:"webhook"`
}

// WebhookSettings let Telegram call instead of being polled.
type WebhookSettings struct {
	URL    string         `yaml:"url" is:"url" empty:"ok" doc:"The public https address of http.listen, like https://bot.example.org. Telegram then calls its /webhook/ and the name of this channel, instead of being polled. Empty: poll."`
	Secret setting.Secret `yaml:"secret,omitempty" is:"webhook secret" doc:"What Telegram shows with each call: 16 to 256 letters, digits, _ and -."`
}

var (
	_ channels.FormTeller = (*Settings)(nil)
	_ channels.Distinct   = (*Settings)(nil)
	_ channels.ChatKnower = (*Settings)(nil)
	_ channels.Maker      = (*Settings)(nil)
	_ channels.CalledBack = (*Settings)(nil)
)

// Network is Telegram.
func (*Settings) Network() string { return "Telegram" }

// Forms are those of a token.
func (*Settings) Forms() map[string]func(text string) (what, want string) {
	return map[string]func(string) (string, string){
		"webhook secret": setting.Must(secretForm.Matches, "is no secret for Telegram", "write 16 to 256 letters, digits, _ and -, like what this prints: openssl rand -hex 32"),
		"bot token":      setting.Like(`^[0-9]{1,16}:[A-Za-z0-9_-]{8,}$`, "does not look like a bot token", "copy it whole from @BotFather: digits, a colon, letters and digits"),
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

// CallsAt is the address of the webhook.
func (s *Settings) CallsAt() string { return s.Webhook.URL }

// Check wants a token, and a secret for a webhook.
func (s *Settings) Check(r channels.Report) {
	s.checkWebhook(r)
	if r.Enabled() && !r.Written("token") {
		r.Bad("token", "is needed", "get one from @BotFather, and write token: \"${file:/path}\"")
	}
}

// checkWebhook wants an address that Telegram calls: it takes https only, at four ports.
func (s *Settings) checkWebhook(r channels.Report) {
	if s.Webhook.URL == "" {
		if r.Written("webhook.secret") {
			r.Bad("webhook.secret", "works only with webhook.url", "write the public address of http.listen there, or remove the secret")
		}
		return
	}
	if !r.Written("webhook.secret") {
		r.Bad("webhook.secret", "is needed: without it, anybody could write in anybody's name", "make one with: openssl rand -hex 32")
	}
	u, err := url.Parse(s.Webhook.URL)
	if err != nil || s.APIURL != ownServer { // one's own Bot API server calls any address
		return
	}
	switch {
	case u.Scheme != "https":
		r.Bad("webhook.url", "is not https, and Telegram calls nothing else", "put a proxy with TLS in front, and write its address")
	case !slices.Contains([]string{"", "443", "80", "88", "8443"}, u.Port()):
		r.Bad("webhook.url", "has a port that Telegram does not call", "use 443, 80, 88 or 8443")
	}
}

// ownServer is Telegram's.
const ownServer = "https://api.telegram.org"

// Make makes the bot's channel.
func (s *Settings) Make(with channels.Setup) (channels.Channel, error) {
	return New(with.Name, Options{
		Token: s.Token.Reveal(), APIURL: s.APIURL, PollTimeout: s.PollTimeout.D(), NoPreview: !s.Preview,
		WebhookURL: s.Webhook.URL, WebhookSecret: s.Webhook.Secret.Reveal(),
		Shared: with.Shared, Proxy: with.Proxy, Logger: with.Logger,
	})
}
