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

// scene is what a request asks for, as far as the rules see it.
type scene struct {
	asks  []*wish
	calls []sessions.ToolCall // made already, in order
	// results are the tools' answers by the id of their call.
	results map[string]string
	tools   map[string]bool
	summary string // of what came before the messages, or ""
	job     bool   // nobody wrote: this is a scheduled check
	earlier int    // messages before those that are asked now
}

// summaryIn is the summary in r, wherever it was rendered.
func summaryIn(r agent.Request) string {
	text := r.System
	if len(r.Messages) > 1 && r.Messages[1].Summary {
		text += r.Messages[1].Content
	}
	return cmp.Or(between(text, "<conversation_summary>", "</conversation_summary>"), between(r.System, "<content>", "</content>"))
}

// readScene finds what is to be answered: all messages since the assistant
// last spoke. What it called since then is done already.
func readScene(r agent.Request) *scene {
	s := &scene{results: make(map[string]string), tools: make(map[string]bool)}
	for _, t := range r.Tools {
		s.tools[t.Name] = true
	}
	s.summary = summaryIn(r)
	s.job = strings.Contains(r.System, silence)
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
			s.asks = append(s.asks, read(said(m), display(m.Name)))
		}
	}
	return s
}

// said is what the person wrote, without the quote of the message that it
// answers and without the name before it in a shared chat.
func said(m *sessions.Message) string {
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

// display makes a name, which may be anything, fit for a sentence.
func display(name string) string {
	const most = 30
	n := 0
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if n++; n > most || (!unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .'-", r)) {
			return -1
		}
		return r
	}, name))
}

// nextCalls are the wishes whose tools were not called yet and can be.
func (s *scene) nextCalls() []*wish {
	var all []*wish
	for _, w := range s.asks {
		if s.tools[w.tool] {
			all = append(all, w)
		}
	}
	return all[min(len(s.calls), len(all)):]
}

// reply answers everything that was asked.
func (s *scene) reply() string {
	if len(s.asks) == 0 {
		return sayNothingAsked
	}
	if len(s.asks) == 1 {
		return s.answerTo(s.asks[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages came at once, so here are %d answers in one.\n", len(s.asks), len(s.asks))
	for i, w := range s.asks {
		fmt.Fprintf(&b, "\n**%d.** %s\n", i+1, s.answerTo(w))
	}
	return strings.TrimSpace(b.String())
}

// answerTo answers one wish. Its call is the next one: they were made in order.
func (s *scene) answerTo(w *wish) string {
	switch {
	case w.tool == "" && s.job:
		return s.jobReply(w)
	case w.tell != nil:
		return w.tell(s, w)
	case w.tool == "":
		return w.say
	case len(s.calls) == 0 || s.calls[0].Name != w.tool:
		return fmt.Sprintf("That would be something for the tool `%s`, but it is not on offer here.", w.tool)
	}
	result, found := s.results[s.calls[0].ID]
	if s.calls = s.calls[1:]; !found {
		result = "error: the tool gave no answer"
	}
	for _, sign := range []string{"error:", "interrupted:"} {
		if why, bad := strings.CutPrefix(result, sign); bad {
			return fmt.Sprintf("I called the tool `%s`, and it did not work: %s", w.tool, clip(strings.TrimSpace(why), 400))
		}
	}
	return w.answer(strings.TrimSpace(result))
}

// between is the text between two marks, or "".
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

// clip shortens s to about most bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.TrimSpace(strings.ToValidUTF8(s[:most], "")) + " …"
}

// fenced shows text as it is. The fence is longer than any in the text.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
