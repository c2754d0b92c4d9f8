package tools

import (
	"context"
	"errors"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/sessions"
)

// Tasks bounds the tasks of the tool delegate.
type Tasks struct {
	Model               string // "": the one that answers
	MaxSteps, MaxTokens int
	Timeout             time.Duration
}

// maxTaskName is how much of a task's name people see, in bytes.
const maxTaskName = 40

// delegateArgs are the arguments of delegate.
type delegateArgs struct {
	Task  string `json:"task" jsonschema:"All that the helper needs to know"`
	Name  string `json:"name,omitempty" jsonschema:"Two or three words, for people"`
	Tools words  `json:"tools,omitempty" jsonschema:"Names of yours. Default: those that read"`
}

var _ = builtin(func(n Needs) agent.Tool { return Delegate(n.Tasks) })

// Delegate is the tool delegate: it has a task done by a loop of its own. t is nil where that
// is not configured; then the tool is off.
func Delegate(t *Tasks) agent.Tool {
	spec := agent.Spec{
		Name:        "delegate",
		Description: "Let a helper do a task of many steps, like reading several pages. It sees nothing of this conversation. Calls in one answer run side by side.",
		Parallel:    true,
		Repeatable:  true, // its journal knows what was done
		Effect:      agent.EffectOwn,
		Origin:      sessions.OriginModel, // and what the helper has read
		Keep:        -10,
	}
	if t == nil {
		spec.Off = "it costs tokens that nobody sees: set agent.delegate.enabled"
		t = &Tasks{}
	}
	spec.Patience = 2*t.Timeout + time.Minute // it may wait for those that run
	return newTool(spec, func(ctx context.Context, c agent.Call, args delegateArgs) (string, error) {
		if c.Delegate == nil {
			return "", errors.New("a helper has none of its own")
		}
		name := sessions.OneLine(args.Name, maxTaskName)
		if name == "" {
			name = sessions.OneLine(args.Task, maxTaskName)
		}
		if strings.TrimSpace(args.Task) == "" {
			return "", errors.New("the task is empty")
		}
		return c.Delegate(ctx, agent.Task{
			Name: name, Text: args.Task, Tools: args.Tools,
			Model: t.Model, MaxSteps: t.MaxSteps, MaxTokens: t.MaxTokens, Timeout: t.Timeout,
		})
	})
}
