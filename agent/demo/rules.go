package demo

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// rule matches messages and says what to do about them.
type rule struct {
	// tool is the tool to call, with the named groups of pattern as arguments; ""
	// for none.
	tool    string
	pattern string
	needs   string // a group that must not be empty
	// reply is the answer, emptyReply the answer if the tool found nothing.
	// [intent.fill] fills in their placeholders.
	reply, emptyReply string
	// replyFunc, if not nil, returns the answer instead.
	replyFunc func(s *dialog, it *intent) string
}

const file = "[\"'`“]?(?P<path>[\\pL\\pN_][\\pL\\pN_./-]*\\.[\\pL\\pN]{1,8})[\"'`”]?"

const (
	sayFetched   = "I fetched {url}. It begins like this:\n\n{beginning}\n\nA real model would read it and answer your question about it; I can only show it."
	sayWritten   = "I wrote that to {path} in the workspace. Say “read {path}” to see it.\n\n{result}"
	sayList      = "This is in {path}:\n\n{result}"
	sayScheduled = "{sentence}\n\nSay “list my reminders” to see it. A real model understands any time, like “every Monday at nine”."
	sayFound     = "This was said{query}:\n\n{result}"
	sayNotFound  = "Nothing was said{query} in this conversation."
)

// rules are tried in order, and the first match wins. Narrow patterns come
// before wide ones, and rules that call a tool before those that do not.
var rules = []rule{
	{tool: "web_fetch", pattern: `(?i)(?P<url>https?://[^\s<>"']+)`, reply: sayFetched},
	{tool: "web_fetch", pattern: `(?i)\b(?:fetch|open|visit|browse|go to)\s+(?P<url>(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|eu|de|it|fr|uk)(?:/\S*)?)\s*$`, reply: sayFetched},
	{tool: "write_file", pattern: `(?is)\b(?:write|save|put|(?P<append>add|append))\s+(?P<content>.+?)\s+(?:to|in|into|as)\s+(?:an?\s+|the\s+)?(?:file\s+)?(?:called\s+|named\s+)?` + file + `\s*[.!]?\s*$`, reply: sayWritten},
	{tool: "write_file", pattern: `(?is)\b(?:write|create|make)\s+(?:an?\s+|the\s+)?(?:file\s+)?(?:called\s+|named\s+)?` + file + `\s*(?::|with|containing|saying|that says)\s*(?P<content>.+)$`, reply: sayWritten},
	{tool: "read_file", pattern: `(?is)\b(?:read|show|open|cat|print|what(?:'s|’s| is) in)\b.{0,30}?[\s"'` + "`" + `“]` + file, reply: "Here is {path}:\n\n{result}"},
	{tool: "list_dir", pattern: `(?is)\b(?:list|show|what|which|ls|see)\b.{0,60}\b(?:(?:folder|directory)|files?\s+(?:are\s+|is\s+)?in)\s+["'` + "`" + `]?(?P<path>[\pL\pN_][\pL\pN_./-]*)`, reply: sayList},
	{tool: "list_dir", pattern: `(?is)\b(?:list|show|what|which|ls|see)\b.{0,40}\b(?:files?|folders?|director(?:y|ies)|workspace)\b`, reply: sayList},
	{
		tool: "recall", pattern: `(?is)\b(?:what (?:do|can) you (?:remember|know|recall)|do you (?:remember|recall)|what have you remembered|show (?:me )?(?:your|my) memor(?:y|ies)|recall)\b(?:\s+(?:about|of))?\s*(?P<query>.*)$`,
		reply:      "This is what I remember{query}:\n\n{result}\n\n“forget #1” removes the first one, and so on.",
		emptyReply: "I remember nothing{query} yet. Say “remember that …” and I will.",
	},
	{tool: "forget", pattern: `(?is)\bforget\b.{0,20}?#?(?P<id>\d{1,12})\b`, reply: "{sentence}"},
	{
		tool: "remember", pattern: `(?is)^(?:please\s+|can you\s+|could you\s+)?remember\b\s*(?:that\b|this\b|:)?\s*:?\s*(?P<text>.+)$`,
		reply: "{sentence} I will know that “{text}” after a restart, too. Ask “what do you remember?” to see it.",
	},
	{tool: "schedule", pattern: `(?is)\bremind (?:me|us)\b.{0,10}?\bin\s+(?P<in>\d{1,4}\s*(?:m|min|minutes?|h|hours?|days?)|an hour)\s+(?:to|that|of|about)\s+(?P<text>.+)$`, reply: sayScheduled},
	{tool: "schedule", pattern: `(?is)\bremind (?:me|us)\s+(?:to|that|of|about)\s+(?P<text>.+?)\s+in\s+(?P<in>\d{1,4}\s*(?:m|min|minutes?|h|hours?|days?)|an hour)\s*[.!]?\s*$`, reply: sayScheduled},
	{tool: "list_jobs", pattern: `(?i)\b(?:what|which|list|show|my)\b.{0,20}\b(?:reminders?|jobs?)\b`, reply: "{result}"},
	{tool: "search_history", pattern: `(?is)\b(?:search|look|find)\b.{0,40}\b(?:history|conversation|chat|past|earlier)\b.{0,20}?\b(?:for|about)\s+(?P<query>.+)$`, needs: "query", reply: sayFound, emptyReply: sayNotFound},
	{tool: "search_history", pattern: `(?is)\b(?:when|what) did (?:i|we|you) (?:say|talk|mention|write)\b\s*(?:about\s+|of\s+)?(?P<query>.+)$`, needs: "query", reply: sayFound, emptyReply: sayNotFound},
	{tool: "search_history", pattern: `(?is)^(?:please\s+)?(?:search|look)(?:\s+for)?\s+(?P<query>.+)$`, needs: "query", reply: sayFound, emptyReply: sayNotFound},
	{tool: "time", pattern: `(?is)(?:\bwhat(?:'s|’s| is)? (?:the |today's )?(?:current )?(?:time|date|weekday)\b|\bwhat day is\b|\btime is it\b|\btell me the (?:time|date)\b|^(?:time|date|the time)\??$)(?:.*?\bin\s+(?P<zone>[A-Z][a-zA-Z_]+/[A-Z][a-zA-Z_/]+|UTC))?`, reply: "It is {sentence}"},

	{pattern: `(?i)^\W*count (?:up )?to (?P<to>\d{1,6})\b`, replyFunc: (*dialog).count},
	{pattern: `(?i)\bmarkdown\b`, reply: sayMarkdown},
	{pattern: `(?i)\b(?:connect|real model|api key|openai|ollama|better model|language model)\b`, reply: sayConnect},
	{pattern: `(?i)\b(?:summary|summari[sz]e|what (?:did|have) we|what was said|talked? about|so far)\b`, replyFunc: (*dialog).recap},
	{pattern: `(?i)\bforget\b`, reply: "Ask “what do you remember?”: each fact has a number there, and “forget #2” removes the second one. `/new` begins a new conversation."},
	{pattern: `(?i)(?:^\W*(?:help|\?+)\W*$|\bwhat can (?:you|i) do\b|\bhow (?:does|do) (?:this|you) work\b|^/start\b)`, reply: sayHelp},
	{pattern: `(?i)\b(?:who|what) are you\b|\bare you (?:an? )?(?:ai|bot|human|real|llm|model)\b|\byour name\b`, reply: sayWho + " Say “help” for what I can do."},
	{pattern: `(?i)^\W*(?:hi|hello|hey|hallo|hola|ciao|salut|bonjour|moin|good (?:morning|afternoon|evening|day)|greetings|привет|你好)(?:\P{L}|$)`, replyFunc: (*dialog).greeting},
	{pattern: `(?i)\b(?:thanks|thank you|thx|merci|danke|grazie|gracias)\b`, reply: "You are welcome!"},
	{pattern: `(?i)^\W*(?:bye|goodbye|good night|see you|tschüss|ciao)\b`, reply: "Goodbye! This conversation is kept, and goes on when you write again."},
	{pattern: `(?i)\bhow are you\b`, reply: "As well as rules can be: all of mine are in place. And you?"},
}

