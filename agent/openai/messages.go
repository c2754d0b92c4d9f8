package openai

import (
	"encoding/json"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent/wire"
	"dragoman/sessions"
)

// message is a message with the data that providers attach. The library's type
// has no place for them, and its MarshalJSON encodes each message twice.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content,omitempty"` // *string or parts
	*extras        // may be nil
	Calls   []call `json:"tool_calls,omitempty"`
	CallID  string `json:"tool_call_id,omitempty"`
}

// call is a tool call in a request, with what the provider attached to it and
// wants back.
type call struct {
	openai.ToolCall
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// encodeMessages returns the messages of a request as JSON.
func encodeMessages(in *wire.Input) ([]byte, error) {
	const around = 48 // a role and the names of fields
	r := in.Request
	size := len(r.System) + around
	for i := range r.Messages {
		size += len(r.Messages[i].Content) + around
	}
	b := append(make([]byte, 0, size), '[')
	if r.System != "" {
		b = appendText(b, openai.ChatMessageRoleSystem, r.System)
	}
	for i := range r.Messages {
		m := encodeMessage(in, &r.Messages[i])
		if len(b) > 1 {
			b = append(b, ',')
		}
		if m.isText() {
			b = appendText(b, m.Role, r.Messages[i].Content)
			continue
		}
		encoded, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		b = append(b, encoded...)
	}
	return append(b, ']'), nil
}

// appendText appends a message that is a text of its role.
func appendText(b []byte, role, text string) []byte {
	b = append(b, `{"role":`...)
	b = wire.AppendString(b, role)
	b = append(b, `,"content":`...)
	b = wire.AppendString(b, text)
	return append(b, '}')
}

// isText reports whether m has a text and nothing else.
func (m *message) isText() bool {
	_, text := m.Content.(*string)
	return text && m.extras == nil && len(m.Calls) == 0 && m.CallID == ""
}

// encodeMessage returns m as servers read it. It leaves out the name: servers
// limit its characters, and the content already names the sender where the
// model should know.
func encodeMessage(in *wire.Input, m *sessions.Message) message {
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
		out.Content = pictureParts(m.Content, shown)
	case m.Content != "":
		out.Content = &m.Content
	}
	if m.Role == sessions.RoleAssistant {
		out.attach(attachedTo(in, m))
	}
	return out
}

// pictureParts returns a text and its pictures as parts. The text already has a
// line for each picture.
func pictureParts(text string, shown []wire.Picture) []openai.ChatMessagePart {
	out := make([]openai.ChatMessagePart, 0, 1+len(shown))
	out = append(out, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: text})
	for _, p := range shown {
		out = append(out, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: p.DataURL()}})
	}
	return out
}

// extras are the fields that providers add to a message.
type extras struct {
	ReasoningContent string            `json:"reasoning_content,omitempty"` // DeepSeek, Kimi, llama.cpp
	Reasoning        string            `json:"reasoning,omitempty"`         // vLLM, Ollama, OpenRouter
	Details          []json.RawMessage `json:"reasoning_details,omitempty"` // OpenRouter
	Extra            json.RawMessage   `json:"extra_content,omitempty"`     // Gemini
}

// attached is the stored form of what a provider attached to a message, under
// the provider's field names.
type attached struct {
	extras
	// Calls are the extra_content of the calls by position; null if a call has
	// none.
	Calls []json.RawMessage `json:"calls,omitempty"`
}

// skipSignature is Gemini's documented signature for calls that another model
// made.
var skipSignature = json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`)

// attachedTo returns the data to send with m: what this provider attached, and
// what it requires on calls of other models. It returns nil if there is none.
func attachedTo(in *wire.Input, m *sessions.Message) *attached {
	t := &in.Traits
	owes := len(m.ToolCalls) > 0 && (t.NeedsReasoning || t.NeedsSignatures)
	var raw json.RawMessage
	if !in.OmitAttached {
		raw = m.AttachedBy(in.To)
	}
	if raw == nil && !owes {
		return nil
	}
	out := &attached{}
	if raw != nil && json.Unmarshal(raw, out) != nil {
		*out = attached{} // it was not written by this package
	}
	if owes && t.NeedsReasoning && out.ReasoningContent == "" {
		out.ReasoningContent = " " // the field must be present and not empty
	}
	if owes && t.NeedsSignatures && len(out.Calls) == 0 {
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
