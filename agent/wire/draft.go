package wire

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/sessions"
)

// Draft collects the parts of an answer. In is required.
type Draft struct {
	In      *Input
	OnDelta func(agent.Delta) // may be nil
	Usage   *sessions.Usage
	// Finish is the finish reason of the server, or "".
	Finish           string
	Thought, Refused bool
	// Model is the model that answered, as the server named it first.
	Model string
	// Ended is true once only the end of the stream is missing.
	Ended bool

	content strings.Builder
	calls   []sessions.ToolCall
	layout  Layout
}

// ErrBadEvent: an event cannot be read.
var ErrBadEvent = errors.New("the stream has an event that cannot be read")

// Finished implements [Answer].
func (d *Draft) Finished() bool { return d.Ended }

// Check implements [Answer].
func (d *Draft) Check() error {
	if !d.Ended {
		return errors.New("the stream ended before the answer did")
	}
	return nil
}

// Names takes the name of the model that answers, a JSON string. The first one counts.
func (d *Draft) Names(model json.RawMessage) {
	if d.Model == "" {
		d.Model = LooseString(model)
	}
}

// Clean returns s without NUL, which chat networks and some stores cannot
// carry.
func Clean(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// Emit passes a piece of the answer to OnDelta. It reports whether the piece
// had any text.
func (d *Draft) Emit(text, thought string) bool {
	if text == "" && thought == "" {
		return false
	}
	if d.OnDelta != nil {
		d.OnDelta(agent.Delta{Text: text, Reasoning: thought})
	}
	return true
}

// AddContent adds to the content, for APIs whose answers have no list of parts.
func (d *Draft) AddContent(text string) { d.content.WriteString(text) }

// AddText adds the next part of the content.
func (d *Draft) AddText(text, phase string) {
	d.AddContent(text)
	d.layout.Parts = append(d.layout.Parts, Part{Text: len(text), Phase: phase})
}

// AddRaw adds JSON that the provider wants back. "" adds nothing.
func (d *Draft) AddRaw(data string) {
	if data != "" {
		d.layout.Parts = append(d.layout.Parts, Part{Raw: data})
	}
}

// unknownTool replaces a missing tool name. No tool has this name: the model
// reads that and can correct itself, while an error would only repeat the
// request.
const unknownTool = "unknown_tool"

// AddCall adds a tool call. It makes a new id if id is empty or already used by
// another call, and ignores a call that is there already.
func (d *Draft) AddCall(id, name, arguments string) {
	name, arguments = cmp.Or(strings.TrimSpace(name), unknownTool), callArguments(arguments)
	for i := range d.calls {
		c := &d.calls[i]
		switch {
		case id == "" || c.ID != id || c.Name != name:
		case SameArguments(arguments, c.Arguments):
			return
		case SameArguments(c.Arguments, arguments):
			c.Arguments = arguments
			return
		}
	}
	if id == "" || slices.ContainsFunc(d.calls, func(c sessions.ToolCall) bool { return c.ID == id }) {
		id = "call_" + rand.Text()
	}
	d.calls = append(d.calls, sessions.ToolCall{ID: id, Name: name, Arguments: arguments})
	d.layout.Parts = append(d.layout.Parts, Part{Call: id})
}

func callArguments(text string) string {
	text = strings.TrimSpace(text)
	if text == "null" {
		return "{}"
	}
	return cmp.Or(text, "{}")
}

// Attached returns what the provider wants back with the answer, in its order,
// or nil. after returns the value for [Layout.After]; it may be nil.
func (d *Draft) Attached(after func() string) *sessions.Attached {
	out := d.layout.Attach(d.In.To)
	if out == nil || after == nil {
		return out
	}
	d.layout.After = after()
	return d.layout.Attach(d.In.To)
}

// Fill writes the response into out.
func (d *Draft) Fill(out *agent.Response, attached *sessions.Attached) {
	*out = agent.Response{
		Message: sessions.Message{
			Role: sessions.RoleAssistant, Content: d.content.String(), ToolCalls: d.calls,
			Model: d.In.To.Model, Usage: d.Usage, Attached: attached,
		},
		Usage: d.Usage, Finish: d.finish(), Model: d.Model, Thought: d.Thought, Refused: d.Refused,
	}
}
