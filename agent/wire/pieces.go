package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a piece of a stream adds is decided here, for the texts, thoughts and arguments
// of all APIs. By the protocols each piece is new. Servers and proxies also send all
// that has come so far, once more at the end or in every piece. A text that is shown
// twice is seen, and one that is lost is not, so a piece counts as new until it cannot be.

// Text joins the pieces of a text. The zero value is ready.
type Text struct {
	b      strings.Builder
	pieces int
	state  textState
	held   []string // the pieces that wait for a decision, oldest first
	common int      // in textHeld: how many letters they have in common with the pieces before
}

// textState says how the pieces of a [Text] relate.
type textState int

const (
	textBegun   textState = iota // at most one piece has come
	textHeld                     // each piece began with all of the one before
	textPlain                    // each piece is new
	textAgain                    // so was each, but the last one may repeat them all
	textGrowing                  // each piece is all that has come so far
)

const (
	// surelyCommon is how many letters three or more pieces have in common with the
	// pieces before them, if each is all that has come so far.
	surelyCommon = 24
	// surelyAll is how many letters a last piece has that repeats all the others.
	surelyAll = 64
	// surelyWords is how many letters a text has that is not written twice without a
	// space between.
	surelyWords = 8
	// maxHeld bounds how many pieces wait.
	maxHeld = 16
)

// Add takes a piece and returns what it adds.
func (t *Text) Add(piece string) (more string) {
	if piece == "" {
		return ""
	}
	switch t.state {
	case textBegun, textHeld:
		if t.extends(piece) {
			return t.hold(piece)
		}
		more = t.release()
	case textAgain:
		more = t.release()
	case textGrowing:
		piece = t.beyond(piece)
		t.b.WriteString(piece)
		return piece
	}
	if t.repeatsAll(piece) {
		t.state = textAgain
		t.held = append(t.held, piece)
		return more
	}
	if t.pieces > 0 || t.b.Len() > 0 {
		t.state = textPlain
	}
	t.pieces++
	t.b.WriteString(piece)
	return more + piece
}

// extends reports whether piece begins with all of the piece before it.
func (t *Text) extends(piece string) bool {
	before := t.newest()
	return t.pieces == 1 && strings.TrimSpace(before) != "" && len(piece) > len(before) && strings.HasPrefix(piece, before)
}

// newest is the last piece that has come, if the state is textBegun or textHeld.
func (t *Text) newest() string {
	if len(t.held) > 0 {
		return t.held[len(t.held)-1]
	}
	return t.b.String()
}

// hold keeps a piece that may be all that has come so far, until enough of them say so.
func (t *Text) hold(piece string) (more string) {
	before := t.newest()
	t.state = textHeld
	t.held = append(t.held, piece)
	t.common += utf8.RuneCountInString(before)
	switch {
	case writtenOnce(before), len(t.held) > 1 && hasWords(piece) && (t.common >= surelyCommon || severalWords(before)):
		t.state = textGrowing
		t.held = nil
		more = piece[t.b.Len():]
		t.b.WriteString(more)
	case len(t.held) == maxHeld:
		more = t.release()
	}
	return more
}

// release decides that each piece which was held is new, and returns them.
func (t *Text) release() (more string) {
	if len(t.held) > 0 {
		t.state = textPlain
	}
	more = strings.Join(t.held, "")
	t.pieces += len(t.held)
	t.held = nil
	t.b.WriteString(more)
	return more
}

// repeatsAll reports whether piece is all that has come so far, and would hardly be
// written twice in a row.
func (t *Text) repeatsAll(piece string) bool {
	if len(piece) != t.b.Len() || piece != t.b.String() {
		return false
	}
	return writtenOnce(piece) || t.pieces > 1 && utf8.RuneCountInString(piece) >= surelyAll && hasWords(piece)
}

// writtenOnce reports whether text has words and begins and ends so that nobody writes
// it twice without a space between.
func writtenOnce(text string) bool {
	if utf8.RuneCountInString(text) < surelyWords || !severalWords(text) || !hasWords(text) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(first) && (unicode.IsLetter(last) || strings.ContainsRune(".,!?:", last))
}

func severalWords(text string) bool { return strings.ContainsAny(strings.TrimSpace(text), " \n\t") }

// hasWords reports whether text has letters and is not one thing over and over.
func hasWords(text string) bool {
	repeats := strings.Contains((text + text)[1:len(text)*2-1], text)
	return strings.ContainsFunc(text, unicode.IsLetter) && !repeats
}

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

// End says that no more pieces come, and returns what was held back and is new.
func (t *Text) End() (more string) {
	if t.state == textAgain {
		t.held = nil
		t.state = textPlain
	}
	return t.release()
}

// Whole takes all of the text that has come so far, as the server says, and returns
// what it adds. Where pieces have come it adds no more than their continuation.
func (t *Text) Whole(text string) (more string) {
	if text == "" {
		return ""
	}
	pieces := t.pieces > 0
	switch {
	case t.state == textHeld && text == t.newest():
		t.held = nil
		t.state = textGrowing
	case t.state == textAgain && text == t.b.String():
		t.held = nil
		t.state = textPlain
	default:
		more = t.release()
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
