package channels

import "strings"

// Versions before forms and files had fields wrote them as marks into the text. Their
// rows and backups remain, and with PostgreSQL nodes of such versions may still run
// beside this one.
const (
	formerFile   = "<!-- answer.md -->\n" // begins the content of a file
	formerRest   = "<!-- more -->\n"      // begins a FormRest, before formerNative
	formerNative = "\r"                   // begins each message of FormNative, and each line of FormRest

	formerFileName = "answer.md"
)

// WithMarks returns a text as former versions wrote it.
func WithMarks(text, file string, form Form) string {
	switch {
	case file != "":
		return formerFile + text
	case form == FormRest:
		return formerRest + formerNative + strings.ReplaceAll(text, "\n", "\n"+formerNative)
	case form == FormNative:
		return formerNative + text
	}
	return text
}

// WithoutMarks reads a text that a former version wrote.
func WithoutMarks(marked string) (text, file string, form Form) {
	if text, found := strings.CutPrefix(marked, formerFile); found {
		return text, formerFileName, FormMarkdown
	}
	rest, isRest := strings.CutPrefix(marked, formerRest)
	native, isNative := strings.CutPrefix(rest, formerNative)
	switch {
	case isRest && isNative:
		return strings.ReplaceAll(native, "\n"+formerNative, "\n"), "", FormRest
	case isNative:
		return native, "", FormNative
	}
	return marked, "", FormMarkdown
}
