package wire

import (
	"encoding/json"
	"maps"
	"net"
	"slices"

	"dragoman/sessions"
)

// Layout records the order of the parts of an assistant message. APIs whose
// messages are lists keep it in [sessions.Attached], because attached data has
// its place between text and calls.
type Layout struct {
	// After identifies the request that the message answered; "" is unknown.
	After string `json:"after,omitempty"`
	Parts []Part `json:"parts"`
}

// Part is one part of a message. Raw, Text or Call is set.
type Part struct {
	// Raw is JSON that the provider attached. It is a string because stores may
	// write JSON anew, with other spaces and escapes.
	Raw string `json:"raw,omitempty"`
	// Text is the length in bytes of a piece of the content.
	Text int `json:"text,omitempty"`
	// Phase is the provider's name for the role of that piece.
	Phase string `json:"phase,omitempty"`
	// Call is the id that the server gave the next tool call.
	Call string `json:"call,omitempty"`
}

// Attach encodes l for [sessions.Message.Attached]. It returns nil if l adds
// nothing to the message.
func (l *Layout) Attach(by sessions.Provenance) *sessions.Attached {
	if !slices.ContainsFunc(l.Parts, func(p Part) bool { return p.Raw != "" || p.Phase != "" }) {
		return nil
	}
	data, err := json.Marshal(l)
	if err != nil {
		return nil // cannot happen: l holds only strings and numbers
	}
	return &sessions.Attached{By: by, Data: data}
}

// ReadLayout returns the layout that by attached to m. It returns nil if there
// is none, or if it cannot be read: a message works without it.
func ReadLayout(m *sessions.Message, by sessions.Provenance) *Layout {
	data := m.AttachedBy(by)
	l := new(Layout)
	if data == nil || json.Unmarshal(data, l) != nil {
		return nil
	}
	for i := range l.Parts {
		if raw := l.Parts[i].Raw; raw != "" && !json.Valid([]byte(raw)) {
			return nil
		}
	}
	return l
}

// Visitor is called with the parts of a message in order.
type Visitor struct {
	Raw  func(data string)
	Text func(text, phase string)
	Call func(c *sessions.ToolCall)
}

// Visit calls v with the parts of m in the order of l, which may be nil. Calls
// keep the order of the message, because their ids change between an answer and
// the next request. Visit passes on each call once and all of the content, even
// if m has changed since l was made: changed text comes at the place of the
// last text, and calls without a place come at the end.
func (l *Layout) Visit(m *sessions.Message, v *Visitor) {
	if l == nil {
		l = new(Layout)
	}
	text, last := 0, -1
	for i := range l.Parts {
		if n := l.Parts[i].Text; n > 0 {
			text, last = text+n, i
		}
	}
	content, calls := m.Content, m.ToolCalls
	write := func(n int, phase string) {
		if n > 0 {
			v.Text(content[:n], phase)
			content = content[n:]
		}
	}
	for i := range l.Parts {
		part := &l.Parts[i]
		switch {
		case part.Raw != "":
			v.Raw(part.Raw)
		case part.Text > 0 && text == len(m.Content):
			write(part.Text, part.Phase)
		case i == last:
			write(len(content), part.Phase)
		case part.Call != "" && len(calls) > 0:
			if last < 0 {
				write(len(content), "") // text without a place precedes the calls
			}
			v.Call(&calls[0])
			calls = calls[1:]
		}
	}
	write(len(content), "")
	for i := range calls {
		v.Call(&calls[i])
	}
}

// Object encodes fields as a JSON object, sorted by name. Values are written
// byte for byte; empty ones are left out.
func Object(fields map[string]json.RawMessage) net.Buffers {
	var out net.Buffers
	sep := byte('{')
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		quoted, err := json.Marshal(name)
		if err != nil || len(fields[name]) == 0 {
			continue // err is always nil: a string can be encoded
		}
		out = append(out, slices.Concat([]byte{sep}, quoted, []byte{':'}), fields[name])
		sep = ','
	}
	if sep == '{' {
		return net.Buffers{[]byte("{}")}
	}
	return append(out, []byte("}"))
}
