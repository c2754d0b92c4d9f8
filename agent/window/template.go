package window

import (
	"slices"
	"strings"

	"dragoman/internal/lazily"
)

// The placeholders of a summariser's template.
const (
	PlaceMessages = "sessionMessages" // the messages that are to be summarised
	PlaceSummary  = "previousSummary" // the summary so far
)

// Flaw is an error in a value that a person configured, and what to write instead.
type Flaw struct{ What, Want string }

func (f *Flaw) Error() string { return "window: " + f.What + "; " + f.Want }

// Template is the text around the messages to summarise; zero: the built-in one.
type Template struct{ text string }

// placeholder matches a placeholder, one without its end, or "$${".
var placeholder = lazily.Compile(`\$\$\{|\$\{([^}]*)(\})?`)

var placeName = lazily.Compile(`^[A-Za-z0-9_.:-]{1,40}$`)

// ParseTemplate parses a template; "" is the built-in one. It must contain
// ${sessionMessages} once and may contain ${previousSummary}. "$${" is a literal
// "${". Errors are *Flaw.
func ParseTemplate(text string) (Template, error) {
	const known = "the placeholders are ${" + PlaceMessages + "} and ${" + PlaceSummary + "}, and $${ is a plain ${"
	if blank(text) {
		return Template{}, nil
	}
	seen := make(map[string]bool)
	for _, m := range placeholder.Regexp().FindAllStringSubmatch(text, -1) {
		name, shown := m[1], "${"+m[1]+"}"
		if !placeName.Regexp().MatchString(name) {
			shown = "${…}" // it may contain anything
		}
		switch {
		case m[0] == "$${":
		case m[2] == "":
			return Template{}, &Flaw{"has a ${ without its }", known}
		case name != PlaceMessages && name != PlaceSummary:
			return Template{}, &Flaw{"has an unknown placeholder, " + shown, known}
		case seen[name]:
			return Template{}, &Flaw{"has " + shown + " twice", "keep one"}
		default:
			seen[name] = true
		}
	}
	if !seen[PlaceMessages] {
		return Template{}, &Flaw{"lacks ${" + PlaceMessages + "}, so the model would not see what to summarise", "write it where the messages should go"}
	}
	return Template{text}, nil
}

// Fill inserts the previous summary, which may be "", and the messages, rendered by
// [Entry], into t. Each is between tags that nothing inside can end. A template
// without a place for the summary gets it in front of the messages, because otherwise
// it would be lost.
func (t Template) Fill(summary, entries string) string {
	previous := PreviousSummary(summary)
	transcript := "<transcript>\n" + entries + "</transcript>"
	if previous != "" && !slices.Contains(placeholder.Regexp().FindAllString(t.text, -1), "${"+PlaceSummary+"}") {
		transcript = previous + "\n\n" + transcript
	}
	if t.text == "" {
		return transcript + "\n\nWrite the new summary now."
	}
	return placeholder.Regexp().ReplaceAllStringFunc(t.text, func(s string) string {
		switch {
		case s == "$${":
			return "${"
		case s == "${"+PlaceMessages+"}":
			return transcript
		case previous == "":
			return "(There is none yet.)"
		default:
			return previous
		}
	})
}

// PreviousSummary returns text between tags that nothing inside can end, or "" for an
// empty text.
func PreviousSummary(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return "<previous_summary>\n" + EscapeTags(text) + "\n</previous_summary>"
}
