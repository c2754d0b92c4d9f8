package openai

import (
	"encoding/base64"
	"encoding/json"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent/wire"
	"dragoman/sessions"
)

// message is a message with what providers attach to it. The library's type has
// no place for that, and its method writes each message twice.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content,omitempty"` // a text or parts
	*extras        // nil: nothing
	Calls   []call `json:"tool_calls,omitempty"`
	CallID  string `json:"tool_call_id,omitempty"`
}

// call is a call with what a provider attached to it.
type call struct {
	openai.ToolCall
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// messages are those of a request, as servers read them.
func messages(in *wire.Input) []message {
	r := in.Request
	out := make([]message, 0, 1+len(r.Messages))
	if r.System != "" {
		out = append(out, message{Role: openai.ChatMessageRoleSystem, Content: &r.System})
	}
	for i := range r.Messages {
		out = append(out, messageOf(in, &r.Messages[i]))
	}
	return out
}

// messageOf is m as servers read it. Name is left out: servers limit its
// characters, and what the model should know of the sender is in the content.
func messageOf(in *wire.Input, m *sessions.Message) message {
	out := message{Role: string(m.Role), CallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, call{ToolCall: openai.ToolCall{
			ID:       c.ID,
			Type:     openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: c.Name, Arguments: c.Arguments},
		}})
	}
	var shown []wire.Picture
	if in.Pictures != nil {
		shown = in.Pictures(m)
	}
	switch {
	case len(shown) > 0:
		out.Content = parts(m.Content, shown)
	case m.Content != "":
		out.Content = &m.Content
	}
	if m.Role == sessions.RoleAssistant {
		out.attach(attachedTo(in, m))
	}
	return out
}

// parts are a text and the pictures that came with it. The line that names
// each picture is in the text already.
func parts(text string, shown []wire.Picture) []openai.ChatMessagePart {
	out := make([]openai.ChatMessagePart, 0, 1+len(shown))
	out = append(out, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: text})
	for _, p := range shown {
		url := "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
		out = append(out, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: url}})
	}
	return out
}

// extras are what providers put beside a message as a whole.
type extras struct {
	ReasoningContent string            `json:"reasoning_content,omitempty"` // DeepSeek, Kimi, llama.cpp
	Reasoning        string            `json:"reasoning,omitempty"`         // vLLM, Ollama, OpenRouter
	Details          []json.RawMessage `json:"reasoning_details,omitempty"` // OpenRouter
	Extra            json.RawMessage   `json:"extra_content,omitempty"`     // Gemini
}

// attached is what a provider put beside a message of chat completions, under
// the names that it has there.
type attached struct {
	extras
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

// attach puts a, which may be nil, into m.
func (m *message) attach(a *attached) {
	if a == nil {
		return
	}
	m.extras = &a.extras
	for i := range min(len(m.Calls), len(a.Calls)) {
		if string(a.Calls[i]) != "null" {
			m.Calls[i].Extra = a.Calls[i]
		}
	}
}
