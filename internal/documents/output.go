package documents

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// output collects text and writes it line by line, until as much is written as may be.
type output struct {
	to    io.Writer
	left  int64 // bytes that may still be written
	line  strings.Builder
	gap   bool // an empty line comes before the next one
	began bool
}

// say adds words to the current line. Characters that steer a terminal are left out.
func (o *output) say(s string) {
	for _, r := range s {
		if o.full() {
			return
		}
		switch {
		case r == '\n' || r == '\r':
			o.line.WriteByte(' ')
		case r == '\t' || !unicode.IsControl(r) && r != '\uFEFF' && r != utf8.RuneError:
			o.line.WriteRune(r)
		}
	}
}

// full says whether the current line is longer than what may still be written: end
// cuts it.
func (o *output) full() bool { return int64(o.line.Len()) > o.left }

// apart asks for an empty line before the next one.
func (o *output) apart() { o.gap = o.began }

// end writes the current line, unless it is empty.
func (o *output) end() error {
	text := strings.TrimRightFunc(o.line.String(), unicode.IsSpace)
	o.line.Reset()
	if text == "" {
		return nil
	}
	if o.gap {
		text = "\n" + text
	}
	o.gap = false
	o.began = true
	text += "\n"
	if int64(len(text)) <= o.left {
		o.left -= int64(len(text))
		_, err := io.WriteString(o.to, text)
		return err
	}
	for !utf8.ValidString(text[:o.left]) {
		o.left--
	}
	if _, err := io.WriteString(o.to, text[:o.left]); err != nil {
		return err
	}
	o.left = 0
	return ErrCut
}

// whole writes a line of its own.
func (o *output) whole(s string) error {
	if err := o.end(); err != nil {
		return err
	}
	o.say(s)
	return o.end()
}
