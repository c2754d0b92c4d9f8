package demo

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// dialog is a request as the rules see it.
type dialog struct {
	intents []*intent
	calls   []sessions.ToolCall // already made, in order
	// results are the tools' results by the id of their call.
	results map[string]string
	tools   map[string]bool
	summary string // the summary of earlier messages, or ""
	job     bool   // this is a scheduled check, not a person's message
	earlier int    // the number of messages that are already answered
}

// summaryIn returns the summary in r, which may be in the prompt or in a
// message.
func summaryIn(r agent.Request) string {
	text := r.System
	if len(r.Messages) > 1 && r.Messages[1].Summary {
		text += r.Messages[1].Content
	}
	return cmp.Or(between(text, "<conversation_summary>", "</conversation_summary>"), between(r.System, "<content>", "</content>"))
}

// readDialog finds what to answer: all messages since the assistant last
// answered. The calls that it made since then are done.
func readDialog(r agent.Request) *dialog {
	s := &dialog{results: make(map[string]string), tools: make(map[string]bool)}
	for _, t := range r.Tools {
		s.tools[t.Name] = true
	}
	s.summary = summaryIn(r)
	s.job = strings.Contains(r.System, heartbeatOK)
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Role == sessions.RoleAssistant && len(m.ToolCalls) == 0 {
			s.earlier = i + 1
		}
	}
	for i := range r.Messages[s.earlier:] {
		m := &r.Messages[s.earlier+i]
		switch {
		case m.Role == sessions.RoleTool:
			s.results[m.ToolCallID] = m.Content
		case m.Role == sessions.RoleAssistant:
			s.calls = append(s.calls, m.ToolCalls...)
		case m.Role == sessions.RoleUser && !m.Synthetic:
			s.intents = append(s.intents, matchRule(messageText(m), cleanName(m.Name)))
		}
	}
	return s
}

// messageText returns what the person wrote, without the quote of the answered
// message and without the sender's name in a shared chat.
func messageText(m *sessions.Message) string {
	text := window.Unstamped(m.Content)
	for strings.HasPrefix(text, ">") {
		_, rest, found := strings.Cut(text, "\n")
		if !found {
			return strings.TrimSpace(strings.TrimLeft(text, "> "))
		}
		text = strings.TrimLeft(rest, "\n")
	}
	if m.Name != "" {
		text = strings.TrimPrefix(text, m.Name+": ")
	}
	return strings.TrimSpace(text)
}

// cleanName makes a name, which may be any text, fit for a sentence.
func cleanName(name string) string {
	const most = 30
	n := 0
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		n++
		if n > most || (!unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .'-", r)) {
			return -1
		}
		return r
	}, name))
}

// nextCalls returns the intents whose tools can be called and were not called
// yet.
func (s *dialog) nextCalls() []*intent {
	var all []*intent
	for _, it := range s.intents {
		if s.tools[it.tool] {
			all = append(all, it)
		}
	}
	return all[min(len(s.calls), len(all)):]
}

func (s *dialog) replyToAll() string {
	if len(s.intents) == 0 {
		return sayNothingAsked
	}
	if len(s.intents) == 1 {
		return s.replyTo(s.intents[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages came at once, so here are %d answers in one.\n", len(s.intents), len(s.intents))
	for i, it := range s.intents {
		fmt.Fprintf(&b, "\n**%d.** %s\n", i+1, s.replyTo(it))
	}
	return strings.TrimSpace(b.String())
}

// replyTo answers one message. Its call is the next one, because calls were
// made in order.
func (s *dialog) replyTo(it *intent) string {
	switch {
	case it.tool == "" && s.job:
		return s.jobReply(it)
	case it.replyFunc != nil:
		return it.replyFunc(s, it)
	case it.tool == "":
		return it.reply
	case len(s.calls) == 0 || s.calls[0].Name != it.tool:
		return fmt.Sprintf("That would be something for the tool `%s`, but it is not on offer here.", it.tool)
	}
	result, found := s.results[s.calls[0].ID]
	s.calls = s.calls[1:]
	if !found {
		result = "error: the tool gave no answer"
	}
	for _, sign := range []string{"error:", "interrupted:"} {
		if why, bad := strings.CutPrefix(result, sign); bad {
			return fmt.Sprintf("I called the tool `%s`, and it did not work: %s", it.tool, clip(strings.TrimSpace(why), 400))
		}
	}
	return it.replyFor(strings.TrimSpace(result))
}

func between(s, begin, end string) string {
	_, s, found := strings.Cut(s, begin)
	if !found {
		return ""
	}
	if i := strings.LastIndex(s, end); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSpace(s)
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.TrimSpace(strings.ToValidUTF8(s[:most], "")) + " …"
}

// fenced returns text as a code block. The fence is longer than any in the
// text.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
