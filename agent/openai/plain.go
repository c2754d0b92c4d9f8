package openai

import "unicode/utf8"

// An answer comes in dozens of frames, which nearly all look alike: one choice
// with a word or two. Those are read without reflection, which was a fifteenth
// of the time of a turn. Anything else is not wrong, only not plain, and is
// left to encoding/json.

// plainFrame is what a plain frame says.
type plainFrame struct{ content, finish []byte }

// readPlain reads a frame, if it is plain.
func readPlain(frame []byte) (f plainFrame, ok bool) {
	p := frameReader{left: frame}
	var choices int
	ok = p.object(func(key []byte) bool {
		switch string(key) {
		case "id", "object", "model", "system_fingerprint", "service_tier":
			_, ok := p.word()
			return ok
		case "created":
			return p.digits()
		case "usage":
			return p.take("null")
		case "choices":
			choices++
			return p.take("[") && p.choice(&f) && p.take("]")
		}
		return false
	})
	return f, ok && choices == 1 && len(p.left) == 0
}

// frameReader reads JSON from the front. Its methods return false for what is not
// plain.
type frameReader struct{ left []byte }

func (p *frameReader) choice(f *plainFrame) bool {
	return p.object(func(key []byte) (ok bool) {
		switch string(key) {
		case "index":
			return p.take("0")
		case "delta":
			return p.object(func(key []byte) (ok bool) {
				switch string(key) {
				case "role":
					_, ok = p.word()
				case "content":
					f.content, ok = p.text()
				case "refusal", "reasoning_content", "reasoning", "tool_calls", "function_call":
					ok = p.take("null")
				}
				return ok
			})
		case "finish_reason":
			f.finish, ok = p.word()
		case "logprobs", "stop_reason":
			ok = p.take("null")
		}
		return ok
	})
}

// take passes over prefix.
func (p *frameReader) take(prefix string) bool {
	if len(p.left) < len(prefix) || string(p.left[:len(prefix)]) != prefix {
		return false
	}
	p.left = p.left[len(prefix):]
	return true
}

// object reads an object; value reads what stands behind a key.
func (p *frameReader) object(value func(key []byte) bool) bool {
	if !p.take("{") {
		return false
	}
	if p.take("}") {
		return true
	}
	for {
		key, ok := p.text()
		if !ok || !p.take(":") {
			return false
		}
		p.take(" ")
		if !value(key) {
			return false
		}
		if p.take("}") {
			return true
		}
		if !p.take(",") {
			return false
		}
		p.take(" ")
	}
}

// text reads a string without escapes. The bytes are those of the frame.
func (p *frameReader) text() ([]byte, bool) {
	if !p.take(`"`) {
		return nil, false
	}
	ascii := true
	for i, c := range p.left {
		switch {
		case c == '"':
			s := p.left[:i]
			p.left = p.left[i+1:]
			return s, ascii || utf8.Valid(s)
		case c == '\\' || c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// word reads a text or a null, which is none.
func (p *frameReader) word() ([]byte, bool) {
	if p.take("null") {
		return nil, true
	}
	return p.text()
}

// digits passes over a number without sign and fraction.
func (p *frameReader) digits() bool {
	n := 0
	for n < len(p.left) && p.left[n] >= '0' && p.left[n] <= '9' {
		n++
	}
	if n == 0 || n > 1 && p.left[0] == '0' {
		return false
	}
	p.left = p.left[n:]
	return true
}
