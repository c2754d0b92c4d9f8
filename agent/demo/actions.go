package demo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// action is a tool call that a message asks for, and the words for its result.
type action struct {
	tool string
	args map[string]any
	say  func(result string) string
}

// rule finds an action in a message. found holds the pattern's groups.
type rule struct {
	pattern *regexp.Regexp
	act     func(found []string) *action
}

const file = "[\"'`“]?([\\pL\\pN_][\\pL\\pN_./-]*\\.[\\pL\\pN]{1,8})[\"'`”]?"

// rules are tried in order; the first that matches wins. What is said only in
// certain words stands before what is said in many. They are compiled when the
// first message comes: a daemon with another model never needs them.
var rules = sync.OnceValue(func() []rule {
	return []rule{
		{regexp.MustCompile(`(?i)(https?://[^\s<>"']+)`), func(f []string) *action { return fetch(strings.TrimRight(f[1], ".,;:!?)")) }},
		{regexp.MustCompile(`(?i)\b(?:fetch|open|visit|browse|go to)\s+((?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|eu|de|it|fr|uk)(?:/\S*)?)\s*$`), func(f []string) *action { return fetch("https://" + f[1]) }},
		{regexp.MustCompile(`(?is)\b(write|save|put|add|append)\s+(.+?)\s+(?:to|in|into|as)\s+(?:an?\s+|the\s+)?(?:file\s+)?(?:called\s+|named\s+)?` + file + `\s*[.!]?\s*$`), func(f []string) *action { return write(f[3], f[2], f[1]) }},
		{regexp.MustCompile(`(?is)\b(write|create|make)\s+(?:an?\s+|the\s+)?(?:file\s+)?(?:called\s+|named\s+)?` + file + `\s*(?::|with|containing|saying|that says)\s*(.+)$`), func(f []string) *action { return write(f[2], f[3], f[1]) }},
		{regexp.MustCompile(`(?is)\b(?:read|show|open|cat|print|what(?:'s|’s| is) in)\b.{0,30}?[\s"'` + "`" + `“]` + file), func(f []string) *action { return read(f[1]) }},
		{regexp.MustCompile(`(?is)\b(?:list|show|what|which|ls|see)\b.{0,60}\b(?:(?:folder|directory)|files?\s+(?:are\s+|is\s+)?in)\s+["'` + "`" + `]?([\pL\pN_][\pL\pN_./-]*)`), func(f []string) *action { return list(f[1]) }},
		{regexp.MustCompile(`(?is)\b(?:list|show|what|which|ls|see)\b.{0,40}\b(?:files?|folders?|director(?:y|ies)|workspace)\b`), func([]string) *action { return list("") }},
		{regexp.MustCompile(`(?is)\b(?:what (?:do|can) you (?:remember|know|recall)|do you (?:remember|recall)|what have you remembered|show (?:me )?(?:your|my) memor(?:y|ies)|recall)\b(?:\s+(?:about|of))?\s*(.*)$`), func(f []string) *action { return recall(f[1]) }},
		{regexp.MustCompile(`(?is)\bforget\b.{0,20}?#?(\d{1,12})\b`), func(f []string) *action { return forget(f[1]) }},
		{regexp.MustCompile(`(?is)^(?:please\s+|can you\s+|could you\s+)?remember\b\s*(?:that\b|this\b|:)?\s*:?\s*(.+)$`), func(f []string) *action { return remember(f[1]) }},
		{regexp.MustCompile(`(?is)\b(?:search|look|find)\b.{0,40}\b(?:history|conversation|chat|past|earlier)\b.{0,20}?\b(?:for|about)\s+(.+)$`), func(f []string) *action { return search(f[1]) }},
		{regexp.MustCompile(`(?is)\b(?:when|what) did (?:i|we|you) (?:say|talk|mention|write)\b\s*(?:about\s+|of\s+)?(.+)$`), func(f []string) *action { return search(f[1]) }},
		{regexp.MustCompile(`(?is)^(?:please\s+)?(?:search|look)(?:\s+for)?\s+(.+)$`), func(f []string) *action { return search(f[1]) }},
		{regexp.MustCompile(`(?is)(?:\bwhat(?:'s|’s| is)? (?:the |today's )?(?:current )?(?:time|date|weekday)\b|\bwhat day is\b|\btime is it\b|\btell me the (?:time|date)\b|^(?:time|date|the time)\??$)(?:.*?\bin\s+([A-Z][a-zA-Z_]+/[A-Z][a-zA-Z_/]+|UTC))?`), func(f []string) *action { return clock(f[1]) }},
	}
})

