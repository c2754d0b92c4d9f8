package testkit

import (
	"fmt"
	"strings"
)

// ReplaceSection puts text between the lines "<!-- name:begin -->" and
// "<!-- name:end -->" of a Markdown document, in place of what stood there.
func ReplaceSection(document, name, text string) (string, error) {
	begin, end := "<!-- "+name+":begin -->\n", "<!-- "+name+":end -->"
	before, rest, found := strings.Cut(document, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("testkit: the document has no section %q", name)
	}
	return before + begin + strings.TrimSpace(text) + "\n" + end + after, nil
}