// patterns are the compiled patterns of rules. They are compiled at the first
// message, because a daemon with another model never needs them.
var patterns = sync.OnceValue(func() (all []*regexp.Regexp) {
	for i := range rules {
		all = append(all, regexp.MustCompile(rules[i].pattern))
	}
	return all
})

// intent is a message to answer, and the rule that it matches.
type intent struct {
	*rule  // without a match, one that repeats the message
	text   string
	person string // the sender's cleaned name, or ""
	args   map[string]any
}

func matchRule(text, person string) *intent {
	it := &intent{rule: &rule{replyFunc: (*dialog).echo}, text: text, person: person}
	const most = 4000 // a longer message is not a command
	if len(text) > most {
		return it
	}
	for i, p := range patterns() {
		found := p.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		args := make(map[string]any)
		for n, name := range p.SubexpNames() {
			if value := argument(name, found[n]); value != "" {
				args[name] = value
			}
		}
		if needs := rules[i].needs; needs == "" || args[needs] != nil {
			it.rule, it.args = &rules[i], args
			break
		}
	}
	return it
}

// argument converts the text of a group into a tool's argument; "" leaves it
// out.
func argument(name, given string) any {
	switch name {
	case "":
		return ""
	case "url":
		given = strings.TrimRight(given, ".,;:!?)")
		if !strings.HasPrefix(strings.ToLower(given), "http") {
			given = "https://" + given
		}
	case "path":
		given = strings.TrimSuffix(given, "/")
		if slices.Contains(notFolders, strings.ToLower(given)) {
			given = ""
		}
	case "append":
		if given != "" {
			return true
		}
	case "content":
		return unquote(given) + "\n"
	case "text":
		return unquote(given)
	case "in":
		return span(given)
	case "query":
		return topic(given)
	case "id":
		id, _ := strconv.Atoi(given) // at most 12 digits
		return id
	}
	return given
}

