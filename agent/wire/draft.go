package wire

import (
	"cmp"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/sessions"
)

// Draft is an answer while it is put together. In is required.
type Draft struct {
	In      *Input
	OnDelta func(agent.Delta) // nil: nobody listens
	Usage   *sessions.Usage
	// Finish is the server's reason, or "".
	Finish           string
	Thought, Refused bool
	// Over says that only the end of the stream is missing.
	Over bool

	content strings.Builder
	calls   []sessions.ToolCall
	laid    Laid
}

// What is wrong with streams of events.
var (
	ErrBadEvent = errors.New("the stream has an event that cannot be read")
	errNoEnd    = errors.New("the stream ended without the end of an answer")
)

// Finished reports whether only the end of the stream is missing.
func (d *Draft) Finished() bool { return d.Over }

// Check says what is wrong with an answer whose stream ended well.
func (d *Draft) Check() error {
	if !d.Over {
		return errNoEnd
	}
	return nil
}

// Clean is s without NUL, which no chat network and not every store can carry.
func Clean(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// Show passes a piece of the answer on. It reports whether there is anything in it.
func (d *Draft) Show(text, thought string) bool {
	if text == "" && thought == "" {
		return false
	}
	if d.OnDelta != nil {
		d.OnDelta(agent.Delta{Text: text, Reasoning: thought})
	}
	return true
}

// Say adds to the content, where its place among the parts does not matter.
func (d *Draft) Say(text string) { d.content.WriteString(text) }

// Text adds the next part of the content.
func (d *Draft) Text(text, phase string) {
	d.Say(text)
	d.laid.Parts = append(d.laid.Parts, Part{Text: len(text), Phase: phase})
}

// Raw adds what the provider wants to get back.
func (d *Draft) Raw(data string) {
	if data != "" {
		d.laid.Parts = append(d.laid.Parts, Part{Raw: data})
	}
}

// unnamed is what a call without a name calls. There is no such tool: the model
// reads so and can do better, where an error would only have it asked again.
const unnamed = "unknown_tool"

// Call adds a tool call. One without an id, or with one that is taken, gets
// another.
func (d *Draft) Call(id, name, arguments string) {
	if id == "" || slices.ContainsFunc(d.calls, func(c sessions.ToolCall) bool { return c.ID == id }) {
		id = "call_" + rand.Text()
	}
	if arguments = strings.TrimSpace(arguments); arguments == "null" {
		arguments = ""
	}
	d.calls = append(d.calls, sessions.ToolCall{
		ID: id, Name: cmp.Or(strings.TrimSpace(name), unnamed), Arguments: cmp.Or(arguments, "{}"),
	})
	d.laid.Parts = append(d.laid.Parts, Part{Call: id})
}

// Attached is what goes back to the provider with the answer, in its order; nil:
// nothing. after is as in [Laid].
func (d *Draft) Attached(after func() string) *sessions.Attached {
	out := d.laid.Attach(d.In.To)
	if out == nil || after == nil {
		return out
	}
	d.laid.After = after()
	return d.laid.Attach(d.In.To)
}

// Fill makes out the response that the draft came to. Some servers say "stop"
// where they call tools.
func (d *Draft) Fill(out *agent.Response, attached *sessions.Attached) {
	*out = agent.Response{
		Message: sessions.Message{
			Role: sessions.RoleAssistant, Content: d.content.String(), ToolCalls: d.calls,
			Model: d.In.To.Model, Usage: d.Usage, Attached: attached,
		},
		Usage: d.Usage, Finish: cmp.Or(d.Finish, "stop"), Thought: d.Thought, Refused: d.Refused,
	}
	if len(d.calls) > 0 && out.Finish != "length" && out.Finish != "content_filter" {
		out.Finish = "tool_calls"
	}
}
