package openai

import (
	"encoding/json"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent"
	"dragoman/sessions"
)

// Strict servers refuse messages without content, and go-openai leaves empty
// content out, so that something has to stand there.
const (
	noOutput  = "(no output)"
	noContent = "(empty)"
)

// nearlyZero stands for a temperature of 0, which go-openai leaves out. It is
// low enough to always pick the likeliest token and high enough that servers
// which divide by it in 32 bits do not overflow.
const nearlyZero = 1e-4

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// request is r in go-openai's types. The model's name is left empty: the
// library refuses some parameters for names that begin like those of certain
// models, whoever serves them. [call.Do] puts the name in.
func (m *Model) request(r agent.Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{
		Messages: make([]openai.ChatCompletionMessage, 0, len(r.Messages)+1),
	}
	if r.System != "" {
		out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	for i := range r.Messages {
		out.Messages = append(out.Messages, message(&r.Messages[i]))
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		f := &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		if len(t.Parameters) == 0 {
			f.Parameters = noParameters
		}
		out.Tools = append(out.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: f})
	}
	if m.official {
		out.MaxCompletionTokens = max(r.MaxTokens, 0)
	} else {
		//lint:ignore SA1019 Servers other than OpenAI know only this one.
		out.MaxTokens = max(r.MaxTokens, 0)
	}
	if r.Temperature != nil {
		out.Temperature = max(*r.Temperature, nearlyZero)
	}
	if !m.o.NoUsage {
		out.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	return out
}

// message leaves Name out: servers limit its characters, and what the model
// should know of the sender stands in the content.
func message(m *sessions.Message) openai.ChatCompletionMessage {
	out := openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
			ID:       c.ID,
			Type:     openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: c.Name, Arguments: arguments(c.Arguments)},
		})
	}
	if out.Content == "" && len(out.ToolCalls) == 0 {
		out.Content = noContent
		if m.Role == sessions.RoleTool {
			out.Content = noOutput
		}
	}
	return out
}

// arguments is s if it is a JSON object, as servers that parse the history
// demand, else an object that shows the model what it had written.
func arguments(s string) string {
	if s == "" {
		return "{}"
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &object) == nil && object != nil {
		return s
	}
	b, err := json.Marshal(map[string]string{"invalid_arguments": s})
	if err != nil {
		return "{}"
	}
	return string(b)
}
