package sqlite

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"dragoman/sessions"
)

// decodeRest is decode for the rest of a message. Every turn reads dozens of
// them, so the plain ones, which are almost all, are read without reflection.
// What is read shares the memory of rest.
func decodeRest(rest string, r *messageRest) error {
	if parsePlain(rest, r) {
		return nil
	}
	*r = messageRest{}
	return decode([]byte(rest), r)
}

func parsePlain(rest string, r *messageRest) bool {
	p := plain{left: rest}
	return p.rest(r)
}

// plain reads JSON as encode writes it: no blanks, and only what it knows. Its
// methods return false for anything else, which is not wrong, only not plain.
type plain struct{ left string }

// take passes over prefix.
func (p *plain) take(prefix string) bool {
	rest, found := strings.CutPrefix(p.left, prefix)
	p.left = rest
	return found
}

// text reads a string without escapes.
func (p *plain) text() (string, bool) {
	if !p.take(`"`) {
		return "", false
	}
	ascii := true
	for i := range len(p.left) {
		switch c := p.left[i]; {
		case c == '"':
			s := p.left[:i]
			p.left = p.left[i+1:]
			return s, ascii || utf8.ValidString(s)
		case c == '\\' || c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false
}

// number reads a count.
func (p *plain) number() (int, bool) {
	end := 0
	for end < len(p.left) && p.left[end] >= '0' && p.left[end] <= '9' {
		end++
	}
	if end > 1 && p.left[0] == '0' {
		return 0, false
	}
	n, err := strconv.Atoi(p.left[:end])
	p.left = p.left[end:]
	return n, err == nil
}

// amount reads a number that may have a fraction, but no sign and no exponent.
func (p *plain) amount() (float64, bool) {
	all := p.left
	if _, ok := p.number(); !ok {
		return 0, false
	}
	if p.take(".") {
		digits := 0
		for digits < len(p.left) && p.left[digits] >= '0' && p.left[digits] <= '9' {
			digits++
		}
		if p.left = p.left[digits:]; digits == 0 {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(all[:len(all)-len(p.left)], 64)
	return f, err == nil
}

// object reads an object; f reads the value of each of its keys.
func (p *plain) object(f func(key string) bool) bool {
	if !p.take("{") {
		return false
	}
	if p.take("}") {
		return true
	}
	for {
		key, ok := p.text()
		if !ok || !p.take(":") || !f(key) {
			return false
		}
		if p.take("}") {
			return true
		}
		if !p.take(",") {
			return false
		}
	}
}

// rest reads a whole rest.
func (p *plain) rest(r *messageRest) bool {
	return p.object(func(key string) bool {
		switch key {
		case "name":
			return p.string(&r.Name)
		case "sender":
			return p.string(&r.Sender)
		case "turn":
			return p.string(&r.Turn)
		case "model":
			return p.string(&r.Model)
		case "tool_call_id":
			return p.string(&r.ToolCallID)
		case "at":
			s, ok := p.text()
			return ok && r.At.UnmarshalText([]byte(s)) == nil
		case "usage":
			if r.Usage == nil {
				r.Usage = new(sessions.Usage)
			}
			return p.usage(r.Usage)
		case "synthetic":
			r.Synthetic = true
			return p.take("true")
		}
		return false // tool calls, attachments, what a provider attached, or what a later version knows
	}) && len(p.left) == 0
}

func (p *plain) string(to *string) (ok bool) {
	*to, ok = p.text()
	return ok
}

func (p *plain) usage(u *sessions.Usage) bool {
	return p.object(func(key string) (ok bool) {
		switch key {
		case "input":
			u.Input, ok = p.number()
		case "output":
			u.Output, ok = p.number()
		case "cached":
			u.Cached, ok = p.number()
		case "cost":
			u.Cost, ok = p.amount()
		}
		return ok
	})
}