// span writes a length of time like "20 minutes" as tools take it: 20m.
func span(given string) string {
	given = strings.ToLower(given)
	count := strings.TrimRight(given, "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(given[len(count):])
	switch {
	case count == "": // an hour
		return "1h"
	case strings.HasPrefix(unit, "d"):
		days, _ := strconv.Atoi(count) // at most 4 digits
		return strconv.Itoa(24*days) + "h"
	}
	return count + unit[:1]
}

// notFolders are words that a folder pattern matches but that name no folder.
var notFolders = []string{"the", "this", "my", "your", "a", "here", "there", "workspace"}

func (it *intent) replyFor(result string) string {
	if it.emptyReply != "" && (result == "" || strings.HasPrefix(result, "[nothing")) {
		return it.fill(it.emptyReply, result)
	}
	return it.fill(it.reply, result)
}

func (it *intent) fill(text, result string) string {
	shown := func(name string) string {
		s, _ := it.args[name].(string)
		return clip(s, 200)
	}
	path, query := "the workspace", ""
	if p := shown("path"); p != "" {
		path = "`" + p + "`"
	}
	if q := shown("query"); q != "" {
		query = " about “" + q + "”"
	}
	return strings.NewReplacer(
		"{result}", fenced(clip(result, 3000)), "{beginning}", fenced(clip(result, 1500)), "{sentence}", sentence(result),
		"{url}", shown("url"), "{text}", shown("text"), "{path}", path, "{query}", query,
	).Replace(text)
}

// unquote removes quotation marks around all of s.
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

// topic returns the search words at the end of a question. Words like "me" and
// "this" are not search words.
func topic(s string) string {
	s = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(s), "?!.… "))
	switch strings.ToLower(s) {
	case "me", "us", "this", "that", "it", "anything", "everything", "so far", "about", "of", "now":
		return ""
	}
	return unquote(s)
}

func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?`") {
		return s
	}
	return s + "."
}
