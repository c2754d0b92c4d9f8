package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"dragoman/agent"
	"dragoman/agent/wire"
)

// answer collects the chunks of one streamed chat completion.
type answer struct {
	wire.Draft
	text    wire.Text
	calls   calls
	started bool // there was a choice
	data    providerData
	fast    fastPath
}

func (a *answer) Add(_ string, frame []byte) (progress bool, err error) {
	if content, ok := a.fast.text(frame); ok {
		return a.addText(text(content), ""), nil
	}
	return a.addChunk(frame)
}

func (a *answer) addChunk(frame []byte) (progress bool, err error) {
	var c chunk
	if err := json.Unmarshal(frame, &c); err != nil {
		return false, fmt.Errorf("cannot read a chunk of the stream: %w", decodeError(err))
	}
	if c.Object == "error" {
		return false, &wire.StreamError{Data: bytes.Clone(frame)} // vLLM
	}
	a.Names(c.Model)
	// An empty usage does not replace an earlier one.
	if u, _ := wire.ReadUsage(c.Usage); u != nil {
		a.Usage = u
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index.Value != 0 {
			continue
		}
		a.started = true
		progress = a.addDelta(&choice.Delta) || progress
		if choice.Message != nil {
			progress = a.addWhole(choice.Message) || progress
		}
		a.EndAs(wire.LooseString(choice.FinishReason))
	}
	a.fast.learn(frame, &c)
	return progress, nil
}

// decodeError returns err without the decoded text, which may be chat text.
func decodeError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is a %s", wrong.Field, strings.Fields(wrong.Value + " value")[0])
	}
	return errors.New("it is not valid JSON")
}

func (a *answer) addDelta(d *delta) (progress bool) {
	a.Refused = a.Refused || strings.TrimSpace(string(d.Refusal)) != ""
	progress = a.addText(d.Content+text(d.Refusal), a.data.add(d))
	for i := range d.ToolCalls {
		progress = a.calls.add(&d.ToolCalls[i], i, len(d.ToolCalls)) || progress
	}
	return progress
}

// addWhole takes the whole message so far. A server that does not stream sends one;
// others send it at the end, or in each chunk.
func (a *answer) addWhole(m *delta) (progress bool) {
	a.Refused = a.Refused || strings.TrimSpace(string(m.Refusal)) != ""
	content := a.text.Whole(wire.Clean(string(m.Content + text(m.Refusal))))
	progress = a.Emit(content, a.data.addWhole(m))
	return a.calls.addWhole(m.ToolCalls) || progress
}

// addText passes on what a piece of the text adds, and new thoughts. It reports
// whether there were any pieces.
func (a *answer) addText(raw text, thoughts string) bool {
	content := a.text.Add(wire.Clean(string(raw)))
	some := a.Emit(content, thoughts)
	return some || raw != ""
}

func (a *answer) Finished() bool { return a.Finish != "" }

func (a *answer) Check() error {
	a.Emit(a.text.End(), a.data.thoughts.End())
	if !a.started {
		return errors.New("the answer has no choices")
	}
	return a.CheckEnd(a.text.String() != "" || len(a.calls.list)+len(a.calls.whole) > 0)
}

func (a *answer) Fill(out *agent.Response) {
	a.AddContent(a.text.String())
	for _, p := range a.calls.finish() {
		a.AddCall(p.id, p.name, p.args.String())
	}
	a.Thought = a.data.thoughts.String() != ""
	a.Draft.Fill(out, a.attached())
}
