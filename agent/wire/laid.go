package wire

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
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
	// Call is the id of a tool call.
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

// Lay writes m onto p in the order of l, which may be nil. Every call is
// written once and all of the content, also where m was changed since l was
// made: text comes at its last place then, and calls without a place at the end.
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
	left, done := m.Content, make(map[string]bool, len(m.ToolCalls))
	write := func(n int, phase string) {
		if n > 0 {
			p.Text(left[:n], phase)
			left = left[n:]
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
			write(len(left), part.Phase)
		case part.Call != "":
			if last < 0 {
				write(len(left), "") // text without a place comes before the calls
			}
			for j := range m.ToolCalls {
				if c := &m.ToolCalls[j]; c.ID == part.Call && !done[c.ID] {
					done[c.ID] = true
					p.Call(c)
				}
			}
		}
	}
	write(len(left), "")
	for j := range m.ToolCalls {
		if c := &m.ToolCalls[j]; !done[c.ID] {
			p.Call(c)
		}
	}
}

// CallIDs makes ids of tool calls that a strict server takes: at most 64
// letters, digits, "_" and "-", each once in a request. Conversations that
// began with another server may have others. The zero value is ready.
type CallIDs struct {
	used map[string]bool
	now  map[string]string // the newest call of each id
}

// Call returns the id under which a call is sent.
func (c *CallIDs) Call(id string) string {
	if c.used == nil {
		c.used, c.now = make(map[string]bool), make(map[string]string)
	}
	out := id
	for !plainID(out) || c.used[out] {
		sum := sha256.Sum256([]byte(out + "\x00" + id))
		out = "call_" + hex.EncodeToString(sum[:12])
	}
	c.used[out], c.now[id] = true, out
	return out
}

// Result returns the id under which the result of the newest call of id is sent.
func (c *CallIDs) Result(id string) string {
	if out, found := c.now[id]; found {
		return out
	}
	return c.Call(id)
}

func plainID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		switch b := id[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '_', b == '-':
		default:
			return false
		}
	}
	return true
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

// NoContent is sent where servers refuse a message without content.
const NoContent = "(empty)"

// Arguments is s if it is a JSON object, as servers that parse the history
// demand, else an object that shows the model what it had written.
func Arguments(s string) string {
	if s == "" {
		return "{}"
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &object) == nil && object != nil {
		return s
	}
	b, err := json.Marshal(map[string]string{"invalid_arguments": s})
	if err != nil {
		return "{}" // a string can be written
	}
	return string(b)
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

// FreshID is the id of a call that a server sent, or a new one if there is none
// or it is taken; it takes it.
func FreshID(id string, taken map[string]bool) string {
	if id == "" || taken[id] {
		id = "call_" + rand.Text()
	}
	taken[id] = true
	return id
}
