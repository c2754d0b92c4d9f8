package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"dragoman/agent"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// errNoChoices is a stream that ended well and said nothing.
var errNoChoices = errors.New("the answer has no choices")

// answer gathers a stream into a response.
type answer struct {
	onDelta func(agent.Delta)
	in      *wire.Input
	content strings.Builder
	calls   calls
	finish  string
	usage   *sessions.Usage
	begun   bool // a choice was seen
	refused bool // some of the content is a refusal
	kept    kept
}

// Add takes one frame.
func (a *answer) Add(_ string, frame []byte) (progress bool, err error) {
	f, ok := readPlain(frame)
	if !ok {
		return a.addAny(frame)
	}
	a.begun = true
	progress = a.say(text(f.content), "")
	if len(f.finish) > 0 {
		a.finish = string(f.finish)
	}
	return progress, nil
}

// addAny takes one frame of any form.
func (a *answer) addAny(frame []byte) (progress bool, err error) {
	var c chunk
	if err := json.Unmarshal(frame, &c); err != nil {
		return false, fmt.Errorf("the stream has a chunk that cannot be read: %w", cause(err))
	}
	if c.Object == "error" {
		return false, &wire.Failure{Data: bytes.Clone(frame)} // vLLM
	}
	// A usage that says nothing takes nothing away from one before it.
	if u := readUsage(c.Usage); u != nil {
		a.usage = u
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index.value != 0 {
			continue
		}
		a.begun = true
		d := &choice.Delta
		if choice.Message != nil {
			d = choice.Message
		}
		progress = a.take(d) || progress
		if reason := loose(choice.FinishReason); reason != "" {
			a.finish = reason
		}
	}
	return progress, nil
}

// cause keeps a decoder's error from showing what was decoded.
func cause(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s is a %s", wrong.Field, strings.Fields(wrong.Value + " value")[0])
	}
	return errors.New("it is not valid JSON")
}

// take reports whether d has a piece of the answer.
func (a *answer) take(d *delta) (progress bool) {
	a.refused = a.refused || strings.TrimSpace(string(d.Refusal)) != ""
	progress = a.say(d.Content+text(d.Refusal), a.kept.take(d))
	for i := range d.ToolCalls {
		progress = a.calls.add(&d.ToolCalls[i], i, len(d.ToolCalls)) || progress
	}
	return progress
}

// say passes on words and thoughts, and reports whether there were any.
func (a *answer) say(words text, thoughts thought) bool {
	said, thought := clean(words), clean(text(thoughts))
	if said == "" && thought == "" {
		return false
	}
	a.content.WriteString(said)
	a.onDelta(agent.Delta{Text: said, Reasoning: thought})
	return true
}

// clean drops NUL, which no chat network and not every store can carry.
func clean(t text) string {
	return strings.ReplaceAll(string(t), "\x00", "")
}

// Finished reports whether there was a finish reason.
func (a *answer) Finished() bool { return a.finish != "" }

// Check says what is wrong with an answer whose stream ended well.
func (a *answer) Check() error {
	switch {
	case !a.begun:
		return errNoChoices
	case a.finish == "error":
		return errors.New("the server reports that it failed in the middle of the answer")
	}
	return nil
}

// Fill makes out the response that the answer came to.
func (a *answer) Fill(out *agent.Response) {
	*out = agent.Response{
		Message: sessions.Message{
			Role:      sessions.RoleAssistant,
			Content:   a.content.String(),
			ToolCalls: a.calls.all(),
			Model:     a.in.To.Model,
			Usage:     a.usage,
		},
		Usage:   a.usage,
		Finish:  a.finish,
		Refused: a.refused,
		Thought: a.kept.thoughts.Len() > 0,
	}
	out.Message.Attached = a.attached()
	switch {
	case len(out.Message.ToolCalls) > 0 && a.finish != "length":
		out.Finish = "tool_calls" // some servers say "stop"
	case a.finish == "":
		out.Finish = "stop" // the server said [DONE] alone
	}
}
