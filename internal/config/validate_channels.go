package config

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/internal/lazily"
	"dragoman/internal/setting"
)

func (v *validator) channels() {
	seen := map[string]string{} // which channel has a token, or another thing that must be unique
	for _, name := range sortedKeys(v.c.Channels) {
		path, ch := "channels."+name, v.c.Channels[name]
		v.access(path, ch)
		v.chats(path+".prompts", ch, ch.Prompts)
		v.chats(path+".models", ch, ch.Models)
		id, what := ch.Type, "there is one channel of this type already: %s"
		switch ch.Type {
		case TypeTelegram:
			if ch.Enabled && !v.written(path+".token") {
				v.bad(path+".token", "is needed", "get one from @BotFather, and write token: \"${file:/path}\"")
			}
			id, what = ch.Telegram.Token.Reveal(), "has the same token as %s, and two pollers of one bot stop each other"
		case TypeWhatsApp:
			continue
		case TypeIRC:
			v.irc(path, ch.IRC, ch.Enabled)
			id, what = ch.IRC.Server+" "+ch.IRC.Nick, "has the same server and nick as %s"
		}
		if first, taken := seen[id]; taken && ch.Enabled {
			v.bad(path, fmt.Sprintf(what, first), "remove one, or turn it off with enabled: false")
		} else if ch.Enabled && id != "" {
			seen[id] = name
		}
	}
}

// access checks who may talk. Only ids for which the network vouches are allowed:
// any other entry would look like protection and be none.
func (v *validator) access(path string, ch Channel) {
	if ch.Type == TypeIRC {
		foldIRC(ch.Allow)
	}
	everybody, local := slices.Contains(ch.Allow, "*"), ch.Type == TypeWeb || ch.Type == TypeCLI
	for i, text := range ch.Allow {
		forms := identities[ch.Type]
		e := forms[slices.IndexFunc(forms, func(e identity) bool { return e.form.Matches(text) })]
		if at := fmt.Sprintf("%s.allow[%d]", path, i); e.what != "" && text != "*" {
			want := e.want
			if !v.marks[at].expanded {
				want = strings.Replace(want, "%s", text, 1)
			}
			v.bad(at, v.show(at, text)+" "+e.what, strings.Replace(want, "%s", "…", 1))
		}
	}
	switch {
	case everybody && len(ch.Allow) > 1:
		v.bad(path+".allow", `"*" lets everybody in, so the other entries have no effect`, `keep either "*" or the others`)
	case everybody && ch.Pairing && !local:
		v.bad(path+".pairing", `allow has "*", so nobody would ever be asked for a code`, `remove "*", or pairing`)
	case everybody && ch.Enabled && !local:
		v.warn(path+".allow", `everybody on the network may talk and spend your model ("*")`, "list people instead")
	case len(ch.Allow) == 0 && !ch.Pairing && ch.Enabled:
		v.warn(path+".allow", "nobody may talk", "add people to allow, or set pairing: true")
	case ch.Pairing && local:
		v.bad(path+".pairing", "nobody can be paired on a channel of type "+ch.Type, "remove the line")
	}
}

// irc checks the settings of a network. A disabled one need not be complete.
func (v *validator) irc(path string, c *IRC, enabled bool) {
	if c.User == "" {
		c.User = c.Nick
		if what, _ := forms["ident"](c.Nick); what != "" {
			c.User = "dragoman" // a user name cannot begin as a nick can
		}
	}
	for i, ch := range c.Channels {
		if ch.Name == "" {
			v.bad(fmt.Sprintf("%s.channels[%d].name", path, i), "is needed", "write the channel, with its #")
		}
	}
	if !enabled {
		return
	}
	host, port, _ := setting.HostPort(c.Server)
	secrets := c.Password.IsSet() || c.SASL.Password.IsSet() || c.NickServ.Password.IsSet()
	switch {
	case c.Server == "":
		v.bad(path+".server", "is needed", "write host:port, like irc.example.org:6697")
	case !c.TLS && (c.CAFile != "" || c.ClientCert != ""):
		v.bad(path+".tls", "is false, but certificates are set", "write tls: true, or remove them")
	case !c.TLS && port == 6697:
		v.warn(path+".tls", "is false, but 6697 is the port for TLS", "write tls: true")
	case !c.TLS && secrets && !setting.Loopback(host):
		v.warn(path+".tls", "is false, so passwords cross the network unencrypted", "write tls: true")
	}
	switch s := c.SASL; {
	case s.Mechanism == "" && (s.User != "" || s.Password.IsSet()):
		v.bad(path+".sasl.mechanism", "is empty, but a user or a password is set", "write plain")
	case s.Mechanism == "plain" && (s.User == "" || !s.Password.IsSet()):
		v.bad(path+".sasl", "plain needs user and password", "write both")
	case s.Mechanism == "external" && c.ClientCert == "":
		v.bad(path+".sasl.mechanism", "external needs a certificate", "set client_cert")
	case s.Mechanism == "external" && s.Password.IsSet():
		v.bad(path+".sasl.password", "external uses no password", "remove it, or write mechanism: plain")
	}
	if c.ClientKey != "" && c.ClientCert == "" {
		v.bad(path+".client_key", "is set, but client_cert is not", "set client_cert")
	}
	if c.NickServ.User != "" && !c.NickServ.Password.IsSet() {
		v.bad(path+".nickserv", "user is set, but password is not", "write both")
	}
}

