package output

import (
	"encoding/json"
	"slices"
	"strings"

	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// written is a call as models write it. There are as many names for its parts
// as there are templates.
type written struct {
	Name       string          `json:"name"`
	Function   json.RawMessage `json:"function"` // a name, or an object like this one
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

// call makes a call of w, if it names a tool and has arguments that are an
// object, or are one as a string. bare says that nothing but its form shows that
// it is a call, so that it must have arguments.
func (r *Reader) call(w written, bare bool) (c sessions.ToolCall, ok bool) {
	if len(w.Function) > 0 {
		var inner written
		if json.Unmarshal(w.Function, &w.Name) != nil && json.Unmarshal(w.Function, &inner) == nil {
			inner.Function = nil
			return r.call(inner, bare)
		}
	}
	args := w.Arguments
	if len(args) == 0 {
		args = w.Parameters
	}
	if len(args) == 0 && !bare {
		args = json.RawMessage("{}")
	}
	var text string
	if json.Unmarshal(args, &text) == nil && text != "" {
		args = json.RawMessage(text)
	}
	var object map[string]json.RawMessage
	if w.Name == "" || !r.Tool(w.Name) || json.Unmarshal(args, &object) != nil || object == nil {
		return c, false
	}
	return sessions.ToolCall{Name: w.Name, Arguments: string(args)}, true
}

// callsIn reads the calls that s begins with, as JSON objects or lists of them
// one after the other, and returns what follows. There are none if one of them
// is no call.
func (r *Reader) callsIn(s string, bare bool) (list []sessions.ToolCall, rest string) {
	for rest = s; ; {
		s = strings.TrimLeft(rest, " \t\r\n;,")
		if s == "" || s[0] != '{' && s[0] != '[' {
			return list, rest
		}
		var v json.RawMessage
		d := json.NewDecoder(strings.NewReader(s))
		if d.Decode(&v) != nil {
			return list, rest
		}
		var some []written
		if v[0] == '{' {
			v = slices.Concat(json.RawMessage("["), v, json.RawMessage("]"))
		}
		if json.Unmarshal(v, &some) != nil {
			return nil, rest
		}
		for _, w := range some {
			c, ok := r.call(w, bare)
			if !ok {
				return nil, rest
			}
			list = append(list, c)
		}
		rest = s[d.InputOffset():]
	}
}

// take makes calls of n bytes.
func (r *Reader) take(list []sessions.ToolCall, n int) bool {
	r.read.Calls = append(r.read.Calls, list...)
	return r.skip(n)
}

var (
	toolName    = lazily.Compile(`^[A-Za-z0-9_-]{1,64}`)
	mistralCall = lazily.Compile(`^\s*([A-Za-z0-9_-]{1,64})(?:\[CALL_ID\][A-Za-z0-9]*)?(?:\[ARGS\])?\s*(?:\{)`)
)

// mostFailed bounds the texts in an answer that are looked at because a mark
// says that they are calls, and are none.
const mostFailed = 16

// none takes a mark of n bytes for text: no call follows.
func (r *Reader) none(raw string, n int) bool {
	r.failed++
	return r.keep(raw, n)
}

// taggedCall reads a call behind the mark m.
func (r *Reader) taggedCall(raw string, m *mark, final bool) bool {
	const function = "<function="
	n := len(m.text)
	body := raw[r.at+n:]
	inside := strings.TrimLeft(body, " \t\r\n")
	named := m.text == function || strings.HasPrefix(inside, function)
	promising := named || m.text == "[TOOL_CALLS]" || strings.HasPrefix(inside, "{") || strings.HasPrefix(inside, "[")
	if !promising && !strings.HasPrefix(function, inside) {
		return r.keep(raw, n)
	}
	end := -1
	if m.pair != "" {
		end = strings.Index(body, m.pair)
	}
	if end < 0 && !final {
		return false
	}
	if named {
		at := r.at + strings.Index(raw[r.at:], function) + len(function)
		name := toolName.Regexp().FindString(raw[at:])
		return r.namedCall(raw, n, name, at+len(name), "</function>", m.pair)
	}
	closed := end >= 0
	if closed {
		body = body[:end]
	}
	if at := mistralCall.Regexp().FindStringSubmatchIndex(body); at != nil && m.text == "[TOOL_CALLS]" {
		return r.namedCall(raw, n, body[at[2]:at[3]], r.at+n+at[1]-1)
	}
	list, left := r.callsIn(body, false)
	switch {
	case len(list) == 0:
		return r.none(raw, n)
	case closed:
		return r.take(list, n+len(body)+len(m.pair))
	default:
		return r.take(list, n+len(body)-len(left))
	}
}

// namedCall makes a call of name with the object that raw has at a place, and
// goes behind it and what ends it.
func (r *Reader) namedCall(raw string, n int, name string, at int, ends ...string) bool {
	args := strings.TrimLeft(raw[at:], "> \t\r\n")
	var v json.RawMessage
	d := json.NewDecoder(strings.NewReader(args))
	if d.Decode(&v) != nil {
		return r.none(raw, n)
	}
	c, ok := r.call(written{Name: name, Arguments: v}, true)
	if !ok {
		return r.none(raw, n)
	}
	rest := args[d.InputOffset():]
	for _, end := range ends {
		if after, found := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), end); found {
			rest = after
		}
	}
	return r.take([]sessions.ToolCall{c}, len(raw)-r.at-len(rest))
}

