package terminal

import (
	"bytes"
	"unicode/utf8"
)

// key is one action at the keyboard: text typed or pasted, or a named key.
type key struct {
	name keyName
	text string // of keyText and keyPaste
}

// keyName is a key or a combination of keys that the editor knows.
type keyName int

const (
	keyNone keyName = iota
	keyText
	keyPaste
	keyEnter
	keyNewline
	keyTab
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyKillWord
	keyKillLine
	keyKillRest
	keyClear
	keyInterrupt
	keyEOF
)

var controls = map[byte]keyName{
	0x01: keyHome, 0x02: keyLeft, 0x03: keyInterrupt, 0x04: keyEOF, 0x05: keyEnd,
	0x06: keyRight, 0x08: keyBackspace, '\t': keyTab, '\n': keyNewline, 0x0b: keyKillRest,
	0x0c: keyClear, '\r': keyEnter, 0x0e: keyDown, 0x10: keyUp, 0x15: keyKillLine,
	0x17: keyKillWord, 0x7f: keyBackspace,
}

// sequences are the keys that send an escape sequence, here without the escape.
var sequences = map[string]keyName{
	"[A": keyUp, "[B": keyDown, "[C": keyRight, "[D": keyLeft, "[H": keyHome, "[F": keyEnd,
	"OA": keyUp, "OB": keyDown, "OC": keyRight, "OD": keyLeft, "OH": keyHome, "OF": keyEnd,
	"[1~": keyHome, "[4~": keyEnd, "[7~": keyHome, "[8~": keyEnd, "[3~": keyDelete,
	"[1;5C": keyWordRight, "[1;5D": keyWordLeft, "[1;3C": keyWordRight, "[1;3D": keyWordLeft,
	"b": keyWordLeft, "f": keyWordRight, "\x7f": keyKillWord, "\r": keyNewline, "\n": keyNewline,
}

const (
	pasteBegin = "[200~"
	pasteEnd   = "\x1b[201~"
	// maxPaste bounds one paste, in bytes; the daemon's limit for a message is lower.
	maxPaste = 1 << 20
	// longestSequence is longer than any escape sequence of a keyboard.
	longestSequence = 32
)

// keyboard turns bytes into keys. A sequence may arrive in several reads.
type keyboard struct {
	rest    []byte
	pasting bool
	pasted  []byte
}

// read takes the bytes of one read and returns the complete keys.
func (k *keyboard) read(b []byte) []key {
	// A lone escape from the last read was the Escape key, which does nothing here.
	// The new bytes do not belong to it.
	if len(k.rest) == 1 && k.rest[0] == 0x1b && len(b) > 0 && b[0] != '[' && b[0] != 'O' {
		k.rest = nil
	}
	k.rest = append(k.rest, b...)
	var keys []key
	for len(k.rest) > 0 {
		if k.pasting {
			done, ok := k.paste()
			if !ok {
				break
			}
			keys = append(keys, done)
			continue
		}
		got, n := next(k.rest)
		if n == 0 {
			break // not complete yet
		}
		k.rest = k.rest[n:]
		switch {
		case got.text == pasteBegin:
			k.pasting = true
		case got.name == keyText && len(keys) > 0 && keys[len(keys)-1].name == keyText:
			keys[len(keys)-1].text += got.text
		case got.name != keyNone:
			keys = append(keys, got)
		}
	}
	return keys
}

// paste collects pasted text up to its end mark.
func (k *keyboard) paste() (key, bool) {
	text, rest, ended := bytes.Cut(k.rest, []byte(pasteEnd))
	if !ended {
		n := len(pasteEnd) - 1 // bytes of the mark, which may continue in the next read
		for !bytes.HasSuffix(text, []byte(pasteEnd[:n])) {
			n--
		}
		text, rest = text[:len(text)-n], text[len(text)-n:]
	}
	k.keep(text)
	k.rest = rest
	if !ended {
		return key{}, false
	}
	done := key{keyPaste, string(k.pasted)}
	k.pasted, k.pasting = nil, false
	return done, true
}

func (k *keyboard) keep(b []byte) {
	k.pasted = append(k.pasted, b[:min(len(b), maxPaste-len(k.pasted))]...)
}

// next reads one key from the start of b; n is 0 if it is incomplete.
func next(b []byte) (_ key, n int) {
	if b[0] == 0x1b {
		return sequence(b)
	}
	if name, ok := controls[b[0]]; ok {
		return key{name: name}, 1
	}
	if b[0] < 0x20 {
		return key{}, 1
	}
	if !utf8.FullRune(b) {
		return key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError || (r >= 0x80 && r < 0xa0) {
		return key{}, n
	}
	return key{keyText, string(r)}, n
}

// sequence reads an escape sequence. Unknown ones are skipped.
func sequence(b []byte) (_ key, n int) {
	if len(b) == 1 {
		return key{}, 0
	}
	end := 2
	if b[1] == '[' || b[1] == 'O' {
		last := bytes.IndexFunc(b[2:], func(c rune) bool { return c >= 0x40 && c <= 0x7e })
		switch {
		case last < 0 && len(b) > longestSequence:
			return key{}, len(b)
		case last < 0:
			return key{}, 0
		}
		end += last + 1
	}
	name := string(b[1:end])
	if name == pasteBegin {
		return key{text: pasteBegin}, end
	}
	return key{name: sequences[name]}, end
}
