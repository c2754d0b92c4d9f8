package openai

import (
	"encoding/base64"
	"encoding/json"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent/wire"
	"dragoman/sessions"
)

// noOutput is the result of a tool that has none. Strict servers refuse
// messages without content, and go-openai leaves empty content out.
const noOutput = "(no output)"

// head is the beginning of a request's body: the model's name, which the
// library would judge whoever serves it, and the messages.
func head(in *wire.Input) ([]byte, error) {
	name, err := json.Marshal(in.To.Model)
	if err != nil {
		return nil, err
	}
	r := in.Request
	size := len(r.System) + len(name) + 128
	for i := range r.Messages {
		size += len(r.Messages[i].Content) + 64
	}
	out := make([]byte, 0, size+size/8)
	out = append(append(append(out, `{"model":`...), name...), `,"messages":[`...)
	if r.System != "" {
		if out, err = appendMessage(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System}, nil); err != nil {
			return nil, err
		}
	}
	for i := range r.Messages {
		m, also := message(in, &r.Messages[i])
		if out, err = appendMessage(out, m, also); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// appendMessage adds m to the list that out ends with, with the fields that
// the library has no place for. The library's method is called itself:
// encoding/json would look over all that it wrote again.
func appendMessage(out []byte, m openai.ChatCompletionMessage, also *attached) ([]byte, error) {
	calls := m.ToolCalls
	if also != nil && len(also.Calls) > 0 {
		m.ToolCalls = nil // written with what is attached to them
	}
	b, err := m.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if also != nil {
		if b, err = also.into(b, calls); err != nil {
			return nil, err
		}
	}
	if out[len(out)-1] != '[' {
		out = append(out, ',')
	}
	return append(out, b...), nil
}

// message is m as servers read it, and what the library has no place for; nil
// if that is nothing. Name is left out: servers limit its characters, and what
// the model should know of the sender stands in the content.
func message(in *wire.Input, m *sessions.Message) (openai.ChatCompletionMessage, *attached) {
	out := openai.ChatCompletionMessage{Role: string(m.Role), ToolCallID: m.ToolCallID, Content: m.Content}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
			ID:       c.ID,
			Type:     openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: c.Name, Arguments: wire.Arguments(c.Arguments)},
		})
	}
	if in.Pictures != nil {
		if shown := in.Pictures(m); len(shown) > 0 {
			out.Content, out.MultiContent = "", parts(m.Content, shown)
		}
	}
	if out.Content == "" && out.MultiContent == nil && len(out.ToolCalls) == 0 {
		out.Content = wire.NoContent
		if m.Role == sessions.RoleTool {
			out.Content = noOutput
		}
	}
	if m.Role != sessions.RoleAssistant {
		return out, nil
	}
	also := attachedTo(in, m)
	if also != nil {
		out.ReasoningContent = also.ReasoningContent
	}
	return out, also
}

// parts are a text and the pictures that came with it. The line that names
// each picture stands in the text already.
func parts(text string, shown []wire.Picture) []openai.ChatMessagePart {
	out := make([]openai.ChatMessagePart, 0, 1+len(shown))
	out = append(out, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: text})
	for _, p := range shown {
		url := "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
		out = append(out, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: url}})
	}
	return out
}

// attached is what a provider put beside a message of chat completions, under
// the names that it has there.
type attached struct {
	ReasoningContent string            `json:"reasoning_content,omitempty"` // DeepSeek, Kimi, llama.cpp
	Reasoning        string            `json:"reasoning,omitempty"`         // vLLM, Ollama, OpenRouter
	Details          []json.RawMessage `json:"reasoning_details,omitempty"` // OpenRouter
	Extra            json.RawMessage   `json:"extra_content,omitempty"`     // Gemini, of the message
	// Calls are the extra_content of the message's calls by position; null
	// where a call has none.
	Calls []json.RawMessage `json:"calls,omitempty"`
}

// skipSignature is the signature that Gemini documents for calls which another
// model made.
var skipSignature = json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`)

// attachedTo is what goes back with m: what this provider attached, and what it
// wants with calls that came from elsewhere. Nil: nothing.
func attachedTo(in *wire.Input, m *sessions.Message) *attached {
	t := &in.Traits
	owes := len(m.ToolCalls) > 0 && (t.OwnThoughts || t.Signatures)
	var raw json.RawMessage
	if !in.Bare {
		raw = m.AttachedBy(in.To)
	}
	if raw == nil && !owes {
		return nil
	}
	out := &attached{}
	if raw != nil && json.Unmarshal(raw, out) != nil {
		*out = attached{} // it was written by something else
	}
	if owes && t.OwnThoughts && out.ReasoningContent == "" {
		out.ReasoningContent = " " // it must be there, and not empty
	}
	if owes && t.Signatures && len(out.Calls) == 0 {
		out.Calls = []json.RawMessage{skipSignature}
	}
	return out
}

// into puts a into a message, but for ReasoningContent, which the library
// writes. calls are those of the message.
func (a *attached) into(message []byte, calls []openai.ToolCall) ([]byte, error) {
	also := struct {
		Reasoning string            `json:"reasoning,omitempty"`
		Details   []json.RawMessage `json:"reasoning_details,omitempty"`
		Extra     json.RawMessage   `json:"extra_content,omitempty"`
		Calls     []attachedCall    `json:"tool_calls,omitempty"`
	}{Reasoning: a.Reasoning, Details: a.Details, Extra: a.Extra}
	for i := range calls {
		if len(a.Calls) == 0 {
			break
		}
		call := attachedCall{ToolCall: calls[i]}
		if i < len(a.Calls) && string(a.Calls[i]) != "null" {
			call.Extra = a.Calls[i]
		}
		also.Calls = append(also.Calls, call)
	}
	b, err := json.Marshal(also)
	if err != nil || len(b) == len("{}") {
		return message, err
	}
	b[0] = ','
	return append(message[:len(message)-1], b...), nil
}

// attachedCall is a call with what a provider attached to it.
type attachedCall struct {
	openai.ToolCall
	Extra json.RawMessage `json:"extra_content,omitempty"`
}
