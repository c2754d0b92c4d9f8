package recap

import (
	"strings"

	"dragoman/agent/output"
	"dragoman/internal/lazily"
)

var (
	tagBegins = lazily.Compile(`(?i)<summary>`)
	tagEnds   = lazily.Compile(`(?i)</\s*summary>`)
)

// unwrapped is what of an answer is the summary. Thoughts, and what is outside of
// the tag, are dropped.
func unwrapped(text string) string {
	text = output.Read(text, nil).Text
	if at := tagBegins.Regexp().FindAllStringIndex(text, -1); at != nil {
		text = text[at[len(at)-1][1]:]
		if end := tagEnds.Regexp().FindStringIndex(text); end != nil {
			text = text[:end[0]]
		}
	}
	return strings.TrimSpace(tagEnds.Regexp().ReplaceAllString(text, ""))
}