// chats checks the prompts, or the models, for single chats of a channel.
func (v *validator) chats(path string, ch Channel, all Prompts) {
	models, value := strings.HasSuffix(path, ".models"), "a prompt"
	if models {
		value = "the model's name as its server knows it"
	}
	for _, chat := range sortedKeys(all) {
		at, kind := promptPath(path, chat), chat == promptPrivate || chat == promptGroup
		switch name, prefixed := strings.CutPrefix(chat, "chat:"); {
		case prefixed:
			v.bad(at, "has chat: in front of the chat's id", fmt.Sprintf("write %q", name))
		case models && kind:
			v.bad(at, "is not a chat", `write a chat's id like "#go", or a pattern: "#*" or "-*" is every group on IRC or Telegram`)
		case !chatForm.Matches(chat), ch.Type == TypeTelegram && !telegramPattern.Matches(chat):
			v.bad(at, "is not a chat of "+ch.network(), `write private, group, or a chat's id like "#go" or "-1001234567890", which may have a *`)
		case strings.TrimSpace(all[chat]) == "":
			v.bad(at, "is empty", "write "+value+", or remove the line")
		}
	}
}

// identity is a form of entries of allow, and what is wrong with it. If what is
// empty, the network vouches for it. A message may show the entry in the place of
// "%s".
type identity struct {
	form       *lazily.Expression
	what, want string
}

func fits(form, what, want string) identity { return identity{lazily.Compile(form), what, want} }

// identities are the forms of entries of allow for each type of channel. The first
// that fits counts; the last one fits everything.
var identities = map[string][]identity{
	TypeTelegram: {
		fits(`^1087968824$`, "means every anonymous administrator of every group", "allow the group instead, like chat:-1001234567890"),
		fits(`^136817688$`, "means everybody who writes in the name of a channel", "allow the group instead, like chat:-1001234567890"),
		fits(`^777000$`, "is Telegram's own service account", "allow the group instead, like chat:-1001234567890"),
		fits(`^(chat:-)?[1-9][0-9]{0,15}$`, "", ""),
		fits(`^@`, "is a username; its owner can change it, and then somebody else can take it",
			"write the numeric id (when the person sends /start to the bot, dragoman logs it), or set pairing: true"),
		fits(`^-`, "is a group", "write chat:%s"),
		fits(``, "is not a Telegram id", `write a user's number, chat:-100… for a group, or "*"`),
	},
	TypeWhatsApp: {
		fits(`^(chat:)?(\+[1-9][0-9]{6,14}|[1-9][0-9]{3,20}@lid)$`, "", ""),
		fits(`^chat:[0-9-]{5,40}@g\.us$`, "", ""),
		fits(`^[0-9-]{5,40}@g\.us$`, "is a group", "write chat:%s"),
		fits(`^[0-9 +()-]*$`, "is not a complete phone number", `write + and the country code, digits only: "+491701234567"`),
		fits(``, "is not an identity on WhatsApp", `write a phone number like "+491701234567", 123…@lid, chat:123…@g.us for a group, or "*"`),
	},
	TypeIRC: {
		fits(`^account:[^\s*?!@:,]+$`, "", ""),
		fits(ircMask, "", ""),
		fits(`^chat:`+ircChannel+`$`, "", ""),
		fits(`^mask:`, "is not a full mask: a nick alone proves nothing, and wildcards let in anybody who matches",
			"write mask:nick!user@host without * and ?, or better account:name"),
		fits(`^#`, "is a channel", "write chat:%s"),
		fits(``, "is not an identity that an IRC network vouches for", `write account:name (services), mask:nick!user@host, chat:#channel, or "*"`),
	},
	TypeWeb: {onlyAll}, TypeCLI: {onlyAll},
}

const (
	ircMask    = `^mask:([^\s!@*?]+)!([^\s!@*?]+)@([^\s!@*?]+)$`
	ircChannel = `[#&+!][^\s,:\x00-\x1f]{1,63}`
)

var onlyAll = fits(``, "is not an entry for this type of channel", `write "*" (everybody who can reach it may talk) or [] (nobody)`)

var mask = lazily.Compile(ircMask)

// foldIRC writes names the way the adapter reports them: all networks fold A to Z,
// and the user part of a mask is compared unchanged.
func foldIRC(allow []string) {
	for i, text := range allow {
		if parts := mask.Regexp().FindStringSubmatch(text); parts != nil {
			allow[i] = "mask:" + lower(parts[1]) + "!" + parts[2] + "@" + strings.ToLower(parts[3])
		} else if strings.HasPrefix(text, "account:") || strings.HasPrefix(text, "chat:") {
			allow[i] = lower(text)
		}
	}
}

// lower changes A to Z only; networks differ in what else they fold.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
