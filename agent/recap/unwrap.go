package recap

import (
	"strings"

	"dragoman/agent/output"
	"dragoman/internal/lazily"
)

var (
	openTag  = lazily.Compile(`(?i)<summary>`)
	closeTag = lazily.Compile(`(?i)</\s*summary>`)
)

// unwrap returns the summary in an answer: without thoughts, and without anything
// outside of the tag.
func unwrap(text string) string {
	text = output.Read(text, nil).Text
	if at := openTag.Regexp().FindAllStringIndex(text, -1); at != nil {
		text = text[at[len(at)-1][1]:]
		if end := closeTag.Regexp().FindStringIndex(text); end != nil {
			text = text[:end[0]]
		}
	}
	return strings.TrimSpace(closeTag.Regexp().ReplaceAllString(text, ""))
}
