package demo

import (
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// summaryRequest reports whether r asks for a summary: it has no tools, and one
// message with a transcript between tags. It returns that message.
func summaryRequest(r agent.Request) (string, bool) {
	if len(r.Tools) > 0 || len(r.Messages) != 1 || r.Messages[0].Role != sessions.RoleUser {
		return "", false
	}
	text := r.Messages[0].Content
	return text, strings.Contains(text, "<transcript>") && strings.Contains(text, "</transcript>")
}

var transcriptEntry = lazily.Compile(`(?s)<message [^>]*role="(\w+)"(?: name="([^"]*)")?[^>]*>\n(.*?)</message>`)

// heading is the heading of a summary that must have headings.
const heading = "## Critical context"

// summarise picks sentences: the earlier summary, then the first sentence of
// each message; the newest ones if not all fit. headed asks for a heading.
func summarise(text string, maxTokens int, headed bool) string {
	const lineBytes, usual = 200, 4000
	room := usual
	if maxTokens > 0 {
		// Only half, because text in other scripts has more tokens per byte.
		room = min(room, maxTokens*bytesPerToken/2)
	}
	old := strings.TrimPrefix(between(text, "<previous_summary>", "</previous_summary>"), heading+"\n")
	var lines []string
	for _, m := range transcriptEntry.Regexp().FindAllStringSubmatch(between(text, "<transcript>", "</transcript>"), -1) {
		if line := entryLine(m[1], m[2], clip(firstSentence(m[3]), lineBytes)); line != "" {
			lines = append(lines, line)
		}
	}
	// The new part may take half of the room, or all that the old one leaves.
	parts := lastThatFit(lines, max(room/2, room-len(old)))
	if old != "" {
		parts = append(lastThatFit(strings.Split(old, "\n"), room-len(strings.Join(parts, "\n"))-1), parts...)
	}
	if len(parts) == 0 {
		parts = []string{"Nothing of note was said."}
	}
	if headed {
		parts = append([]string{heading}, parts...)
	}
	return strings.Join(parts, "\n")
}

func entryLine(role, who, what string) string {
	switch {
	case what == "" || role == "tool":
		return ""
	case role == "assistant":
		return "- The assistant answered: " + what
	case who == "":
		return "- A person said: " + what
	default:
		return "- " + who + " said: " + what
	}
}

func lastThatFit(lines []string, room int) []string {
	first := len(lines)
	for first > 0 && len(lines[first-1]) < room {
		first--
		room -= len(lines[first]) + 1
	}
	return slices.Clip(lines[first:])
}

func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for i := 0; i+1 < len(s); i++ {
		if strings.IndexByte(".!?", s[i]) >= 0 && s[i+1] == ' ' && i > 10 {
			return s[:i+1]
		}
	}
	return s
}
