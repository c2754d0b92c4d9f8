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

// Flaw is what is wrong with something that a person configured, and what to
// write instead.
type Flaw struct{ What, Want string }

func (f *Flaw) Error() string { return "window: " + f.What + "; " + f.Want }

// Template is the text around what a summariser gets to read. Its zero value
// is the built-in one.
type Template struct{ text string }

// placeholder is one, one that lacks its end, or "$${".
var placeholder = lazily.Compile(`\$\$\{|\$\{([^}]*)(\})?`)

var placeName = lazily.Compile(`^[A-Za-z0-9_.:-]{1,40}$`)

// ParseTemplate reads a template; "" is the built-in one. ${sessionMessages}
// must stand in it once, ${previousSummary} may. "$${" is a plain "${". An
// error is a *Flaw.
func ParseTemplate(text string) (Template, error) {
	const known = "the placeholders are ${" + PlaceMessages + "} and ${" + PlaceSummary + "}, and $${ is a plain ${"
	if blank(text) {
		return Template{}, nil
	}
	seen := make(map[string]bool)
	for _, m := range placeholder.Regexp().FindAllStringSubmatch(text, -1) {
		name, shown := m[1], "${"+m[1]+"}"
		if !placeName.Regexp().MatchString(name) {
			shown = "${…}" // it may be anything
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

// Fill puts the summary so far, which may be "", and the messages, rendered by
// [Entry], into t, each between tags that nothing in them can end. A template
// without a place for the summary gets it in front of the messages: what is
// not shown would be lost.
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

// PreviousSummary is a summary between tags that nothing in it can end, or ""
// if there is none.
func PreviousSummary(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "<previous_summary>\n" + EscapeTags(text) + "\n</previous_summary>"
}