// channelCall reads a call in a message of harmony whose header has n bytes.
func (r *Reader) channelCall(raw string, n int, header string, final bool) bool {
	body := raw[r.at+n:]
	end, _ := first(raw, r.at+n, messageEnds)
	if end < 0 && !final {
		return false
	}
	if end >= 0 {
		body = raw[r.at+n : end]
	}
	_, to, _ := strings.Cut(header, "to=")
	to = strings.TrimPrefix(to, "functions.")
	c, ok := r.call(written{Name: toolName.Regexp().FindString(to), Arguments: json.RawMessage(strings.TrimSpace(body))}, true)
	if !ok {
		return r.think(n, messageEnds...)
	}
	r.channel = true
	return r.take([]sessions.ToolCall{c}, n+len(body))
}

// bareCall reads an answer that is nothing but calls.
func (r *Reader) bareCall(raw string, final bool) bool {
	rest := raw[r.at:]
	if !callLike(rest) {
		return r.keep(raw, 1)
	}
	if !final {
		return false
	}
	list, left := r.callsIn(rest, true)
	if len(list) == 0 || !nothingBut(left) {
		return r.keep(raw, 1)
	}
	return r.take(list, len(rest))
}

// fencedCall reads an answer that is one block of code with calls in it, whose
// fence has run backticks.
func (r *Reader) fencedCall(raw string, run int, final bool) bool {
	rest := raw[r.at:]
	_, body, _ := strings.Cut(rest, "\n")
	if body = strings.TrimLeft(body, " \t\r\n"); body != "" && callLike(body) {
		if !final {
			return false
		}
		list, left := r.callsIn(body, true)
		if len(list) > 0 && nothingBut(strings.TrimPrefix(strings.TrimSpace(left), rest[:run])) {
			return r.take(list, len(rest))
		}
	} else if body == "" && !final {
		return false
	}
	r.fence = rest[:run]
	return r.keep(raw, run)
}

// isCallFence reports whether a block of code with this info string may be a call.
func isCallFence(info string) bool {
	switch strings.ToLower(strings.TrimSpace(info)) {
	case "", "json", "tool_call", "tool_code", "tool":
		return true
	}
	return false
}

// nothingBut reports whether an answer ends where rest begins, but for marks.
func nothingBut(rest string) bool {
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return true
	}
	m, _ := markAt(rest)
	return m != nil && (m.kind == ends || m.kind == begins)
}

// callStart is how a call begins, with one of its fields, and shortCall the
// length below which more must come to tell.
var callStart = lazily.Compile(`^\[?\s*\{\s*"(?:name|function|arguments|parameters|type|id)"`)

const shortCall = 40

// callLike reports whether s, of which more may come, may begin with a call.
func callLike(s string) bool {
	return len(s) < shortCall && (s[0] == '{' || s[0] == '[') || callStart.Regexp().MatchString(s)
}
