package output

import (
	"encoding/json"
	"slices"
	"strings"

	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// writtenCall is a call as models write it. Each template names its parts
// differently.
type writtenCall struct {
	Name       string          `json:"name"`
	Function   json.RawMessage `json:"function"` // a name, or an object like this one
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

// toCall converts w to a call, if it names a tool and its arguments are an object or
// a string that holds one. bare says that no mark announced the call, so it must have
// arguments.
func (r *Reader) toCall(w writtenCall, bare bool) (c sessions.ToolCall, ok bool) {
	if len(w.Function) > 0 {
		var inner writtenCall
		if json.Unmarshal(w.Function, &w.Name) != nil && json.Unmarshal(w.Function, &inner) == nil {
			inner.Function = nil
			return r.toCall(inner, bare)
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

// callsIn reads the calls at the start of s, JSON objects or lists of them one after
// another, and returns the rest. If one of them is not a call it returns none.
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
		var some []writtenCall
		if v[0] == '{' {
			v = slices.Concat(json.RawMessage("["), v, json.RawMessage("]"))
		}
		if json.Unmarshal(v, &some) != nil {
			return nil, rest
		}
		for _, w := range some {
			c, ok := r.toCall(w, bare)
			if !ok {
				return nil, rest
			}
			list = append(list, c)
		}
		rest = s[d.InputOffset():]
	}
}

func (r *Reader) addCalls(list []sessions.ToolCall, n int) bool {
	r.read.Calls = append(r.read.Calls, list...)
	return r.skip(n)
}

var (
	toolName    = lazily.Compile(`^[A-Za-z0-9_-]{1,64}`)
	mistralCall = lazily.Compile(`^\s*([A-Za-z0-9_-]{1,64})(?:\[CALL_ID\][A-Za-z0-9]*)?(?:\[ARGS\])?\s*(?:\{)`)
)

// maxFailed limits how often per answer the text after a call mark is parsed without
// finding a call.
const maxFailed = 16

// notACall takes a mark of n bytes for text, because no call follows.
func (r *Reader) notACall(raw string, n int) bool {
	r.failed++
	return r.keep(raw, n)
}

// taggedCall reads a call after the mark m.
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
		return r.notACall(raw, n)
	case closed:
		return r.addCalls(list, n+len(body)+len(m.pair))
	default:
		return r.addCalls(list, n+len(body)-len(left))
	}
}

// namedCall makes a call of name with the object at index at of raw, and skips past
// it and the marks that end it.
func (r *Reader) namedCall(raw string, n int, name string, at int, ends ...string) bool {
	args := strings.TrimLeft(raw[at:], "> \t\r\n")
	var v json.RawMessage
	d := json.NewDecoder(strings.NewReader(args))
	if d.Decode(&v) != nil {
		return r.notACall(raw, n)
	}
	c, ok := r.toCall(writtenCall{Name: name, Arguments: v}, true)
	if !ok {
		return r.notACall(raw, n)
	}
	rest := args[d.InputOffset():]
	for _, end := range ends {
		if after, found := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), end); found {
			rest = after
		}
	}
	return r.addCalls([]sessions.ToolCall{c}, len(raw)-r.at-len(rest))
}

// channelCall reads a call in a message of harmony. n is the length of the header.
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
	c, ok := r.toCall(writtenCall{Name: toolName.Regexp().FindString(to), Arguments: json.RawMessage(strings.TrimSpace(body))}, true)
	if !ok {
		return r.beginThoughts(n, messageEnds...)
	}
	r.channel = true
	return r.addCalls([]sessions.ToolCall{c}, n+len(body))
}

// bareCall reads an answer that consists only of calls.
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
	return r.addCalls(list, len(rest))
}

// fencedCall reads an answer that is a single code block with calls in it. run is the
// number of backticks of its fence.
func (r *Reader) fencedCall(raw string, run int, final bool) bool {
	rest := raw[r.at:]
	_, body, _ := strings.Cut(rest, "\n")
	body = strings.TrimLeft(body, " \t\r\n")
	if body != "" && callLike(body) {
		if !final {
			return false
		}
		list, left := r.callsIn(body, true)
		if len(list) > 0 && nothingBut(strings.TrimPrefix(strings.TrimSpace(left), rest[:run])) {
			return r.addCalls(list, len(rest))
		}
	} else if body == "" && !final {
		return false
	}
	r.fence = rest[:run]
	return r.keep(raw, run)
}

// callFences are the info strings of code blocks that may be calls.
var callFences = []string{"", "json", "tool_call", "tool_code", "tool"}

// nothingBut reports whether only marks that end the turn follow in rest.
func nothingBut(rest string) bool {
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return true
	}
	m, _ := markAt(rest)
	return m != nil && (m.kind == ends || m.kind == begins)
}

// callStart matches the beginning of a call: an object with one of its fields. A text
// shorter than shortCall is too short to tell.
var callStart = lazily.Compile(`^\[?\s*\{\s*"(?:name|function|arguments|parameters|type|id)"`)

const shortCall = 40

// callLike reports whether s, which may be incomplete, may begin with a call.
func callLike(s string) bool {
	return len(s) < shortCall && (s[0] == '{' || s[0] == '[') || callStart.Regexp().MatchString(s)
}
