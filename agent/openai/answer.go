package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"dragoman/agent"
	"dragoman/sessions"
)

// errNoChoices is a stream that ended well and said nothing.
var errNoChoices = errors.New("the answer has no choices")

// answer gathers a stream into a response.
type answer struct {
	onDelta func(agent.Delta)
	content strings.Builder
	calls   calls
	finish  string
	usage   *sessions.Usage
	begun   bool // a choice was seen
	refused bool // some of the content is a refusal
}

// add takes one frame.
func (a *answer) add(frame []byte) error {
	f, ok := readPlain(frame)
	if !ok {
		return a.addAny(frame)
	}
	a.begun = true
	a.take(&delta{Content: text(f.content)})
	if len(f.finish) > 0 {
		a.finish = string(f.finish)
	}
	return nil
}

// addAny takes one frame of any form.
func (a *answer) addAny(frame []byte) error {
	var c chunk
	if err := json.Unmarshal(frame, &c); err != nil {
		return fmt.Errorf("the stream has a chunk that cannot be read: %w", cause(err))
	}
	// A usage that says nothing takes nothing away from one before it.
	if u := c.Usage.read(); u != nil {
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
		a.take(d)
		if reason := loose(choice.FinishReason); reason != "" {
			a.finish = reason
		}
	}
	return nil
}

// cause keeps a decoder's error from showing what was decoded.
func cause(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s is a %s", wrong.Field, strings.Fields(wrong.Value + " value")[0])
	}
	return errors.New("it is no valid JSON")
}

func (a *answer) take(d *delta) {
	reasoning := d.ReasoningContent
	if reasoning == "" {
		reasoning = d.Reasoning
	}
	a.refused = a.refused || strings.TrimSpace(string(d.Refusal)) != ""
	if said, thought := clean(d.Content+text(d.Refusal)), clean(text(reasoning)); said != "" || thought != "" {
		a.content.WriteString(said)
		a.onDelta(agent.Delta{Text: said, Reasoning: thought})
	}
	for i := range d.ToolCalls {
		a.calls.add(&d.ToolCalls[i], i, len(d.ToolCalls))
	}
}

// clean drops NUL, which no chat network and not every store can carry.
func clean(t text) string {
	return strings.ReplaceAll(string(t), "\x00", "")
}

// check says what is wrong with an answer whose stream ended well.
func (a *answer) check() error {
	switch {
	case !a.begun:
		return errNoChoices
	case a.finish == "error":
		return errors.New("the server reports that it failed in the middle of the answer")
	}
	return nil
}

// fill makes out the response that the answer came to.
func (a *answer) fill(out *agent.Response, model string) {
	*out = agent.Response{
		Message: sessions.Message{
			Role:      sessions.RoleAssistant,
			Content:   a.content.String(),
			ToolCalls: a.calls.all(),
			Model:     model,
			Usage:     a.usage,
		},
		Usage:   a.usage,
		Finish:  a.finish,
		Refused: a.refused,
	}
	switch {
	case len(out.Message.ToolCalls) > 0 && a.finish != "length":
		out.Finish = "tool_calls" // some servers say "stop"
	case a.finish == "":
		out.Finish = "stop" // the server said [DONE] alone
	}
}
