package demo

import (
	"fmt"
	"strconv"
	"strings"

	"dragoman/internal/lazily"
)

// heartbeatOK is the answer of a scheduled check that has nothing to report.
const heartbeatOK = "HEARTBEAT_OK"

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
	"- remind me in 5 minutes to open the window\n" +
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

// echo answers a message that matches no rule.
func (s *dialog) echo(it *intent) string {
	if it.text == "" {
		return "That message has no text that I can read. " + sayWho
	}
	return fmt.Sprintf("You wrote: “%s”. %s\n\nSay “help” for what I can do, or “connect” for how to get a real model.",
		clip(strings.Join(strings.Fields(it.text), " "), 200), sayWho)
}

func (s *dialog) greeting(it *intent) string {
	hello := "Hello"
	if s.earlier > 0 || s.summary != "" {
		hello += " again"
	}
	if it.person != "" {
		hello += ", " + it.person
	}
	hello += "! "
	if s.earlier > 0 {
		return hello + "Say “help” for what I can do."
	}
	return hello + sayWho + "\n\nTry “what time is it?” or “remember that my bicycle is green”, say “help” for more, or “connect” for how to get a real model."
}

// recap says what the model sees: the summary and the messages.
func (s *dialog) recap(*intent) string {
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

func (s *dialog) count(it *intent) string {
	const most = 300
	to, _ := it.args["to"].(string)
	n, _ := strconv.Atoi(to) // at most 6 digits
	var b strings.Builder
	for i := range min(n, most) {
		b.WriteString(strconv.Itoa(i+1) + " ")
	}
	switch {
	case n == 0:
		return "There is nothing to count."
	case n > most:
		fmt.Fprintf(&b, "… and so on to %d.", n)
	}
	return strings.TrimSpace(b.String())
}

var reminder = lazily.Compile(`(?is)\b(?:say|tell (?:me|us|them)|remind (?:me|us|them)(?: to| of| that)?)\b\s*:?\s*(.+)$`)

// jobReply answers a scheduled check that needs no tool.
func (s *dialog) jobReply(it *intent) string {
	if found := reminder.Regexp().FindStringSubmatch(it.text); found != nil {
		return "Reminder: " + unquote(found[1])
	}
	if it.text == "" || strings.Contains(strings.ToUpper(it.text), "HEARTBEAT") {
		return heartbeatOK
	}
	return fmt.Sprintf("The scheduled check ran: “%s”. %s", clip(strings.Join(strings.Fields(it.text), " "), 300), sayWho)
}
