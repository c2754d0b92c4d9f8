package config

import (
	"cmp"
	"fmt"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/internal/lazily"

	"gopkg.in/yaml.v3"
)

// Prompts are parts of the system prompt by the chats that get them: "private",
// "group", or a chat's id on its network, in which * stands for any characters.
type Prompts map[string]string

// The kinds of chats in Prompts.
const (
	promptPrivate = "private"
	promptGroup   = "group"
)

var promptsType = reflect.TypeFor[Prompts]()

// prompts decodes a mapping of texts.
func (d *decoder) prompts(n *yaml.Node, path string, v reflect.Value) {
	all := Prompts{}
	d.keys(n, path, func(key, value *yaml.Node, _ string) {
		var text string
		d.value(value, promptPath(path, key.Value), reflect.ValueOf(&text).Elem(), field{})
		all[key.Value] = text
	})
	if len(all) > 0 {
		v.Set(reflect.ValueOf(all))
	}
}

// promptPath is where the prompt for a chat stands. What does not look like a
// chat is not repeated, as of every other key.
func promptPath(path, chat string) string {
	if shownChat.Regexp().MatchString(chat) {
		return path + "." + chat
	}
	return join(path, showKey(chat))
}

var shownChat = lazily.Compile(`^[#&+!*-][0-9A-Za-z@._:*-]{0,80}$`)

// isChat reports whether s can be the id of a chat, or a pattern of such.
func isChat(s string) bool {
	n := utf8.RuneCountInString(s)
	return n > 0 && n <= 256 && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.C, r) })
}

// System is the part of the system prompt that a chat of the channel gets:
// system_prompt, then what prompts has for its kind, then what it has for its id,
// the longest pattern last. Each chat always gets the same, so that a provider's
// cache keeps hitting.
func (ch Channel) System(chat string, private bool) string {
	kind, room := promptGroup, chat
	if private {
		kind, room = promptPrivate, "a private chat"
	}
	var parts []string
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, ch.fill(text, room, chat))
		}
	}
	add(ch.SystemPrompt)
	add(ch.Prompts[kind])
	for _, pattern := range ch.Prompts.patterns() {
		if matches(pattern, chat) {
			add(ch.Prompts[pattern])
		}
	}
	return strings.Join(parts, "\n\n")
}

// Model is the model for a chat of the channel; "" is the configured one.
func (ch Channel) Model(chat string) (name string) {
	for _, pattern := range ch.Models.patterns() {
		if matches(pattern, chat) {
			name = strings.TrimSpace(ch.Models[pattern])
		}
	}
	return name
}

// models checks the models for chats of one channel.
func (v *validator) models(path string, ch Channel) {
	for _, chat := range sortedKeys(ch.Models) {
		at := promptPath(path+".models", chat)
		switch {
		case chat == promptPrivate || chat == promptGroup:
			v.bad(at, "is not a chat", `write a chat's id like "#go", or a pattern: "#*" or "-*" is every group on IRC or Telegram`)
		case !isChat(chat) || ch.Type == TypeTelegram && !telegramPattern.Regexp().MatchString(chat):
			v.bad(at, "is not a chat", `write a chat's id like "#go" or "-1001234567890", which may have a *`)
		case strings.TrimSpace(ch.Models[chat]) == "":
			v.bad(at, "is empty", "write the model's name as its server knows it, or remove the line")
		case v.c.Model.Type == "demo":
			v.bad(at, "the built-in demo has no other models", "name a server in model.base_url, or remove the line")
		}
	}
}

