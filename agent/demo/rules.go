package demo

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// rule is something that a message may want.
type rule struct {
	// tool is what it calls, with the named groups of pattern as arguments. ""
	// calls nothing.
	tool    string
	pattern string
	needs   string // the group without which it does not match
	// say is the answer, nothing the one where the tool found nothing. See
	// [wish.filled] for what is put into them.
	say, nothing string
	// tell, if not nil, is the answer instead.
	tell func(s *scene, w *wish) string
}

const file = "[\"'`“]?(?P<path>[\\pL\\pN_][\\pL\\pN_./-]*\\.[\\pL\\pN]{1,8})[\"'`”]?"

const (
	sayFetched = "I fetched {url}. It begins like this:\n\n{beginning}\n\nA real model would read it and answer your question about it; I can only show it."
	sayWritten = "I wrote that to {path} in the workspace. Say “read {path}” to see it.\n\n{result}"
	sayList    = "This is in {path}:\n\n{result}"
	sayFound   = "This was said{query}:\n\n{result}"
	sayUnsaid  = "Nothing was said{query} in this conversation."
)

// rules are tried in order; the first that matches wins. What is said only in
// certain words is before what is said in many, and what calls a tool before what
// does not.
var rules = []rule{
	{tool: "web_fetch", pattern: `(?i)(?P<url>https?://[^\s<>"']+)`, say: sayFetched},
	{tool: "web_fetch", pattern: `(?i)\b(?:fetch|open|visit|browse|go to)\s+(?P<url>(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|eu|de|it|fr|uk)(?:/\S*)?)\s*$`, say: sayFetched},
	{tool: "write_file", pattern: `(?is)\b(?:write|save|put|(?P<append>add|append))\s+(?P<content>.+?)\s+(?:to|in|into|as)\s+(?:an?\s+|the\s+)?(?:file\s+)?(?:called\s+|named\s+)?` + file + `\s*[.!]?\s*$`, say: sayWritten},
	{tool: "write_file", pattern: `(?is)\b(?:write|create|make)\s+(?:an?\s+|the\s+)?(?:file\s+)?(?:called\s+|named\s+)?` + file + `\s*(?::|with|containing|saying|that says)\s*(?P<content>.+)$`, say: sayWritten},
	{tool: "read_file", pattern: `(?is)\b(?:read|show|open|cat|print|what(?:'s|’s| is) in)\b.{0,30}?[\s"'` + "`" + `“]` + file, say: "Here is {path}:\n\n{result}"},
	{tool: "list_dir", pattern: `(?is)\b(?:list|show|what|which|ls|see)\b.{0,60}\b(?:(?:folder|directory)|files?\s+(?:are\s+|is\s+)?in)\s+["'` + "`" + `]?(?P<path>[\pL\pN_][\pL\pN_./-]*)`, say: sayList},
	{tool: "list_dir", pattern: `(?is)\b(?:list|show|what|which|ls|see)\b.{0,40}\b(?:files?|folders?|director(?:y|ies)|workspace)\b`, say: sayList},
	{
		tool: "recall", pattern: `(?is)\b(?:what (?:do|can) you (?:remember|know|recall)|do you (?:remember|recall)|what have you remembered|show (?:me )?(?:your|my) memor(?:y|ies)|recall)\b(?:\s+(?:about|of))?\s*(?P<query>.*)$`,
		say:     "This is what I remember{query}:\n\n{result}\n\n“forget #1” removes the first one, and so on.",
		nothing: "I remember nothing{query} yet. Say “remember that …” and I will.",
	},
	{tool: "forget", pattern: `(?is)\bforget\b.{0,20}?#?(?P<id>\d{1,12})\b`, say: "{sentence}"},
	{
		tool: "remember", pattern: `(?is)^(?:please\s+|can you\s+|could you\s+)?remember\b\s*(?:that\b|this\b|:)?\s*:?\s*(?P<text>.+)$`,
		say: "{sentence} I will know that “{text}” after a restart, too. Ask “what do you remember?” to see it.",
	},
	{tool: "search_history", pattern: `(?is)\b(?:search|look|find)\b.{0,40}\b(?:history|conversation|chat|past|earlier)\b.{0,20}?\b(?:for|about)\s+(?P<query>.+)$`, needs: "query", say: sayFound, nothing: sayUnsaid},
	{tool: "search_history", pattern: `(?is)\b(?:when|what) did (?:i|we|you) (?:say|talk|mention|write)\b\s*(?:about\s+|of\s+)?(?P<query>.+)$`, needs: "query", say: sayFound, nothing: sayUnsaid},
	{tool: "search_history", pattern: `(?is)^(?:please\s+)?(?:search|look)(?:\s+for)?\s+(?P<query>.+)$`, needs: "query", say: sayFound, nothing: sayUnsaid},
	{tool: "time", pattern: `(?is)(?:\bwhat(?:'s|’s| is)? (?:the |today's )?(?:current )?(?:time|date|weekday)\b|\bwhat day is\b|\btime is it\b|\btell me the (?:time|date)\b|^(?:time|date|the time)\??$)(?:.*?\bin\s+(?P<zone>[A-Z][a-zA-Z_]+/[A-Z][a-zA-Z_/]+|UTC))?`, say: "It is {sentence}"},

	{pattern: `(?i)^\W*count (?:up )?to (?P<to>\d{1,6})\b`, tell: (*scene).count},
	{pattern: `(?i)\bmarkdown\b`, say: sayMarkdown},
	{pattern: `(?i)\b(?:connect|real model|api key|openai|ollama|better model|language model)\b`, say: sayConnect},
	{pattern: `(?i)\b(?:summary|summari[sz]e|what (?:did|have) we|what was said|talked? about|so far)\b`, tell: (*scene).recap},
	{pattern: `(?i)\bforget\b`, say: "Ask “what do you remember?”: each fact has a number there, and “forget #2” removes the second one. `/new` begins a new conversation."},
	{pattern: `(?i)(?:^\W*(?:help|\?+)\W*$|\bwhat can (?:you|i) do\b|\bhow (?:does|do) (?:this|you) work\b|^/start\b)`, say: sayHelp},
	{pattern: `(?i)\b(?:who|what) are you\b|\bare you (?:an? )?(?:ai|bot|human|real|llm|model)\b|\byour name\b`, say: sayWho + " Say “help” for what I can do."},
	{pattern: `(?i)^\W*(?:hi|hello|hey|hallo|hola|ciao|salut|bonjour|moin|good (?:morning|afternoon|evening|day)|greetings|привет|你好)(?:\P{L}|$)`, tell: (*scene).greeting},
	{pattern: `(?i)\b(?:thanks|thank you|thx|merci|danke|grazie|gracias)\b`, say: "You are welcome!"},
	{pattern: `(?i)^\W*(?:bye|goodbye|good night|see you|tschüss|ciao)\b`, say: "Goodbye! This conversation is kept, and goes on when you write again."},
	{pattern: `(?i)\bhow are you\b`, say: "As well as rules can be: all of mine are in place. And you?"},
}

