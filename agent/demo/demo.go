// Package demo is an [agent.Model] that is built in: no network, no key, no
// download. It is the first thing that a newcomer meets, so it says plainly
// that it follows rules and is no language model, shows what the gateway can
// do (streaming, tools, memory, summaries), and tells how to connect a real
// model.
//
// It promises to be deterministic: the same request gets the same response. It
// calls only tools that the request offers, each action of a message once, and
// says what they answered. It keeps no state: what it has done already, it
// reads from the messages.
//
// Failure cases: none but the end of the context, which ends an answer in the
// middle. A tool that fails is reported to the person in its own words.
//
// Goroutines: none.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/sessions"
)

// name is what people and records see.
const name = "demo"

// longestAnswer bounds how long the words of one answer take to stream.
const longestAnswer = 2 * time.Second

// Delay is the usual pause between two words.
const Delay = 15 * time.Millisecond

// Model is the demo.
type Model struct{ delay time.Duration }

// Abilities say that it writes no thoughts.
func (*Model) Abilities() agent.Abilities { return agent.Abilities{SeparatesThoughts: true} }

var _ agent.Model = (*Model)(nil)

// New makes a demo model that pauses for so long between two words. Long answers
// are faster.
func New(delay time.Duration) *Model { return &Model{delay} }

// Name is "demo".
func (m *Model) Name() string { return name }

// Complete answers by rules; see [agent.Model].
func (m *Model) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
	if err := ctx.Err(); err != nil {
		return agent.Response{}, err
	}
	if transcript, ok := toSummarise(r); ok {
		return m.answer(ctx, r, summarise(transcript, r.MaxTokens, strings.Contains(r.System, heading)), onDelta)
	}
	s := readScene(r)
	if calls := s.nextCalls(); len(calls) > 0 {
		return m.call(r, calls), nil
	}
	return m.answer(ctx, r, s.reply(), onDelta)
}

// call asks for tools.
func (m *Model) call(r agent.Request, wishes []*wish) agent.Response {
	out := agent.Response{
		Message: sessions.Message{Role: sessions.RoleAssistant, Model: name},
		Finish:  "tool_calls",
	}
	size := 0
	for i, w := range wishes {
		args, _ := json.Marshal(w.args) // texts and numbers
		size += len(args)
		// The ids are the same for the same request, and others for each one after it.
		out.Message.ToolCalls = append(out.Message.ToolCalls, sessions.ToolCall{
			ID: fmt.Sprintf("demo_%d_%d", len(r.Messages), i), Name: w.tool, Arguments: string(args),
		})
	}
	out.Usage = usage(r, size)
	out.Message.Usage = out.Usage
	return out
}

// answer streams text word by word.
func (m *Model) answer(ctx context.Context, r agent.Request, text string, onDelta func(agent.Delta)) (agent.Response, error) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	finish := "stop"
	if most := r.MaxTokens * bytesPerToken; most > 0 && len(text) > most {
		text, finish = strings.ToValidUTF8(text[:most], ""), "length"
	}
	pieces := strings.SplitAfter(text, " ")
	pause := min(m.delay, longestAnswer/time.Duration(len(pieces)+1))
	for i, piece := range pieces {
		if i > 0 && pause > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return agent.Response{}, ctx.Err()
			}
		}
		if onDelta != nil {
			onDelta(agent.Delta{Text: piece})
		}
	}
	if err := ctx.Err(); err != nil {
		return agent.Response{}, err
	}
	u := usage(r, len(text))
	return agent.Response{
		Message: sessions.Message{Role: sessions.RoleAssistant, Content: text, Model: name, Usage: u},
		Finish:  finish,
		Usage:   u,
	}, nil
}

// bytesPerToken is the usual rule of thumb.
const bytesPerToken = 4

func usage(r agent.Request, output int) *sessions.Usage {
	input := len(r.System)
	for i := range r.Messages {
		input += len(r.Messages[i].Content)
	}
	return &sessions.Usage{Input: input/bytesPerToken + 1, Output: output/bytesPerToken + 1}
}
