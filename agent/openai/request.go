package openai

import (
	"bytes"
	"encoding/json"
	"slices"

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

// request is r in go-openai's types, without what [Model.parts] writes: the
// library encodes messages and tools twice, the tools anew for every request,
// and it refuses some parameters for names of models that begin like those of
// certain others, whoever serves them. [call.body] puts these parts in.
func (m *Model) request(r agent.Request) *openai.ChatCompletionRequest {
	out := &openai.ChatCompletionRequest{Stream: true}
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

// parts are the beginning of a request's body, which holds the model's name
// and the messages, and its tools. shown counts the pictures in it, which are
// at most most.
func (m *Model) parts(r agent.Request, most int) (head, tools []byte, shown int, err error) {
	if tools, err = m.tools(r.Tools); err != nil {
		return nil, nil, 0, err
	}
	list := make([]wireMessage, 0, len(r.Messages)+1)
	if r.System != "" {
		list = append(list, wireMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	first, seen := 0, 0
	if most > 0 {
		first = firstImage(pictures(r.Messages), most)
	}
	for i := range r.Messages {
		out := message(&r.Messages[i])
		if most > 0 {
			files := picturesOf(&r.Messages[i])
			hidden := min(max(first-seen, 0), len(files))
			seen += len(files)
			if files = files[hidden:]; len(files) > 0 {
				content := m.see(r.Messages[i].Content, files)
				out.Content = content
				if parts, some := content.([]part); some {
					shown += len(parts) - 1
				}
			}
		}
		list = append(list, out)
	}
	head, err = json.Marshal(struct {
		Model    string        `json:"model"`
		Messages []wireMessage `json:"messages"`
	}{m.o.Name, list})
	return head, tools, shown, err
}

// wireMessage is a message as servers read it.
type wireMessage struct {
	Role string `json:"role"`
	// Content is a string, or a []part where there are pictures.
	Content    any               `json:"content,omitempty"`
	ToolCalls  []openai.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
}

// message leaves Name out: servers limit its characters, and what the model
// should know of the sender stands in the content.
func message(m *sessions.Message) wireMessage {
	out := wireMessage{Role: string(m.Role), ToolCallID: m.ToolCallID}
	if m.Content != "" {
		out.Content = m.Content
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
			ID:       c.ID,
			Type:     openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: c.Name, Arguments: arguments(c.Arguments)},
		})
	}
	if out.Content == nil && len(out.ToolCalls) == 0 {
		out.Content = noContent
		if m.Role == sessions.RoleTool {
			out.Content = noOutput
		}
	}
	return out
}

// written are tools and the JSON they were written as.
type written struct {
	specs []agent.Spec
	json  []byte
}

// tools writes specs, or finds them written: they are almost always those of
// the request before, and comparing them costs far less.
func (m *Model) tools(specs []agent.Spec) ([]byte, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	if last := m.written.Load(); last != nil && slices.EqualFunc(last.specs, specs, sameSpec) {
		return last.json, nil
	}
	list := make([]openai.Tool, 0, len(specs))
	for i := range specs {
		t := &specs[i]
		f := &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		if len(t.Parameters) == 0 {
			f.Parameters = noParameters
		}
		list = append(list, openai.Tool{Type: openai.ToolTypeFunction, Function: f})
	}
	b, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	own := slices.Clone(specs)
	for i := range own {
		own[i].Parameters = bytes.Clone(own[i].Parameters)
	}
	m.written.Store(&written{own, b})
	return b, nil
}

func sameSpec(a, b agent.Spec) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
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