// actionFor is the action that text asks for, or nil.
func actionFor(text string) *action {
	const most = 4000 // nobody writes a longer command
	if len(text) > most {
		return nil
	}
	for _, r := range rules() {
		if found := r.pattern.FindStringSubmatch(text); found != nil {
			if a := r.act(found); a != nil {
				return a
			}
		}
	}
	return nil
}

func fetch(address string) *action {
	return &action{"web_fetch", map[string]any{"url": address}, func(result string) string {
		return "I fetched " + address + ". It begins like this:\n\n" + fenced(clip(result, 1500)) +
			"\n\nA real model would read it and answer your question about it; I can only show it."
	}}
}

func write(path, content, verb string) *action {
	args := map[string]any{"path": path, "content": unquote(content) + "\n"}
	done := "I wrote"
	if v := strings.ToLower(verb); v == "add" || v == "append" {
		args["append"] = true
		done = "I added that to"
	}
	return &action{"write_file", args, func(result string) string {
		return fmt.Sprintf("%s `%s` in the workspace. Say “read %s” to see it.\n\n%s", done, path, path, fenced(clip(result, 400)))
	}}
}

func read(path string) *action {
	return &action{"read_file", map[string]any{"path": path}, func(result string) string {
		return "Here is `" + path + "`:\n\n" + fenced(clip(result, 3000))
	}}
}

func list(folder string) *action {
	args := map[string]any{}
	where := "the workspace"
	switch strings.ToLower(folder) {
	case "", "the", "this", "my", "your", "a", "here", "there", "workspace":
	default:
		args["path"] = strings.TrimSuffix(folder, "/")
		where = "`" + folder + "`"
	}
	return &action{"list_dir", args, func(result string) string {
		return "This is in " + where + ":\n\n" + fenced(clip(result, 3000))
	}}
}

func remember(fact string) *action {
	fact = unquote(fact)
	return &action{"remember", map[string]any{"text": fact}, func(result string) string {
		return fmt.Sprintf("%s I will know that “%s” after a restart, too. Ask “what do you remember?” to see it.", sentence(result), clip(fact, 200))
	}}
}

func recall(query string) *action {
	query = topic(query)
	args := map[string]any{}
	about := ""
	if query != "" {
		args["query"] = query
		about = " about “" + clip(query, 100) + "”"
	}
	return &action{"recall", args, func(result string) string {
		if strings.HasPrefix(result, "[") || result == "" {
			return "I remember nothing" + about + " yet. Say “remember that …” and I will."
		}
		return "This is what I remember" + about + ":\n\n" + fenced(clip(result, 3000)) + "\n\n“forget #1” removes the first one, and so on."
	}}
}

func forget(number string) *action {
	id, err := strconv.Atoi(number)
	if err != nil {
		return nil
	}
	return &action{"forget", map[string]any{"id": id}, sentence}
}

func search(query string) *action {
	query = topic(query)
	if query == "" {
		return nil
	}
	return &action{"search_history", map[string]any{"query": query}, func(result string) string {
		if strings.HasPrefix(result, "[nothing") || result == "" {
			return "Nothing in this conversation mentions “" + clip(query, 100) + "”."
		}
		return "This was said about “" + clip(query, 100) + "”:\n\n" + fenced(clip(result, 3000))
	}}
}

func clock(zone string) *action {
	args := map[string]any{}
	if zone != "" {
		args["zone"] = zone
	}
	return &action{"time", args, func(result string) string { return "It is " + sentence(result) }}
}

// unquote takes the quotation marks off that stand around all of s.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	for _, q := range []string{`""`, "''", "``", "“”", "«»", "„“"} {
		marks := []rune(q)
		if r := []rune(s); len(r) > 2 && r[0] == marks[0] && r[len(r)-1] == marks[1] {
			return string(r[1 : len(r)-1])
		}
	}
	return s
}

// topic is what is left of the end of a question. "me", "this" and the like
// are no words to look for.
func topic(s string) string {
	s = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(s), "?!.… "))
	switch strings.ToLower(s) {
	case "me", "us", "this", "that", "it", "anything", "everything", "so far", "about", "of", "now":
		return ""
	}
	return unquote(s)
}

// sentence is s with a full stop at its end.
func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?`") {
		return s
	}
	return s + "."
}
