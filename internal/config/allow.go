package config

import (
	"strings"

	"dragoman/internal/lazily"
)

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
