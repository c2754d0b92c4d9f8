package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/lazily"
)

// Prompts are parts of the system prompt. Their keys say for which chats:
// "private", "group", or a chat's id on its network, in which * stands for any
// characters.
type Prompts map[string]string

// The kinds of chats in Prompts.
const (
	promptPrivate = "private"
	promptGroup   = "group"
)

// promptPath is the path of the value for a chat or another name. As in [showKey],
// text that looks like neither is not repeated.
func promptPath(path, chat string) string {
	if shownChat.Matches(chat) {
		return path + "." + chat
	}
	return join(path, showKey(chat))
}

var (
	shownChat = lazily.Compile(`^[#&+!*-][0-9A-Za-z@._:*-]{0,80}$`)
	// chatForm is the id of a chat, or a pattern of such.
	chatForm = lazily.Compile(`^[^\s\pC]{1,256}$`)
)

// System is the part of the system prompt for a chat of the channel: system_prompt,
// then the prompt for its kind, then those for its id, the longest pattern last. It
// is constant for a chat, so that the provider's cache keeps hitting.
func (ch Channel) System(chat string, private bool) string {
	kind, room := promptGroup, chat
	if private {
		kind, room = promptPrivate, "a private chat"
	}
	all := []string{ch.SystemPrompt, ch.Prompts[kind]}
	for _, pattern := range ch.Prompts.matching(chat) {
		all = append(all, ch.Prompts[pattern])
	}
	var parts []string
	for _, text := range all {
		text = strings.TrimSpace(text)
		if text != "" {
			parts = append(parts, ch.fill(text, room, chat))
		}
	}
	return strings.Join(parts, "\n\n")
}

// Model is the model for a chat of the channel; "" is the configured one.
func (ch Channel) Model(chat string) (name string) {
	for _, pattern := range ch.Models.matching(chat) {
		name = strings.TrimSpace(ch.Models[pattern])
	}
	return name
}

// patterns are the keys that are patterns of ids, the shortest first.
func (p Prompts) patterns() []string {
	all := slices.DeleteFunc(sortedKeys(p), func(key string) bool { return key == promptPrivate || key == promptGroup })
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return all
}

// matching are the patterns that chat matches, without regard to case.
func (p Prompts) matching(chat string) []string {
	return slices.DeleteFunc(p.patterns(), func(pattern string) bool {
		expression := "(?is)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$"
		return !regexp.MustCompile(expression).MatchString(chat)
	})
}

// placeholder matches placeholders, and doubled ones, which are plain text.
var placeholder = lazily.Compile(`\{\{[a-z_]+\}\}|\{[a-z_]+\}`)

var placeholders = []string{"{channel}", "{chat}", "{network}", "{nick}"}

func (ch Channel) fill(text, room, chat string) string {
	return placeholder.Regexp().ReplaceAllStringFunc(text, func(p string) string {
		switch p {
		case "{channel}":
			return room
		case "{chat}":
			return chat
		case "{network}":
			return ch.Settings.Network()
		case "{nick}":
			return ch.nick()
		}
		return p[1 : len(p)-1] // a doubled one
	})
}

// promptFlaw reports the first placeholder that fill does not know.
func promptFlaw(text string) (what, want string) {
	for _, p := range placeholder.Regexp().FindAllString(text, -1) {
		if !strings.HasPrefix(p, "{{") && !slices.Contains(placeholders, p) {
			return "has an unknown placeholder, " + p, "the placeholders are " + strings.Join(placeholders, ", ") + ", and {{name}} is a plain {name}"
		}
	}
	return "", ""
}

func (ch Channel) nick() string {
	if named, ok := ch.Settings.(channels.Nicknamed); ok {
		return named.Nickname()
	}
	return "Dragoman"
}

// Prompted lists the prompts of the active channels and the chats that they are
// for. Placeholders are replaced if they are the same for all of these chats.
func (c *Config) Prompted() (lines []string) {
	for _, name := range c.Active() {
		ch := c.Channels[name]
		say := func(who, text, room, chat string) {
			text = strings.Join(strings.Fields(ch.fill(text, room, chat)), " ")
			if text != "" {
				lines = append(lines, fmt.Sprintf("%s, %s: %s", name, who, text))
			}
		}
		say("every chat", ch.SystemPrompt, "{channel}", "{chat}")
		say("private chats", ch.Prompts[promptPrivate], "a private chat", "{chat}")
		say("groups", ch.Prompts[promptGroup], "{channel}", "{chat}")
		for _, pattern := range ch.Prompts.patterns() {
			room := pattern
			if strings.Contains(pattern, "*") {
				room = "{channel}"
			}
			say(pattern, ch.Prompts[pattern], room, room)
		}
	}
	return lines
}
