package wire

import (
	"encoding/json"
	"maps"
	"net"
	"slices"

	"dragoman/sessions"
)

// Laid is how the parts of an assistant message followed each other. APIs whose
// messages are lists keep it in [sessions.Attached], because what they attach
// has its place between text and calls.
type Laid struct {
	// After tells the requests apart that the message may answer; "" is unknown.
	After string `json:"after,omitempty"`
	Parts []Part `json:"parts"`
}

// Part is one of them: Raw, Text or Call is set.
type Part struct {
	// Raw is JSON that the provider attached. It is kept as a string because
	// stores write JSON anew, with other spaces and escapes.
	Raw string `json:"raw,omitempty"`
	// Text is the length of a piece of the content, in bytes.
	Text int `json:"text,omitempty"`
	// Phase is the provider's word for the role of that piece.
	Phase string `json:"phase,omitempty"`
	// Call is the id that the server gave the next tool call.
	Call string `json:"call,omitempty"`
}

// Attach returns l as it is kept with a message, or nil if it holds nothing
// that the message does not hold itself.
func (l *Laid) Attach(by sessions.Provenance) *sessions.Attached {
	if !slices.ContainsFunc(l.Parts, func(p Part) bool { return p.Raw != "" || p.Phase != "" }) {
		return nil
	}
	data, err := json.Marshal(l)
	if err != nil {
		return nil // it is made of strings and numbers
	}
	return &sessions.Attached{By: by, Data: data}
}

// ReadLaid returns what by attached to m, or nil. It is nil too if the data
// cannot be read: the message can do without.
func ReadLaid(m *sessions.Message, by sessions.Provenance) *Laid {
	data := m.AttachedBy(by)
	l := new(Laid)
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

// Page takes the parts of a message in their order.
type Page struct {
	Raw  func(data string)
	Text func(text, phase string)
	Call func(c *sessions.ToolCall)
}

// Lay writes m onto p in the order of l, which may be nil. Calls keep their own
// order: ids are made anew between an answer and the next request. Every call is
// written once and all of the content, also where m was changed since l was
// made: text then comes at its last place, and calls without a place at the end.
func (l *Laid) Lay(m *sessions.Message, p *Page) {
	if l == nil {
		l = new(Laid)
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
			p.Text(content[:n], phase)
			content = content[n:]
		}
	}
	for i := range l.Parts {
		part := &l.Parts[i]
		switch {
		case part.Raw != "":
			p.Raw(part.Raw)
		case part.Text > 0 && text == len(m.Content):
			write(part.Text, part.Phase)
		case i == last:
			write(len(content), part.Phase)
		case part.Call != "" && len(calls) > 0:
			if last < 0 {
				write(len(content), "") // text without a place comes before the calls
			}
			p.Call(&calls[0])
			calls = calls[1:]
		}
	}
	write(len(content), "")
	for i := range calls {
		p.Call(&calls[i])
	}
}

// Object writes a JSON object of fields, sorted by name. Values are written as
// they are.
func Object(fields map[string]json.RawMessage) net.Buffers {
	var out net.Buffers
	sep := byte('{')
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		quoted, err := json.Marshal(name)
		if err != nil || len(fields[name]) == 0 {
			continue // a string can be written
		}
		out = append(out, slices.Concat([]byte{sep}, quoted, []byte{':'}), fields[name])
		sep = ','
	}
	if sep == '{' {
		return net.Buffers{[]byte("{}")}
	}
	return append(out, []byte("}"))
}

// efforts are the reasoning efforts that there are, from least to most.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Effort is the effort that is sent where asked was asked for: the nearest that
// the model knows, rather a lower one, but none only if that was asked for. A
// model that takes no effort gets "".
func (t *Traits) Effort(asked string) string {
	at := slices.Index(efforts, asked)
	if at < 0 || t.Efforts == nil || slices.Contains(t.Efforts, asked) {
		return asked
	}
	for i := at; i >= 0; i-- {
		if e := efforts[i]; slices.Contains(t.Efforts, e) && (e != "none" || asked == "none") {
			return e
		}
	}
	for _, e := range efforts[at:] {
		if slices.Contains(t.Efforts, e) {
			return e
		}
	}
	return ""
}
