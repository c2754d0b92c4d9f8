package openai

import (
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/sessions"
)

// Why an answer ended, in OpenAI's words.
const (
	finishStop   = "stop"
	finishCalls  = "tool_calls"
	finishLength = "length"
	finishFilter = "content_filter"
)

// outcome is an answer, as it is sent and kept. On disk: it only gains fields.
type outcome struct {
	ID       string              `json:"id"` // without the prefix of an API
	At       time.Time           `json:"at"`
	Text     string              `json:"text,omitempty"`
	Thoughts string              `json:"thoughts,omitempty"`
	Calls    []sessions.ToolCall `json:"calls,omitempty"`
	Finish   string              `json:"finish"`
	Usage    sessions.Usage      `json:"usage"`
}

// outcomeOf is the answer that a turn has ended with. added are its messages without
// those of the request.
func outcomeOf(id string, at time.Time, res *agent.Result, added []sessions.Message, thoughts string) outcome {
	out := outcome{ID: id, At: at, Thoughts: thoughts, Calls: res.Calls, Finish: finishStop}
	var texts []string
	for i, m := range added {
		if m.Usage != nil {
			out.Usage.Add(*m.Usage)
		}
		if m.Role != sessions.RoleAssistant || m.Content == "" {
			continue
		}
		// In place of an empty answer, the loop ends with words of ours for a person. They
		// are kept only where they say why the turn was ended.
		last := i == len(added)-1
		if m.Synthetic && last && (res.Finish == finishLength || !strings.HasSuffix(res.Text, m.Content)) {
			continue
		}
		texts = append(texts, m.Content)
	}
	out.Text = strings.Join(texts, "\n\n")
	switch {
	case len(res.Calls) > 0:
		out.Finish = finishCalls
	case res.Finish == finishLength, res.Finish == finishFilter:
		out.Finish = res.Finish
	}
	return out
}
