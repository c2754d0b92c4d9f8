package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a piece of a stream adds is decided here, for the texts, thoughts and arguments
// of all APIs. By the protocols each piece is new. Servers and proxies also send all
// that has come so far, once more at the end or in every piece.

// Text joins the pieces of a text. The zero value is ready.
type Text struct {
	b     strings.Builder
	first int    // the length of the first piece
	held  string // the second piece, while it may be all that has come so far
	state textState
}

// textState says how the pieces of a [Text] relate.
type textState int

const (
	textEmpty   textState = iota // nothing has come
	textBegun                    // one piece has come
	textHeld                     // the second piece began with the first one
	textPlain                    // each piece is new
	textGrowing                  // each piece is all that has come so far
)

// Add takes a piece and returns what it adds.
func (t *Text) Add(piece string) (more string) {
	if piece == "" {
		return ""
	}
	switch t.state {
	case textEmpty:
		t.state, t.first = textBegun, len(piece)
		if t.b.Len() > 0 { // from Whole
			t.state = textPlain
		}
	case textBegun:
		if len(piece) > t.first && strings.HasPrefix(piece, t.b.String()) && strings.TrimSpace(t.b.String()) != "" {
			t.state, t.held = textHeld, piece
			return ""
		}
		t.state = textPlain
		return t.Add(piece)
	case textHeld:
		more = t.settle(strings.HasPrefix(piece, t.held))
		return more + t.Add(piece)
	case textGrowing:
		piece = t.beyond(piece)
	case textPlain:
		if len(piece) == t.b.Len() && piece == t.b.String() && utf8.RuneCountInString(piece) >= surelyAll {
			return "" // the whole text once more, at its end
		}
	}
	t.b.WriteString(piece)
	return piece
}

// surelyAll is how many letters a piece has that repeats all that has come so far, and
// is not a word that the text says twice.
const surelyAll = 16

// beyond returns what piece adds if it is all that has come so far. A piece that is
// something else is new.
func (t *Text) beyond(piece string) string {
	have := t.b.String()
	if rest, found := strings.CutPrefix(piece, have); found {
		return rest
	}
	if strings.HasPrefix(have, piece) {
		return ""
	}
	return piece
}

// settle decides about the piece that was held back, and returns what it adds.
func (t *Text) settle(growing bool) (more string) {
	t.state, more = textPlain, t.held
	if growing {
		t.state, more = textGrowing, t.held[t.first:]
	}
	t.held = ""
	t.b.WriteString(more)
	return more
}

// surelyFirst is how many letters a first piece has that a server repeats. Fewer may
// be what the text begins with twice, like the 1 of 110.
const surelyFirst = 4

// End says that no more pieces come, and returns what was held back.
func (t *Text) End() (more string) {
	if t.state != textHeld {
		return ""
	}
	return t.settle(utf8.RuneCountInString(t.held[:t.first]) >= surelyFirst)
}

// Whole takes all of the text that has come so far, as the server says, and returns
// what it adds. Where pieces have come it adds no more than their continuation.
func (t *Text) Whole(text string) (more string) {
	if text == "" {
		return ""
	}
	pieces := t.state != textEmpty
	if t.state == textHeld {
		more = t.settle(text == t.held)
	}
	have := t.b.String()
	rest, grown := strings.CutPrefix(text, have)
	switch {
	case grown:
	case strings.HasPrefix(have, strings.TrimSpace(text)):
		rest = "" // without the spaces around it
	case pieces:
		rest = "" // the same in other words, for example without marks
	default:
		rest = text // this server sends its pieces so
	}
	t.b.WriteString(rest)
	return more + rest
}

// String returns the text so far, without what is held back.
func (t *Text) String() string { return t.b.String() }

// Args joins the pieces of a call's arguments, which must become one JSON object. The
// zero value is ready.
type Args struct {
	b    strings.Builder
	cuts []int // where each piece begins
}

// Add takes a piece.
func (a *Args) Add(piece string) {
	if piece != "" {
		a.cuts = append(a.cuts, a.b.Len())
		a.b.WriteString(piece)
	}
}

// Reset forgets all pieces.
func (a *Args) Reset() { *a = Args{} }

// Empty reports whether no piece has come.
func (a *Args) Empty() bool { return len(a.cuts) == 0 }

// String returns all pieces, one after the other, if they are an object, or what the
// server must have meant: the last piece if it repeats the first one, the pieces
// without those that came twice in a row, or the one object among several that is
// neither empty nor a repetition. If none of that is an object, it returns the pieces.
func (a *Args) String() string {
	all := a.b.String()
	if isObject(all) || len(a.cuts) == 0 {
		return all
	}
	for _, read := range []func() string{a.last, a.withoutRepeats, func() string { return onlyObject(all) }} {
		if meant := read(); isObject(meant) {
			return meant
		}
	}
	return all
}

// piece returns the n-th piece.
func (a *Args) piece(n int) string {
	all := a.b.String()
	if n+1 < len(a.cuts) {
		all = all[:a.cuts[n+1]]
	}
	return all[a.cuts[n]:]
}

func (a *Args) last() string {
	last := a.piece(len(a.cuts) - 1)
	if strings.HasPrefix(last, a.piece(0)) {
		return last
	}
	return ""
}

func (a *Args) withoutRepeats() string {
	var b strings.Builder
	before := ""
	for i := range a.cuts {
		piece := a.piece(i)
		if piece == before {
			before = "" // four times the same are two that came twice
			continue
		}
		b.WriteString(piece)
		before = piece
	}
	return b.String()
}

// onlyObject returns the object in a row of objects that is neither empty nor equal to
// an earlier one, or "" if there is none or several.
func onlyObject(text string) string {
	var list []string
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var value json.RawMessage
		err := d.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || !isObject(string(value)) {
			return ""
		}
		if flat := compact(string(value)); flat != "{}" && !slices.Contains(list, flat) {
			list = append(list, flat)
		}
	}
	if len(list) != 1 {
		return ""
	}
	return list[0]
}

// SameArguments reports whether two calls' arguments are one value, or a is only the
// beginning of b.
func SameArguments(a, b string) bool {
	a, b = compact(a), compact(b)
	return a == b || a == "{}" || strings.HasPrefix(b, a)
}

func compact(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return strings.TrimSpace(text)
	}
	return b.String()
}

func isObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}
