package actions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxValue is how much of one argument a question shows, in characters, if others need
	// the room, and maxParts how many arguments it shows.
	maxValue = 300
	maxParts = 20
	// maxValueInLine and maxPartsInLine are the same for a question in one line.
	maxValueInLine = 100
	maxPartsInLine = 8
	// maxName is how much of an argument's name is shown.
	maxName = 40
)

// Part is one argument of a call, as people read it.
type Part struct {
	Name string `json:"name"`
	// Value is text; a list or an object is JSON. It is perhaps cut.
	Value string `json:"value"`
	// Length is how long the whole value is, in characters.
	Length int `json:"length"`
}

// first are the names of arguments that decide most of what a call does: to whom, which file,
// which command, which address. They come first, in this order.
var first = strings.Fields(`to recipient recipients chat person channel target command program executable script url uri address host
	path file filename name subject title query action method`)

// partsOf are the arguments of a call: first what decides most, then the shorter ones, so
// that no long text hides what comes after it. nil if args are no object.
func partsOf(args string) []Part {
	var found map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &found) != nil {
		return nil
	}
	parts := make([]Part, 0, len(found))
	for name, raw := range found {
		value := valueOf(raw)
		parts = append(parts, Part{Name: name, Value: value, Length: utf8.RuneCountInString(value)})
	}
	place := func(p Part) int {
		at := slices.Index(first, strings.ToLower(p.Name))
		if at < 0 {
			return len(first)
		}
		return at
	}
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Length, b.Length), strings.Compare(a.Name, b.Name))
	})
	return parts
}

// valueOf is a value without quotation marks if it is a text, else as JSON. A text that would
// look like nothing, or like less than it is, keeps its marks.
func valueOf(raw json.RawMessage) string {
	var text string
	if bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, &text) == nil && text != "" && strings.TrimSpace(text) == text {
		return text
	}
	return string(raw)
}

// boundedParts are parts whose values have at most most characters together.
func boundedParts(parts []Part, most int) []Part {
	for i, room := range rooms(parts, most, maxValue) {
		parts[i].Value = cut(parts[i].Value, room)
	}
	return parts
}

// rooms are how many characters of each value are shown, at most most together. The first
// values get most, but each has room for its first characters, each of them.
func rooms(parts []Part, most, each int) []int {
	needed := 0
	for _, p := range parts {
		needed += min(utf8.RuneCountInString(p.Value), each)
	}
	list := make([]int, 0, len(parts))
	for _, p := range parts {
		length := utf8.RuneCountInString(p.Value)
		needed -= min(length, each)
		room := max(most-needed, min(most, each))
		room = min(room, length)
		most -= room
		list = append(list, room)
	}
	return list
}

// manner is how arguments are written: how many, how much of their values together, and
// how much of one of them if others need the room.
type manner struct{ parts, most, each int }

// lines are the arguments, a line each. Further lines of a value are further in, so that none
// looks like another argument. missing reports whether something is not shown.
func lines(parts []Part, m manner) (text string, missing bool) {
	return written(parts, m, "\n", func(value string) string {
		return strings.ReplaceAll(visibleLines(value), "\n", "\n    ")
	})
}

// inLine are the arguments in one line, each in quotation marks that no value can end.
func inLine(parts []Part, m manner) (text string, missing bool) {
	return written(parts, m, ", ", quoted)
}

func written(parts []Part, m manner, between string, write func(string) string) (text string, missing bool) {
	left := len(parts) - m.parts
	if left > 0 {
		parts = parts[:m.parts]
	}
	var all []string
	for i, room := range rooms(parts, m.most, m.each) {
		p := parts[i]
		more := ""
		if p.Length > room {
			missing = true
			more = fmt.Sprintf(" … %d more", p.Length-room)
		}
		all = append(all, nameOf(p)+": "+write(cut(p.Value, room))+more)
	}
	if left > 0 {
		missing = true
		all = append(all, fmt.Sprintf("%d more arguments", left))
	}
	return strings.Join(all, between), missing
}

// nameOf is the name of an argument, in quotation marks if it could be read as more than that.
func nameOf(p Part) string {
	name := cut(p.Name, maxName)
	if name != p.Name {
		return quoted(name + "…")
	}
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}
	if name == "" || strings.ContainsFunc(name, odd) {
		return quoted(name)
	}
	return name
}

// quoted is text in quotation marks, in one line.
func quoted(text string) string {
	return `"` + visible(strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text)) + `"`
}
