package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// Responses is OpenAI's responses API, without anything stored at the server:
// each request has the whole conversation and the encrypted reasoning in it.
//
// Requests are go-openai's types. Only what these types lose is written here:
// the place of reasoning items and their bytes (see [wire.Laid]), and that a
// tool is not strict, which the API takes it to be unless it is told.
type Responses struct{}

var _ wire.Codec = Responses{}

// Path follows the base URL.
func (Responses) Path() string { return "/responses" }

// leastOutput is the smallest max_output_tokens that OpenAI takes.
const leastOutput = 16

// Encode writes the body of a request.
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
	if reasons(in.To.Model) {
		out.Include = []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent}
	}
	if n := max(r.MaxTokens, 0); n > 0 {
		out.MaxOutputTokens = max(n, leastOutput)
	} else {
		out.MaxOutputTokens = max(t.NeedsMaxTokens, 0)
	}
	if !t.NoTemperature {
		out.Temperature = r.Temperature
	}
	if effort := t.Effort(r.Effort); effort != "" {
		out.Reasoning = &openai.ResponseReasoning{Effort: effort}
	}
	if len(r.Format) > 0 && t.Formats {
		out.Text = &openai.ResponseTextConfig{Format: &openai.ResponseTextFormat{Type: "json_schema", Name: "answer", Schema: r.Format}}
	}
	if !t.NoTools {
		out.Tools = responseTools(r.Tools)
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

// plainModels begin the names of those that refuse to include reasoning:
// "Encrypted content is not supported with this model".
var plainModels = []string{"gpt-3.5", "gpt-4", "chatgpt-4o"}

func reasons(model string) bool {
	model = model[strings.LastIndexByte(model, '/')+1:]
	return !slices.ContainsFunc(plainModels, func(p string) bool { return strings.HasPrefix(model, p) })
}

func responseTools(specs []agent.Spec) (out []openai.ResponseTool) {
	for i := range specs {
		f := openai.FunctionDefinition{Name: specs[i].Name, Description: specs[i].Description, Parameters: specs[i].Parameters}
		tool := openai.NewResponseFunctionTool(f)
		tool.Parameters["strict"] = false
		out = append(out, tool)
	}
	return out
}

// itemList is the input of a request: items as JSON, one after the other.
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
			url := "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
			content = append(content, openai.ResponseInputImage{Type: "input_image", Detail: "auto", ImageURL: url})
		}
	}
	l.add(openai.ResponseInputMessage{Type: "message", Role: "user", Content: content})
}

// assistant writes the items of one answer. What was attached is held back
// until the item that it belongs to: the API refuses reasoning after which
// nothing comes.
func (l *itemList) assistant(in *wire.Input, m *sessions.Message) {
	var laid *wire.Laid
	if !in.Bare {
		laid = wire.ReadLaid(m, in.To)
	}
	var held []string
	flush := func() {
		for _, data := range held {
			l.raw(data)
		}
		held = nil
	}
	laid.Lay(m, &wire.Page{
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
