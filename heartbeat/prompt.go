package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"
)

// maxPromptFile is the greatest size of a prompt file. A longer one would
// fill the model's window.
const maxPromptFile = 64 << 10

// prompt is what the model is asked now. If there is nothing to ask, why says
// so in a few words.
func (s *Scheduler) prompt(ctx context.Context, j Job) (text, why string) {
	if j.PromptFile == "" {
		return j.Prompt, ""
	}
	name := path.Base(j.PromptFile)
	content, err := s.o.ReadFile(ctx, j.PromptFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "nothing in " + name
	case err != nil:
		s.o.Logger.Warn("prompt file cannot be read", "job", j.Name, "err", err)
		return "", name + " cannot be read"
	case len(content) > maxPromptFile:
		return "", fmt.Sprintf("%s has %d bytes, more than %d", name, len(content), maxPromptFile)
	}
	file := strings.ToValidUTF8(strings.TrimPrefix(string(content), "\uFEFF"), "\uFFFD")
	if isBlank(file) {
		return "", "nothing in " + name
	}
	return strings.TrimSpace(strings.TrimSpace(j.Prompt) + "\n\n" + strings.TrimSpace(file)), ""
}

// isBlank reports whether a Markdown text has nothing but headings, comments,
// empty list items and blank lines.
func isBlank(text string) bool {
	for line := range strings.Lines(withoutComments(text)) {
		line = strings.TrimSpace(line)
		if heading := strings.TrimLeft(line, "#"); len(line)-len(heading) > 0 && len(line)-len(heading) <= 6 && (heading == "" || unicode.IsSpace(rune(heading[0]))) {
			continue
		}
		if strings.ContainsFunc(line, func(r rune) bool {
			return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !strings.ContainsRune("-*+[]=_#\u200b", r)
		}) {
			return false
		}
	}
	return true
}

// withoutComments cuts HTML comments out; an open one reaches to the end.
func withoutComments(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "<!--")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(rest, "-->")
	}
}

// okToken is what the model answers when there is nothing to say.
const okToken = "heartbeat_ok"

// maxAside is how many letters an answer may have beside the token and still
// count as silence.
const maxAside = 40

// Silent reports whether an answer of a job means that there is nothing to
// tell. That is so when it
//
//   - has nothing but white space and punctuation in it, or
//   - begins or ends with HEARTBEAT_OK, in any case and dressed in any
//     punctuation or Markdown ("**HEARTBEAT_OK**.", "Heartbeat ok"), and has
//     beside it at most one short remark of 40 letters ("nothing to report")
//     without a digit, a question, a link or a mention.
//
// A remark that could be news is told: an alarm too many is better than one
// that nobody hears.
func Silent(answer string) bool {
	if !strings.ContainsFunc(answer, isVisible) {
		return true
	}
	words := strings.FieldsFunc(strings.ToLower(answer), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	rest, found := cutToken(words)
	if !found || strings.ContainsAny(answer, "?？؟@") || strings.Contains(answer, "://") {
		return false
	}
	letters := 0
	for _, word := range rest {
		if strings.ContainsFunc(word, unicode.IsDigit) {
			return false
		}
		letters += len([]rune(word))
	}
	return letters <= maxAside
}

// isVisible reports whether r says something: letters, digits, and signs like
// emoji do; punctuation and what Markdown is made of do not.
func isVisible(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) && r > unicode.MaxASCII
}

// cutToken takes the token off the beginning or the end of an answer's words.
// Splitting at punctuation has made two words of it, unless the model wrote
// it without any.
func cutToken(words []string) (rest []string, found bool) {
	for _, token := range [][]string{strings.Split(okToken, "_"), {strings.ReplaceAll(okToken, "_", "")}} {
		n := len(token)
		if len(words) < n {
			continue
		}
		if same(words[:n], token) {
			return words[n:], true
		}
		if same(words[len(words)-n:], token) {
			return words[:len(words)-n], true
		}
	}
	return nil, false
}

func same(a, b []string) bool { return strings.Join(a, " ") == strings.Join(b, " ") }
