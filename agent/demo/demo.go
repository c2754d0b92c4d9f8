// Package demo is the built-in [agent.Model]: it needs no network, no key and
// no download. A newcomer meets it first. So it says plainly that it follows
// rules and is not a language model, shows what the gateway can do (streaming,
// tools, memory, summaries), and tells how to connect a real model.
//
// It is deterministic: the same request gets the same response. It calls only
// tools that the request offers, once for each message that asks for one, and
// repeats what they answer. It keeps no state: it reads its earlier steps from
// the messages.
//
// Failures: only the end of the context, which can end an answer in the middle.
// If a tool fails, the person is told in the tool's own words.
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

const name = "demo"

// longestAnswer bounds how long an answer streams. A long one has shorter pauses
// between its words.
const longestAnswer = 2 * time.Second

// Delay is the usual pause between two words.
const Delay = 15 * time.Millisecond

// Model is the demo.
type Model struct{ delay time.Duration }

// Abilities say that the demo writes no thoughts.
func (*Model) Abilities() agent.Abilities { return agent.Abilities{SeparatesThoughts: true} }

var _ agent.Model = (*Model)(nil)

// New returns a demo model that pauses for delay between two words, and for
// less in long answers.
func New(delay time.Duration) *Model { return &Model{delay} }

// Name returns "demo".
func (m *Model) Name() string { return name }

// Complete answers by rules; see [agent.Model].
func (m *Model) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
	if err := ctx.Err(); err != nil {
		return agent.Response{}, err
	}
	if transcript, ok := summaryRequest(r); ok {
		return m.answer(ctx, r, summarise(transcript, r.MaxTokens, strings.Contains(r.System, heading)), onDelta)
	}
	s := readDialog(r)
	if calls := s.nextCalls(); len(calls) > 0 {
		return m.call(r, calls), nil
	}
	return m.answer(ctx, r, s.replyToAll(), onDelta)
}

func (m *Model) call(r agent.Request, intents []*intent) agent.Response {
	out := sessions.Message{Role: sessions.RoleAssistant, Model: name}
	size := 0
	for i, it := range intents {
		args, _ := json.Marshal(it.args) // strings and numbers always encode
		size += len(args)
		// The same request gets the same ids; each later one gets others.
		out.ToolCalls = append(out.ToolCalls, sessions.ToolCall{
			ID: fmt.Sprintf("demo_%d_%d", len(r.Messages), i), Name: it.tool, Arguments: string(args),
		})
	}
	out.Usage = usage(r, size)
	return agent.Response{Message: out, Finish: "tool_calls", Usage: out.Usage}
}

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

const bytesPerToken = 4

func usage(r agent.Request, output int) *sessions.Usage {
	input := len(r.System)
	for i := range r.Messages {
		input += len(r.Messages[i].Content)
	}
	return &sessions.Usage{Input: input/bytesPerToken + 1, Output: output/bytesPerToken + 1}
}
