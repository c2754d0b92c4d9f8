package config

import (
	"strings"

	"dragoman/internal/lazily"
)

// foldIRC writes names the way the adapter reports them. All networks agree
// that A to Z are a to z; the user part of a mask is compared as it stands.
func foldIRC(allow []string) {
	for i, entry := range allow {
		if mask, isMask := strings.CutPrefix(entry, "mask:"); isMask {
			nick, rest, _ := strings.Cut(mask, "!")
			user, host, _ := strings.Cut(rest, "@")
			if ircMask.Matches(entry) {
				allow[i] = "mask:" + lower(nick) + "!" + user + "@" + strings.ToLower(host)
			}
			continue
		}
		if strings.HasPrefix(entry, "account:") || strings.HasPrefix(entry, "chat:") {
			allow[i] = lower(entry)
		}
	}
}

// lower changes A to Z only: folding more is up to the network.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// allowChecks say what is wrong with an entry of allow, and what to write. Each
// type has one: its network vouches for ids of its own form.
var allowChecks = map[string]func(entry string) (what, want string){
	TypeTelegram: allowTelegram, TypeWhatsApp: allowWhatsApp, TypeIRC: allowIRC, TypeWeb: allowLocal, TypeCLI: allowLocal,
}

var (
	botToken     = lazily.Compile(`^[0-9]{1,16}:[A-Za-z0-9_-]{8,}$`)
	telegramUser = lazily.Compile(`^[1-9][0-9]{0,15}$`)
	telegramChat = lazily.Compile(`^chat:-[1-9][0-9]{0,15}$`)
	ircAccount   = lazily.Compile(`^account:[^\s*?!@:,]+$`)
	ircMask      = lazily.Compile(`^mask:[^\s!@*?]+![^\s!@*?]+@[^\s!@*?]+$`)
	ircChannel   = lazily.Compile(`^[#&+!][^\s,:\x00-\x1f]{1,63}$`)
	ircNick      = lazily.Compile("^[A-Za-z\\[\\]\\\\`_^{|}][A-Za-z0-9\\[\\]\\\\`_^{|}-]{0,31}$")
	ircUser      = lazily.Compile("^~?[A-Za-z0-9][A-Za-z0-9\\[\\]\\\\`_^{|}.-]*$")

	whatsappNumber  = lazily.Compile(`^\+[1-9][0-9]{6,14}$`)
	whatsappLID     = lazily.Compile(`^[1-9][0-9]{3,20}@lid$`)
	whatsappGroup   = lazily.Compile(`^[0-9-]{5,40}@g\.us$`)
	whatsappVersion = lazily.Compile(`^auto$|^[0-9]{1,3}\.[0-9]{1,6}\.[0-9]{1,9}$|^[0-9]{1,3}\.[0-9]{1,6}\.[1-3][0-9]{9}$`)
)

// sharedTelegramIDs are ids that many people send under.
var sharedTelegramIDs = map[string]string{
	"1087968824": "means every anonymous administrator of every group",
	"136817688":  "means everybody who writes in the name of a channel",
	"777000":     "is Telegram's own service account",
}

func allowTelegram(entry string) (what, want string) {
	switch shared, isShared := sharedTelegramIDs[entry]; {
	case isShared:
		return shared, "allow the group instead, like chat:-1001234567890"
	case telegramUser.Matches(entry), telegramChat.Matches(entry):
		return "", ""
	case strings.HasPrefix(entry, "@"):
		return "is a username; its owner can change it, and then somebody else can take it",
			"write the numeric id (when the person sends /start to the bot, dragoman logs it), or set pairing: true"
	case strings.HasPrefix(entry, "-"):
		return "is a group", "write chat:" + entry
	}
	return "is not a Telegram id", `write a user's number, chat:-100… for a group, or "*"`
}

func allowIRC(entry string) (what, want string) {
	switch {
	case ircAccount.Matches(entry), ircMask.Matches(entry):
		return "", ""
	case strings.HasPrefix(entry, "chat:") && ircChannel.Matches(entry[5:]):
		return "", ""
	case strings.HasPrefix(entry, "mask:"):
		return "is not a full mask: a nick alone proves nothing, and wildcards let in anybody who matches",
			"write mask:nick!user@host without * and ?, or better account:name"
	case strings.HasPrefix(entry, "#"):
		return "is a channel", "write chat:" + entry
	}
	return "is not an identity that an IRC network vouches for", `write account:name (services), mask:nick!user@host, chat:#channel, or "*"`
}

func allowLocal(string) (what, want string) {
	return "is not an entry for this type of channel", `write "*" (everybody who can reach it may talk) or [] (nobody)`
}

func allowWhatsApp(entry string) (what, want string) {
	chat, isChat := strings.CutPrefix(entry, "chat:")
	switch {
	case isChat && (whatsappGroup.Matches(chat) || whatsappNumber.Matches(chat) || whatsappLID.Matches(chat)),
		whatsappNumber.Matches(entry), whatsappLID.Matches(entry):
		return "", ""
	case whatsappGroup.Matches(entry):
		return "is a group", "write chat:" + entry
	case strings.Trim(entry, "0123456789 +-()") == "":
		return "is not a complete phone number", `write + and the country code, digits only: "+491701234567"`
	}
	return "is not an identity on WhatsApp", `write a phone number like "+491701234567", 123…@lid, chat:123…@g.us for a group, or "*"`
}
