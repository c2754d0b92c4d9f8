package openai

import (
	"bytes"
	"encoding/json"
	"net"
	"slices"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent"
	"dragoman/agent/wire"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// Responses is the codec of OpenAI's responses API. It stores nothing at the
// server: each request has the whole conversation and the encrypted reasoning.
//
// Requests use go-openai's types. By hand we write only what these types lose:
// the place and the bytes of reasoning items (see [wire.Layout]), and that
// tools are not strict, because the API's default is strict.
type Responses struct{}

var _ wire.Codec = Responses{}

// Path implements [wire.Codec].
func (Responses) Path() string { return "/responses" }

// minOutputTokens is the smallest max_output_tokens that OpenAI accepts.
const minOutputTokens = 16

// Encode implements [wire.Codec].
func (Responses) Encode(in *wire.Input) (net.Buffers, error) {
	r, t := in.Request, &in.Traits
	out := openai.CreateResponseRequest{
		Model:          in.To.Model,
		Instructions:   r.System,
		PromptCacheKey: r.Key,
		Store:          new(bool),
		Stream:         true,
		Input:          []any{},
	}
	if !nonReasoning.Matches(in.To.Model) {
		out.Include = []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent}
	}
	if n := max(r.MaxTokens, 0); n > 0 {
		out.MaxOutputTokens = max(n, minOutputTokens)
	} else {
		out.MaxOutputTokens = max(t.NeedsMaxTokens, 0)
	}
	if !t.NoTemperature {
		out.Temperature = r.Temperature
		out.TopP = r.TopP
	}
	if effort := t.Effort(r.Effort); effort != "" {
		out.Reasoning = &openai.ResponseReasoning{Effort: effort}
	}
	if len(r.Format) > 0 && t.JSONSchema {
		out.Text = &openai.ResponseTextConfig{Format: &openai.ResponseTextFormat{Type: "json_schema", Name: "answer", Schema: r.Format}}
	}
	if !t.NoTools {
		out.Tools = responseTools(r.Tools)
	}
	if r.MustCall && len(out.Tools) > 0 {
		out.ToolChoice = "required"
	}
	if r.OneCall && len(out.Tools) > 0 {
		out.ParallelToolCalls = new(bool)
	}
	head, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	fields := make(map[string]json.RawMessage)
	if err := json.Unmarshal(head, &fields); err != nil {
		return nil, err
	}
	if fields["input"], err = responseInput(in); err != nil {
		return nil, err
	}
	return wire.Object(fields), nil
}

// nonReasoning matches models that refuse to include reasoning: "Encrypted
// content is not supported with this model".
var nonReasoning = lazily.Compile(`(?:^|/)(?:gpt-3\.5|gpt-4|chatgpt-4o)[^/]*$`)

func responseTools(specs []agent.Spec) (out []openai.ResponseTool) {
	for i := range specs {
		f := openai.FunctionDefinition{Name: specs[i].Name, Description: specs[i].Description, Parameters: specs[i].Parameters}
		tool := openai.NewResponseFunctionTool(f)
		tool.Parameters["strict"] = false
		out = append(out, tool)
	}
	return out
}

// itemList is the input of a request: items as JSON, separated by commas.
type itemList struct {
	bytes.Buffer
	err error
}

func (l *itemList) raw(data string) {
	if l.Len() > 0 {
		l.WriteByte(',')
	}
	l.WriteString(data)
}

func (l *itemList) add(item any) {
	data, err := json.Marshal(item)
	if err != nil {
		l.err = err
		return
	}
	l.raw(string(data))
}

func responseInput(in *wire.Input) (json.RawMessage, error) {
	var list itemList
	for i := range in.Request.Messages {
		switch m := &in.Request.Messages[i]; m.Role {
		case sessions.RoleAssistant:
			list.assistant(in, m)
		case sessions.RoleTool:
			list.add(openai.ResponseFunctionCallOutput{
				Type: "function_call_output", CallID: m.ToolCallID, Output: m.Content,
			})
		default:
			list.user(in, m)
		}
	}
	return slices.Concat([]byte{'['}, list.Bytes(), []byte{']'}), list.err
}

func (l *itemList) user(in *wire.Input, m *sessions.Message) {
	content := []any{openai.ResponseInputText{Type: "input_text", Text: m.Content}}
	if in.Pictures != nil {
		for _, p := range in.Pictures(m) {
			content = append(content, openai.ResponseInputImage{Type: "input_image", Detail: "auto", ImageURL: p.DataURL()})
		}
	}
	l.add(openai.ResponseInputMessage{Type: "message", Role: "user", Content: content})
}

// assistant adds the items of one answer. It holds attached data back until the
// next text or call: the API refuses reasoning that nothing follows.
func (l *itemList) assistant(in *wire.Input, m *sessions.Message) {
	var laid *wire.Layout
	if !in.OmitAttached {
		laid = wire.ReadLayout(m, in.To)
	}
	var held []string
	flush := func() {
		for _, data := range held {
			l.raw(data)
		}
		held = nil
	}
	laid.Visit(m, &wire.Visitor{
		Raw: func(data string) { held = append(held, data) },
		Text: func(text, phase string) {
			flush()
			l.add(openai.ResponseInputMessage{
				Type: "message", Role: "assistant", Phase: phase,
				Content: []openai.ResponseOutputContent{{Type: "output_text", Text: text}},
			})
		},
		Call: func(c *sessions.ToolCall) {
			flush()
			l.add(openai.ResponseOutputItem{
				Type: "function_call", CallID: c.ID, Name: c.Name, Arguments: c.Arguments,
			})
		},
	})
}
