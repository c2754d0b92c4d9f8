package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
)

// maxPromptFile is the greatest size of a prompt file, in bytes. A longer one
// would fill the model's window.
const maxPromptFile = 64 << 10

// prompt is what to ask the model now. If there is nothing to ask, why says so
// in a few words.
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

// withoutComments removes HTML comments. One that is not closed reaches to the end.
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

// maxRemark is how many letters an answer may have besides the token and still
// count as silence.
const maxRemark = 40

// Silent reports whether a job's answer means that there is nothing to tell. It
// does if it
//
//   - has only white space and punctuation, or
//   - begins or ends with HEARTBEAT_OK, in any case and with any punctuation or
//     Markdown ("**HEARTBEAT_OK**.", "Heartbeat ok"), and has besides it at most
//     one short remark of 40 letters ("nothing to report") without a digit, a
//     question, a link or a mention.
//
// A remark that could be news is delivered: a needless alarm is better than a
// missed one.
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
	return letters <= maxRemark
}

// isVisible reports whether r says something, as letters, digits and signs like
// emoji do. Punctuation and the signs of Markdown do not.
func isVisible(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) && r > unicode.MaxASCII
}

// cutToken removes the token from the beginning or the end of an answer's
// words. Splitting at punctuation has made two words of it, unless the model
// wrote it as one.
func cutToken(words []string) (rest []string, found bool) {
	for _, token := range [][]string{{"heartbeat", "ok"}, {"heartbeatok"}} {
		switch n := len(token); {
		case len(words) < n:
		case slices.Equal(words[:n], token):
			return words[n:], true
		case slices.Equal(words[len(words)-n:], token):
			return words[:len(words)-n], true
		}
	}
	return nil, false
}
