package window

import (
	"regexp"
	"slices"
	"strings"
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
type Template struct {
	// pieces are text and names of placeholders, in turn: text first and last.
	pieces []string
}

var placeName = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,40}$`)

// ParseTemplate reads a template; "" is the built-in one. ${sessionMessages}
// must stand in it once, ${previousSummary} may. "$${" is a plain "${". An
// error is a *Flaw.
func ParseTemplate(text string) (Template, error) {
	if blank(text) {
		return Template{}, nil
	}
	var pieces []string
	var plain strings.Builder
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			plain.WriteString(rest)
			break
		}
		if strings.HasSuffix(before, "$") {
			plain.WriteString(before + "{")
			rest = after
			continue
		}
		plain.WriteString(before)
		name, after, closed := strings.Cut(after, "}")
		if flaw := wrongPlace(name, closed, pieces); flaw != nil {
			return Template{}, flaw
		}
		pieces = append(pieces, plain.String(), name)
		plain.Reset()
		rest = after
	}
	pieces = append(pieces, plain.String())
	if !slices.Contains(pieces[:len(pieces)-1], PlaceMessages) {
		return Template{}, &Flaw{"lacks ${" + PlaceMessages + "}, so the model would not see what to summarise", "write it where the messages are to stand"}
	}
	return Template{pieces}, nil
}

// wrongPlace says what is wrong with a placeholder behind these pieces.
func wrongPlace(name string, closed bool, before []string) *Flaw {
	const known = "the placeholders are ${" + PlaceMessages + "} and ${" + PlaceSummary + "}, and $${ is a plain ${"
	shown := "${" + name + "}"
	if !placeName.MatchString(name) {
		shown = "${…}"
	}
	switch {
	case !closed:
		return &Flaw{"has a ${ without its }", known}
	case name != PlaceMessages && name != PlaceSummary:
		return &Flaw{"has an unknown placeholder, " + shown, known}
	}
	for i := 1; i < len(before); i += 2 {
		if before[i] == name {
			return &Flaw{"has " + shown + " twice", "keep one"}
		}
	}
	return nil
}

// Fill puts the summary so far, which may be "", and the messages, rendered by
// [Entry], into t, each between tags that nothing in them can end. A template
// without a place for the summary gets it in front of the messages: what is
// not shown would be lost.
func (t Template) Fill(summary, entries string) string {
	previous := PreviousSummary(summary)
	transcript := "<transcript>\n" + entries + "</transcript>"
	ownPlace := slices.Contains(t.pieces, PlaceSummary)
	if previous != "" && !ownPlace {
		transcript = previous + "\n\n" + transcript
	}
	if len(t.pieces) == 0 {
		return transcript + "\n\nWrite the new summary now."
	}
	var b strings.Builder
	for i, piece := range t.pieces {
		switch {
		case i%2 == 0:
			b.WriteString(piece)
		case piece == PlaceMessages:
			b.WriteString(transcript)
		case previous == "":
			b.WriteString("(There is none yet.)")
		default:
			b.WriteString(previous)
		}
	}
	return b.String()
}

// PreviousSummary is a summary between tags that nothing in it can end, or ""
// if there is none.
func PreviousSummary(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "<previous_summary>\n" + EscapeTags(text) + "\n</previous_summary>"
}
