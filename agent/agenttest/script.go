package agenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"dragoman/agent"
	"dragoman/sessions"
)

// Step answers one call of a scripted model. It must respect ctx if it waits. onDelta
// is never nil.
type Step func(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error)

// Say answers with text, streamed word by word.
func Say(text string) Step {
	return func(_ context.Context, _ agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		for _, piece := range Words(text) {
			onDelta(agent.Delta{Text: piece})
		}
		return response(text, "stop"), nil
	}
}

// Call answers with tool calls. Calls without an id get one that is unique in the
// request.
func Call(calls ...sessions.ToolCall) Step {
	return func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		out := response("", "tool_calls")
		for i, c := range calls {
			if c.ID == "" {
				c.ID = fmt.Sprintf("call_%d_%d", len(r.Messages), i)
			}
			out.Message.ToolCalls = append(out.Message.ToolCalls, c)
		}
		return out, nil
	}
}

// Fail answers with an error.
func Fail(err error) Step {
	return func(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) {
		return agent.Response{}, err
	}
}

// Answer computes the response from the request.
func Answer(f func(agent.Request) agent.Response) Step {
	return func(_ context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		out := f(r)
		if out.Message.Content != "" {
			onDelta(agent.Delta{Text: out.Message.Content})
		}
		return out, nil
	}
}

// Hold waits until release is closed or ctx ends, then runs next.
func Hold(release <-chan struct{}, next Step) Step {
	return func(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
		select {
		case <-release:
			return next(ctx, r, onDelta)
		case <-ctx.Done():
			return agent.Response{}, ctx.Err()
		}
	}
}

// Echo answers "echo: " and the newest user message.
func Echo() Step {
	return Answer(func(r agent.Request) agent.Response {
		for _, m := range slices.Backward(r.Messages) {
			if m.Role == sessions.RoleUser {
				return response("echo: "+m.Content, "stop")
			}
		}
		return response("echo: ", "stop")
	})
}

// Scripted is a model that follows a script. Use [Script] to make one.
type Scripted struct {
	mu        sync.Mutex
	name      string
	steps     []Step
	otherwise Step
	requests  []agent.Request
}

var _ agent.Model = (*Scripted)(nil)

// Script returns a model that answers its n-th call with the n-th step.
func Script(steps ...Step) *Scripted {
	return &Scripted{name: "script", steps: slices.Clone(steps)}
}

// Otherwise sets the step for all calls after the last one, and returns s.
func (s *Scripted) Otherwise(step Step) *Scripted {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherwise = step
	return s
}

// Add appends steps.
func (s *Scripted) Add(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Name returns "script".
func (s *Scripted) Name() string { return s.name }

// Complete runs the next step.
func (s *Scripted) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
	if err := ctx.Err(); err != nil {
		return agent.Response{}, err
	}
	if onDelta == nil {
		onDelta = func(agent.Delta) {}
	}
	s.mu.Lock()
	s.requests = append(s.requests, copyRequest(r))
	n := len(s.requests)
	step := s.otherwise
	if len(s.steps) > 0 {
		step, s.steps = s.steps[0], s.steps[1:]
	}
	s.mu.Unlock()
	if step == nil {
		return agent.Response{}, &agent.ModelError{
			Kind: agent.ErrorInvalid,
			Err:  errors.New("agenttest: the script has no step for call " + fmt.Sprint(n)),
		}
	}
	return step(ctx, r, onDelta)
}

// Requests returns copies of all requests so far, in order of arrival.
func (s *Scripted) Requests() []agent.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]agent.Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = copyRequest(r)
	}
	return out
}

// Left returns the number of steps that are left.
func (s *Scripted) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps)
}

// copyRequest copies r, so that it does not change when its maker appends to the same
// slices.
func copyRequest(r agent.Request) agent.Request {
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		r.Messages[i].ToolCalls = slices.Clone(r.Messages[i].ToolCalls)
	}
	r.Tools = slices.Clone(r.Tools)
	return r
}

func response(text, finish string) agent.Response {
	return agent.Response{
		Message: sessions.Message{Role: sessions.RoleAssistant, Content: text, Model: "script"},
		Finish:  finish,
		Usage:   &sessions.Usage{Input: 10, Output: 5},
	}
}

// Words cuts s after each run of spaces, so that the pieces joined are s. It returns
// at most 256 pieces.
func Words(s string) []string {
	const most = 256
	least := len(s) / most
	var out []string
	for len(s) > 0 {
		i := min(least, len(s))
		for i < len(s) && !strings.ContainsRune(" \n", rune(s[i])) {
			i++
		}
		for i < len(s) && strings.ContainsRune(" \n", rune(s[i])) {
			i++
		}
		out = append(out, s[:i])
		s = s[i:]
	}
	return out
}