// patterns are those of rules, compiled when the first message comes: a daemon
// with another model never needs them.
var patterns = sync.OnceValue(func() (all []*regexp.Regexp) {
	for i := range rules {
		all = append(all, regexp.MustCompile(rules[i].pattern))
	}
	return all
})

// wish is one message to answer, and what it wants.
type wish struct {
	*rule  // no rule's: one that says what was written
	text   string
	person string // fit to be shown, or ""
	args   map[string]any
}

// read finds the rule for a message.
func read(text, person string) *wish {
	w := &wish{rule: &rule{tell: (*scene).echo}, text: text, person: person}
	const most = 4000 // nobody writes a longer command
	if len(text) > most {
		return w
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
			w.rule, w.args = &rules[i], args
			break
		}
	}
	return w
}

// argument is what a tool gets of a group; "" leaves it out.
func argument(name, given string) any {
	switch name {
	case "":
		return ""
	case "url":
		if given = strings.TrimRight(given, ".,;:!?)"); !strings.HasPrefix(strings.ToLower(given), "http") {
			given = "https://" + given
		}
	case "path":
		if given = strings.TrimSuffix(given, "/"); slices.Contains(placeless, strings.ToLower(given)) {
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
	case "query":
		return topic(given)
	case "id":
		id, _ := strconv.Atoi(given) // a few digits
		return id
	}
	return given
}

// placeless are words that name no folder where one is asked for.
var placeless = []string{"the", "this", "my", "your", "a", "here", "there", "workspace"}

// answer says what the tool answered.
func (w *wish) answer(result string) string {
	if w.nothing != "" && (result == "" || strings.HasPrefix(result, "[nothing")) {
		return w.filled(w.nothing, result)
	}
	return w.filled(w.say, result)
}

// filled is text with the arguments and the result in the places of their names.
func (w *wish) filled(text, result string) string {
	shown := func(name string) string {
		s, _ := w.args[name].(string)
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
