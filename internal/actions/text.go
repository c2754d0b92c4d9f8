package actions

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/heartbeat"
)

const (
	// maxShown is how much of the arguments a question shows, in characters.
	maxShown = 1000
	// maxLine is the same for a question in one line.
	maxLine = 250
)

// Text asks q, in Markdown. In a shared chat it says who is heard.
func (q Question) Text(private bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "May I run **%s**?\n\n%s\n", visible(q.Tool), fenced(q.clipped(maxShown)))
	for _, f := range q.Files {
		fmt.Fprintf(&b, "With %s as now (%s).\n", visible(f.Name), shortHash(f.Hash))
	}
	fmt.Fprintf(&b, "I ask because %s. It waits until %s.\n", q.Why, q.until())
	b.WriteString(q.howTo())
	if !private {
		b.WriteString(" I only listen to those who may decide that.")
	}
	return b.String()
}

// Line is Text in one line, for networks on which each line is a message.
func (q Question) Line() string {
	with := ""
	if len(q.Parts) > 0 {
		with = "with "
	}
	return fmt.Sprintf("May I run %s %s%s? Because %s. %s Until %s.", visible(q.Tool), with, q.clipped(maxLine), q.Why, q.howTo(), q.until())
}

// howTo says how to answer.
func (q Question) howTo() string {
	said := fmt.Sprintf("/allow %s or /deny %s", q.Code, q.Code)
	if q.MayAlways {
		said = fmt.Sprintf("/allow %s, /deny %s or /always %s", q.Code, q.Code, q.Code)
	}
	return "Answer " + said + "."
}

// Whole shows q with all of its arguments that are kept.
func (q Question) Whole() string {
	return fmt.Sprintf("%s %s: %s\n\n%s", q.Code, visible(q.Tool), q.Status(), fenced(q.clipped(maxStored)))
}

// Status says what became of q.
func (q Question) Status() string {
	at := q.clock(q.Decided, q.Asked)
	by := ""
	if name := visible(q.ByName); name != "" {
		by = " by " + name
	}
	switch q.State {
	case Pending:
		return "waits until " + q.clock(q.Until, q.Asked)
	case Allowed, Used:
		if q.Always {
			return "always allowed" + by + " since " + at
		}
		return "allowed" + by + " at " + at
	case Denied:
		return "refused" + by + " at " + at
	case Expired:
		return "nobody allowed it until " + q.clock(q.Until, q.Asked)
	}
	return "closed at " + at
}

// maxBrief is how much of the arguments a line of a list shows, in characters.
const maxBrief = 60

// Brief is q in a line of a list.
func (q Question) Brief() string {
	return fmt.Sprintf("%s: %s, %s", q.Code, brief(q.Tool, q.Shown), q.Status())
}

// Brief is s in a line of a list.
func (s Standing) Brief() string {
	return fmt.Sprintf("%s, since %s", brief(s.Tool, s.Shown), s.At.Format("2 January 2006"))
}

// brief names a call.
func brief(tool, args string) string {
	if parts := partsOf(args); len(parts) > 0 {
		args, _ = lines(parts, manner{maxPartsInLine, maxBrief, maxBrief})
	}
	args = strings.ReplaceAll(args, "\n", " ")
	short := cut(args, maxBrief)
	if short != args {
		short += "…"
	}
	return visible(tool) + " `" + strings.ReplaceAll(visible(short), "`", "'") + "`"
}

// DecidedText is the text of q's message after the decision.
func (q Question) DecidedText() string {
	return fmt.Sprintf("**%s**: %s.\n\n%s", visible(q.Tool), q.Status(), fenced(q.clipped(maxShown)))
}

// Say is the answer to whoever gave an answer.
func (o Outcome) Say() string {
	q := o.Question
	switch o.Result {
	case NotYours:
		return "Only those who may decide that can answer it. Nothing has changed."
	case NotAlways:
		return fmt.Sprintf("That can only be allowed once: /allow %s.", q.Code)
	case Decided:
		return fmt.Sprintf("%s is %s.", visible(q.Tool), q.Status())
	case Before:
		return fmt.Sprintf("Nothing has changed: %s was settled before (%s).", visible(q.Tool), q.Status())
	case TooManyWrong:
		return "That was one wrong code too many, so all open questions here are closed. Nothing of them was run."
	}
	if len(o.Waiting) > 0 {
		return "No question has this code. These wait for an answer: " + strings.Join(o.Waiting, ", ") + "."
	}
	return "No question here waits for your answer."
}

// clipped are the arguments, at most most characters of them.
func (q Question) clipped(most int) string {
	if len(q.Parts) > 0 {
		return q.clippedParts(most)
	}
	if q.Plain && most == maxShown {
		most = maxStored // its tool bounds it, and nobody should allow half of it
	}
	text := visible(cut(q.Shown, most))
	if q.Plain && most > maxLine {
		text = visibleLines(cut(q.Shown, most))
	}
	if more := q.Length - min(most, utf8.RuneCountInString(q.Shown)); more > 0 {
		text += fmt.Sprintf(" … %d more: /approvals %s", more, q.Code)
	}
	return text
}

// clippedParts is clipped of arguments that have names.
func (q Question) clippedParts(most int) string {
	text, missing := "", false
	switch most {
	case maxStored:
		text, _ = lines(q.Parts, manner{len(q.Parts), most, maxValue})
	case maxLine:
		text, missing = inLine(q.Parts, manner{maxPartsInLine, most, maxValueInLine})
		if missing {
			text += fmt.Sprintf(" (all of it: /approvals %s)", q.Code)
		}
	default:
		text, missing = lines(q.Parts, manner{maxParts, most, maxValue})
		if missing {
			text += fmt.Sprintf("\nAll of it: /approvals %s", q.Code)
		}
	}
	return text
}

// until is how long q waits, with the place whose clock shows it: "14:13 (Rome)".
func (q Question) until() string { return q.clock(q.Until, q.Asked) + heartbeat.Place(q.location()) }

// location is the zone of q's times.
func (q Question) location() *time.Location {
	if q.zone == nil {
		return time.Local
	}
	return q.zone
}

// clock is t as people read it, with its day if that is not the day of asked.
func (q Question) clock(t, asked time.Time) string {
	t, asked = t.In(q.location()), asked.In(q.location())
	if t.YearDay() == asked.YearDay() && t.Year() == asked.Year() {
		return t.Format("15:04")
	}
	return t.Format("2 January 15:04")
}

// shortHash begins a hash, for people to compare.
func shortHash(hash string) string {
	if hash == "" {
		return "it does not exist"
	}
	return "sha256 " + hash[:min(len(hash), 12)]
}

// cut is the beginning of text, at most most characters.
func cut(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i]
		}
		n++
	}
	return text
}

// fenced is text as a block of code, whatever text has.
func fenced(text string) string {
	longest, now := 0, 0
	for _, r := range text {
		now++
		if r != '`' {
			now = 0
		}
		longest = max(longest, now)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return fence + "\n" + text + "\n" + fence
}

// unseen are characters that are printed, and show nothing.
const unseen = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"

// visibleLines is visible for each line of text.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = visible(lines[i])
	}
	return strings.Join(lines, "\n")
}

// visible writes characters that would be invisible, or change the order of others, as
// \u{202e}.
func visible(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		hidden := !unicode.IsPrint(r) || strings.ContainsRune(unseen, r) || unicode.Is(unicode.Variation_Selector, r)
		if hidden {
			fmt.Fprintf(&b, `\u{%04x}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