// patterns are the keys that are no kinds, the shortest first.
func (p Prompts) patterns() []string {
	return slices.SortedFunc(func(yield func(string) bool) {
		for pattern := range p {
			if pattern != promptPrivate && pattern != promptGroup && !yield(pattern) {
				return
			}
		}
	}, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
}

// matches reports whether pattern, in which * is any text, is chat. Case does not
// count.
func matches(pattern, chat string) bool {
	expression := "(?is)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$"
	return regexp.MustCompile(expression).MatchString(chat)
}

// placeholder is one in a prompt, or one that is doubled to be plain text.
var placeholder = lazily.Compile(`\{\{[a-z_]+\}\}|\{[a-z_]+\}`)

var placeholders = []string{"{channel}", "{chat}", "{network}", "{nick}"}

// fill puts the names of a chat into a prompt.
func (ch Channel) fill(text, room, chat string) string {
	return placeholder.Regexp().ReplaceAllStringFunc(text, func(p string) string {
		switch p {
		case "{channel}":
			return room
		case "{chat}":
			return chat
		case "{network}":
			return ch.network()
		case "{nick}":
			return ch.nick()
		}
		return p[1 : len(p)-1] // a doubled one
	})
}

func (ch Channel) network() string {
	switch ch.Type {
	case TypeIRC:
		if host, _, err := net.SplitHostPort(ch.IRC.Server); err == nil {
			return host
		}
		return ch.IRC.Server
	case TypeTelegram:
		return "Telegram"
	case TypeWhatsApp:
		return "WhatsApp"
	case TypeWeb:
		return "the chat page"
	}
	return "the terminal"
}

func (ch Channel) nick() string {
	switch {
	case ch.Type == TypeIRC:
		return ch.IRC.Nick
	case ch.Type == TypeWhatsApp && len(ch.WhatsApp.Names) > 0:
		return ch.WhatsApp.Names[0]
	}
	return "Dragoman"
}

// prompts checks the parts of the system prompt on one channel.
func (v *validator) prompts(path string, ch Channel) {
	v.placeholders(path+".system_prompt", ch.SystemPrompt)
	for _, chat := range sortedKeys(ch.Prompts) {
		at := promptPath(path+".prompts", chat)
		switch name, prefixed := strings.CutPrefix(chat, "chat:"); {
		case prefixed:
			v.bad(at, "has chat: in front of the chat's id", fmt.Sprintf("write %q", name))
		case !isChat(chat):
			v.bad(at, "is not a chat", `write private, group, or a chat's id like "#go", which may have a *`)
		case ch.Type == TypeTelegram && !telegramPattern.Regexp().MatchString(chat):
			v.bad(at, "is not a Telegram chat", `write private, group, or a chat's id like "-1001234567890", which may have a *`)
		case strings.TrimSpace(ch.Prompts[chat]) == "":
			v.bad(at, "is empty", "write a prompt, or remove the line")
		}
		v.placeholders(at, ch.Prompts[chat])
	}
}

var telegramPattern = lazily.Compile(`^(private|group|-?[0-9*]+(:[0-9*]+)?)$`)

func (v *validator) placeholders(path, text string) {
	for _, p := range placeholder.Regexp().FindAllString(text, -1) {
		if strings.HasPrefix(p, "{{") || slices.Contains(placeholders, p) {
			continue
		}
		shown := p
		if v.marks[path].expanded {
			shown = "{…}"
		}
		v.bad(path, "has an unknown placeholder, "+shown, "the placeholders are "+strings.Join(placeholders, ", ")+", and {{name}} is a plain {name}")
		return
	}
}

// Prompted says for each active channel with prompts of its own which chats get
// which, with its names filled in as far as they are the same for all of them.
func (c *Config) Prompted() (lines []string) {
	for _, name := range c.Active() {
		ch := c.Channels[name]
		say := func(who, text string) {
			if text = strings.Join(strings.Fields(text), " "); text != "" {
				lines = append(lines, fmt.Sprintf("%s, %s: %s", name, who, text))
			}
		}
		say("every chat", ch.fill(ch.SystemPrompt, "{channel}", "{chat}"))
		say("private chats", ch.fill(ch.Prompts[promptPrivate], "a private chat", "{chat}"))
		say("groups", ch.fill(ch.Prompts[promptGroup], "{channel}", "{chat}"))
		for _, pattern := range ch.Prompts.patterns() {
			room := pattern
			if strings.Contains(pattern, "*") {
				room = "{channel}"
			}
			say(pattern, ch.fill(ch.Prompts[pattern], room, room))
		}
	}
	return lines
}
