package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"dragoman/internal/lazily"
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

// isBlank reports whether a Markdown text has nothing but headings, comments, front
// matter, the lines that open and close code, empty list items and blank lines.
func isBlank(text string) bool {
	for line := range strings.Lines(withoutComments(withoutFrontMatter(text))) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			continue // what follows the sign is the name of a language
		}
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

// fieldForm is the first line of front matter, which a task never looks like.
var fieldForm = lazily.Compile(`^[A-Za-z][\w-]*:(\s|$)`)

// withoutFrontMatter removes the fields between two lines of dashes at the beginning.
func withoutFrontMatter(text string) string {
	rest, found := strings.CutPrefix(strings.TrimSpace(text), "---\n")
	if !found {
		rest, found = strings.CutPrefix(strings.TrimSpace(text), "---\r\n")
	}
	if !found || !fieldForm.Regexp().MatchString(strings.TrimSpace(rest)) {
		return text
	}
	for line := range strings.Lines(rest) {
		_, rest, _ = strings.Cut(rest, "\n")
		if strings.TrimSpace(line) == "---" {
			return rest
		}
	}
	return text
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
