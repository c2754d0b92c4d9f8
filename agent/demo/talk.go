package demo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// silence is what a scheduled check answers if there is nothing to tell.
const silence = "HEARTBEAT_OK"

const sayWho = "I am Dragoman's built-in **demo**: a handful of rules, not a language model. I need no network and no key, " +
	"so that you can see the gateway work before you connect a real model."

const sayConnect = "To talk to a real model, stop Dragoman and start it again in one of these ways:\n\n" +
	"- **OpenAI**, or any server that speaks its protocol: set `OPENAI_API_KEY`, and for another server `OPENAI_BASE_URL` and `OPENAI_MODEL`.\n" +
	"- **On your own machine**: install Ollama (https://ollama.com), run `ollama pull qwen3`. Dragoman finds it by itself.\n" +
	"- **For good**: write `model: {base_url: …, api_key: …, name: …}` into `dragoman.yaml`."

const sayHelp = sayWho + "\n\nI do call the real tools, though. Try these:\n\n" +
	"- what time is it?\n" +
	"- write “buy bread” to shopping.txt\n" +
	"- list files, and then: read shopping.txt\n" +
	"- remember that my bicycle is green\n" +
	"- what do you remember about my bicycle?\n" +
	"- search our conversation for bread\n" +
	"- fetch https://example.com\n" +
	"- count to 50 (and then /stop)\n" +
	"- show me markdown\n\n" +
	"“Connect a real model” tells you how to go on from here."

const sayMarkdown = "This is how answers are written:\n\n" +
	"1. *emphasis*, **strong**, `code`\n2. a [link](https://example.com)\n\n" +
	"> Someone said this before.\n\n" +
	"```go\nfmt.Println(\"a code block keeps its shape\")\n```\n\n" +
	"Each chat network gets it in the form that it can show."

const sayNothingAsked = "I am here, but nobody has asked anything. " + sayWho

// talk answers a message that needs no tool.
func (s *scene) talk(a *ask) string {
	for _, t := range talks() {
		if found := t.pattern.FindStringSubmatch(a.text); found != nil {
			return t.say(s, a, found)
		}
	}
	if a.text == "" {
		return "That message has no text that I can read. " + sayWho
	}
	return fmt.Sprintf("You wrote: “%s”. %s\n\nSay “help” for what I can do, or “connect” for how to get a real model.",
		clip(strings.Join(strings.Fields(a.text), " "), 200), sayWho)
}

// talkRule finds what to say to a message.
type talkRule struct {
	pattern *regexp.Regexp
	say     func(s *scene, a *ask, found []string) string
}

// talks are tried in order, and compiled like rules.
var talks = sync.OnceValue(func() []talkRule {
	return []talkRule{
		{regexp.MustCompile(`(?i)^\W*count (?:up )?to (\d{1,6})\b`), func(_ *scene, _ *ask, f []string) string { return count(f[1]) }},
		{regexp.MustCompile(`(?i)\bmarkdown\b`), func(*scene, *ask, []string) string { return sayMarkdown }},
		{regexp.MustCompile(`(?i)\b(?:connect|real model|api key|openai|ollama|better model|language model)\b`), func(*scene, *ask, []string) string { return sayConnect }},
		{regexp.MustCompile(`(?i)\b(?:summary|summari[sz]e|what (?:did|have) we|what was said|talked? about|so far)\b`), func(s *scene, _ *ask, _ []string) string { return s.recap() }},
		{regexp.MustCompile(`(?i)\bforget\b`), func(*scene, *ask, []string) string {
			return "Ask “what do you remember?”: each fact has a number there, and “forget #2” removes the second one. `/new` begins a new conversation."
		}},
		{regexp.MustCompile(`(?i)(?:^\W*(?:help|\?+)\W*$|\bwhat can (?:you|i) do\b|\bhow (?:does|do) (?:this|you) work\b|^/start\b)`), func(*scene, *ask, []string) string { return sayHelp }},
		{regexp.MustCompile(`(?i)\b(?:who|what) are you\b|\bare you (?:an? )?(?:ai|bot|human|real|llm|model)\b|\byour name\b`), func(*scene, *ask, []string) string {
			return sayWho + " Say “help” for what I can do."
		}},
		{regexp.MustCompile(`(?i)^\W*(?:hi|hello|hey|hallo|hola|ciao|salut|bonjour|moin|good (?:morning|afternoon|evening|day)|greetings|привет|你好)(?:\P{L}|$)`), func(s *scene, a *ask, _ []string) string { return s.greeting(a) }},
		{regexp.MustCompile(`(?i)\b(?:thanks|thank you|thx|merci|danke|grazie|gracias)\b`), func(*scene, *ask, []string) string { return "You are welcome!" }},
		{regexp.MustCompile(`(?i)^\W*(?:bye|goodbye|good night|see you|tschüss|ciao)\b`), func(*scene, *ask, []string) string {
			return "Goodbye! This conversation is kept, and goes on when you write again."
		}},
		{regexp.MustCompile(`(?i)\bhow are you\b`), func(*scene, *ask, []string) string {
			return "As well as rules can be: all of mine are in place. And you?"
		}},
	}
})

func (s *scene) greeting(a *ask) string {
	hello, again := "Hello", ""
	if s.earlier > 0 || s.summary != "" {
		again = " again"
	}
	if a.person != "" {
		again += ", " + a.person
	}
	hello += again + "! "
	if s.earlier > 0 {
		return hello + "Say “help” for what I can do."
	}
	return hello + sayWho + "\n\nTry “what time is it?” or “remember that my bicycle is green”, say “help” for more, or “connect” for how to get a real model."
}

// recap tells what is in front of the model: the summary and the messages.
func (s *scene) recap() string {
	var b strings.Builder
	if s.summary != "" {
		b.WriteString("The older part of our conversation was summarised. The summary that I see says:\n\n")
		b.WriteString(fenced(clip(s.summary, 1500)))
		b.WriteString("\n\n")
	}
	switch s.earlier {
	case 0:
		b.WriteString("No other message before yours is in front of me.")
	case 1:
		b.WriteString("One more message before yours is in front of me, word for word.")
	default:
		fmt.Fprintf(&b, "%d messages before yours are in front of me, word for word.", s.earlier)
	}
	b.WriteString(" “Search our conversation for …” finds the rest, too.")
	return b.String()
}

func count(to string) string {
	const most = 300
	n, err := strconv.Atoi(to)
	if err != nil || n < 1 {
		return "There is nothing to count."
	}
	var b strings.Builder
	for i := range min(n, most) {
		b.WriteString(strconv.Itoa(i+1) + " ")
	}
	if n > most {
		fmt.Fprintf(&b, "… and so on to %d.", n)
	}
	return strings.TrimSpace(b.String())
}

var reminder = regexp.MustCompile(`(?is)\b(?:say|tell (?:me|us|them)|remind (?:me|us|them)(?: to| of| that)?)\b\s*:?\s*(.+)$`)

// jobReply answers a scheduled check that needs no tool.
func (s *scene) jobReply(a *ask) string {
	if found := reminder.FindStringSubmatch(a.text); found != nil {
		return "Reminder: " + unquote(found[1])
	}
	if a.text == "" || strings.Contains(strings.ToUpper(a.text), "HEARTBEAT") {
		return silence
	}
	return fmt.Sprintf("The scheduled check ran: “%s”. %s", clip(strings.Join(strings.Fields(a.text), " "), 300), sayWho)
}
