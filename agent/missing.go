package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"dragoman/sessions"
)

// What the model reads about tools that come and go. Both are in the transcript, and so in the
// requests after that.
const (
	noteMissing = "[The tools of these servers cannot be used now: %s. If the person wants something of them, say so.]"
	noteBack    = "[The tools of all servers can be used again.]"
)

// tellMissing tells the model in a new turn which tools it lacks, unless the conversation that it
// sees says so; and when it lacks none any more. A caller who keeps the messages would keep the
// note, too, and is told nothing.
func (r *run) tellMissing(ctx context.Context) error {
	if r.a.opts.Missing == nil || len(r.t.Steps) > 0 || r.t.Given != nil {
		return nil
	}
	note := ""
	if list := r.a.opts.Missing(ctx); list != "" {
		note = fmt.Sprintf(noteMissing, list)
	}
	told := toldMissing(r.all)
	switch {
	case withoutNumbers(note) == withoutNumbers(told):
		return nil
	case note == "":
		note = noteBack
	}
	return r.addNote(ctx, note)
}

// toldMissing is what the messages say last about tools that are missing, "" if none are.
func toldMissing(messages []sessions.Message) string {
	begin, _, _ := strings.Cut(noteMissing, "%s")
	for i := range slices.Backward(messages) {
		switch m := &messages[i]; {
		case m.Role != sessions.RoleUser || !m.Synthetic:
		case m.Content == noteBack:
			return ""
		case strings.HasPrefix(m.Content, begin):
			return m.Content
		}
	}
	return ""
}

// withoutNumbers drops what differs with each attempt to reach a server: ports and times.
func withoutNumbers(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsDigit(c) {
			return -1
		}
		return c
	}, text)
}
