package api

import (
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// Messages that a version before kinds stored do not say which of their words are for the
// model. This is the only place that looks for them in the text: what somebody wrote
// exactly like them is taken for them.

// completed is m with its kind and the words that are for the model, as far as its text
// tells, if such a version stored it. In a group it begins with its sender's name.
func completed(m sessions.Message, group bool) sessions.Message {
	switch {
	case m.Kind != "" || m.ForModel != nil:
	case m.Role == sessions.RoleAssistant && m.Synthetic && m.Name == "" && strings.HasSuffix(m.Content, sessions.StoppedMark):
		m.Kind = sessions.MessageStopped
		m.ForModel = []sessions.Mark{{Start: len(m.Content) - len(sessions.StoppedMark), End: len(m.Content)}}
	case m.Role == sessions.RoleUser && (!m.Synthetic || m.Via == channels.ViaReply):
		m = completedWords(m, group || m.Via == channels.ViaReply)
	}
	return m
}

// completedWords is completed for words of a person, which begin with their name if they
// are named.
func completedWords(m sessions.Message, named bool) sessions.Message {
	at := 0
	if quote, _, found := strings.Cut(m.Content, "\n\n"); found && strings.HasPrefix(quote, "> ") {
		at = len(quote) + len("\n\n")
	}
	forModel := func(mark string) bool {
		found := strings.HasPrefix(m.Content[at:], mark)
		if found {
			m.ForModel = append(m.ForModel, sessions.Mark{Start: at, End: at + len(mark)})
			at += len(mark)
		}
		return found
	}
	if named && m.Name != "" {
		forModel(m.Name + ": ")
	}
	if forModel(sessions.AgainMark) {
		m.Kind = sessions.MessageAgain
	}
	if len(m.Attachments) > 0 {
		m.ForModel = append(m.ForModel, formerFiles(m.Content, at, len(m.Attachments))...)
	}
	return m
}

// formerFile is a line about a file at the end of a message, and formerSpoken what is before
// the words of a recording.
var (
	formerFile   = lazily.Compile(`(^|\n)\[[^\n]*, (file|not available:) [^\n]*\]\s*$`)
	formerSpoken = lazily.Compile(`(?m)^\[(voice|audio|video|recording)( of the quoted message)?(, \d+:\d\d)?\] `)
)

// formerFiles are the words about n files in content from a place on.
func formerFiles(content string, from, n int) (parts []sessions.Mark) {
	end := len(content)
	for range n {
		line := formerFile.Regexp().FindStringIndex(content[from:end])
		if line == nil {
			break
		}
		parts = append(parts, sessions.Mark{Start: from + line[0], End: end})
		end = from + line[0]
	}
	for _, mark := range slices.Backward(formerSpoken.Regexp().FindAllStringIndex(content[from:end], n)) {
		parts = append(parts, sessions.Mark{Start: from + mark[0], End: from + mark[1]})
	}
	slices.Reverse(parts)
	return parts
}
