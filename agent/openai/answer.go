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

// errNoChoices is a stream that ended well and said nothing.
var errNoChoices = errors.New("the answer has no choices")

// answer gathers a stream into a response.
type answer struct {
	wire.Draft
	pieces calls
	begun  bool // a choice was seen
	kept   kept
	usual  usual
}

// Add takes one frame.
func (a *answer) Add(_ string, frame []byte) (progress bool, err error) {
	if words, ok := a.usual.words(frame); ok {
		return a.say(text(words), ""), nil
	}
	return a.addAny(frame)
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
	if u, _ := wire.ReadUsage(c.Usage); u != nil {
		a.Usage = u
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index.Value != 0 {
			continue
		}
		a.begun = true
		d := &choice.Delta
		if choice.Message != nil {
			d = choice.Message
		}
		progress = a.take(d) || progress
		if reason := wire.Loose(choice.FinishReason); reason != "" {
			a.Finish = reason
		}
	}
	a.usual.learn(frame, &c)
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
	a.Refused = a.Refused || strings.TrimSpace(string(d.Refusal)) != ""
	progress = a.say(d.Content+text(d.Refusal), a.kept.take(d))
	for i := range d.ToolCalls {
		progress = a.pieces.add(&d.ToolCalls[i], i, len(d.ToolCalls)) || progress
	}
	return progress
}

// say passes on words and thoughts, and reports whether there were any.
func (a *answer) say(words text, thoughts loose) bool {
	said := wire.Clean(string(words))
	a.Say(said)
	return a.Show(said, string(thoughts))
}

// Finished reports whether there was a finish reason.
func (a *answer) Finished() bool { return a.Finish != "" }

// Check says what is wrong with an answer whose stream ended well.
func (a *answer) Check() error {
	switch {
	case !a.begun:
		return errNoChoices
	case a.Finish == "error":
		return errors.New("the server reports that it failed in the middle of the answer")
	}
	return nil
}

// Fill makes out the response that the answer came to.
func (a *answer) Fill(out *agent.Response) {
	for _, p := range a.pieces.list {
		a.Call(p.id, p.name, p.args.String())
	}
	a.Thought = a.kept.thoughts.Len() > 0
	a.Draft.Fill(out, a.attached())
}
