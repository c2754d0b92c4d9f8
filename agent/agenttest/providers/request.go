package providers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"dragoman/agent/window"
)

// The roles of a [Message]. In the responses API thoughts are separate items.
const (
	system    = "system"
	user      = "user"
	assistant = "assistant"
	tool      = "tool"
	reasoning = "reasoning"
)

// Request is one completion request, decoded the same way for all APIs.
type Request struct {
	Path   string // below the base URL: /chat/completions
	Header http.Header
	Body   []byte
	// Fields are the fields of the body, unchanged.
	Fields   map[string]json.RawMessage
	Messages []Message
	Tools    []string // names
	Stream   bool
	// Refused is the server's answer if the request broke a rule, otherwise "".
	Refused string

	// turns are the messages of Anthropic's API, unchanged.
	turns []turn
}

// Message is one message of a [Request], or one item in the responses API.
type Message struct {
	Role     string
	Text     string
	Pictures int
	Calls    []Call
	// Answers is the id of the call whose result this is.
	Answers string
	// Reasoning is its reasoning_content; nil: there was none.
	Reasoning *string
	// Seal is the signature or the encrypted content of thoughts.
	Seal string
	// ID is the id of an item of the responses API.
	ID string
}

// Call is a tool call. A server sets its ID and Seal.
type Call struct {
	ID        string
	Name      string
	Arguments string // JSON
	// Seal is the thought_signature that Gemini puts beside it.
	Seal string
	// item is its item id in the responses API.
	item string
}

// turn is one message of Anthropic's API.
type turn struct {
	role   string
	blocks []block
}

// block is one part of a message's content in Anthropic's API. Which fields count
// depends on Type.
type block struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	Data      string `json:"data"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	ToolUseID string `json:"tool_use_id"`
	// Input and Content are decoded where needed.
	Input   json.RawMessage `json:"input"`
	Content json.RawMessage `json:"content"`
}

// text returns a string field of the body, or "".
func (r *Request) text(field string) string {
	var s string
	_ = json.Unmarshal(r.Fields[field], &s)
	return s
}

// has reports whether the body sets a field to something.
func (r *Request) has(field string) bool {
	raw, found := r.Fields[field]
	return found && string(raw) != "null"
}

// All returns the text of every message, one after another.
func (r *Request) All() string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Text + "\n")
	}
	return b.String()
}

// Last returns the newest user message with text, and its index; -1 if there is none.
func (r *Request) Last() (string, int) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == user && (r.Messages[i].Text != "" || r.Messages[i].Pictures > 0) {
			return r.Messages[i].Text, i
		}
	}
	return "", -1
}

// parse decodes a body by the API of its path.
func parse(path string, h http.Header, body []byte) (*Request, error) {
	r := &Request{Path: path, Header: h, Body: body}
	if err := json.Unmarshal(body, &r.Fields); err != nil {
		return r, err
	}
	_ = json.Unmarshal(r.Fields["stream"], &r.Stream)
	var tools []struct {
		Name     string
		Function struct{ Name string }
	}
	if err := decode(r.Fields["tools"], &tools); err != nil {
		return r, err
	}
	for _, t := range tools {
		r.Tools = append(r.Tools, t.Name+t.Function.Name)
	}
	var err error
	switch path {
	case chatPath:
		err = r.parseChat()
	case responsesPath:
		err = r.parseResponses()
	default:
		err = r.parseMessages()
	}
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Role == user {
			m.Text = window.Unstamped(m.Text) // otherwise every test would have to know the time
		}
	}
	return r, err
}

// decode decodes a field that may be missing.
func decode(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, into)
}

func (r *Request) parseChat() error {
	var list []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		Reasoning  *string         `json:"reasoning_content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID           string `json:"id"`
			Function     struct{ Name, Arguments string }
			ExtraContent struct {
				Google struct {
					ThoughtSignature string `json:"thought_signature"`
				}
			} `json:"extra_content"`
		} `json:"tool_calls"`
	}
	if err := decode(r.Fields["messages"], &list); err != nil {
		return err
	}
	for _, m := range list {
		out := Message{Role: m.Role, Reasoning: m.Reasoning, Answers: m.ToolCallID}
		var err error
		if out.Text, out.Pictures, err = content(m.Content); err != nil {
			return err
		}
		for _, c := range m.ToolCalls {
			out.Calls = append(out.Calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments, Seal: c.ExtraContent.Google.ThoughtSignature})
		}
		r.Messages = append(r.Messages, out)
	}
	return nil
}

// content decodes a string, a list of parts, or null, and returns its text and the
// number of pictures.
func content(raw json.RawMessage) (text string, pictures int, err error) {
	if len(raw) == 0 || raw[0] == '"' || string(raw) == "null" {
		return text, 0, decode(raw, &text)
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", 0, err
	}
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			text += p.Text
		case "image_url", "input_image", "image":
			pictures++
		default:
			return "", 0, fmt.Errorf("a content part is of type %q", p.Type)
		}
	}
	return text, pictures, nil
}

func (r *Request) parseResponses() error {
	if s := r.text("instructions"); s != "" {
		r.Messages = append(r.Messages, Message{Role: system, Text: s})
	}
	var list []struct {
		Type, Role, ID, Name, Arguments string
		Content                         json.RawMessage
		CallID                          string `json:"call_id"`
		Output                          json.RawMessage
		Encrypted                       string `json:"encrypted_content"`
	}
	if raw := r.Fields["input"]; len(raw) > 0 && raw[0] == '"' {
		r.Messages = append(r.Messages, Message{Role: user, Text: r.text("input")})
	} else if err := decode(raw, &list); err != nil {
		return err
	}
	for _, item := range list {
		out := Message{ID: item.ID}
		var err error
		switch item.Type {
		case "", "message":
			out.Role = item.Role
			out.Text, out.Pictures, err = content(item.Content)
		case "function_call":
			out.Role, out.Calls = assistant, []Call{{ID: item.CallID, Name: item.Name, Arguments: item.Arguments, item: item.ID}}
		case "function_call_output":
			out.Role, out.Answers = tool, item.CallID
			out.Text, out.Pictures, err = content(item.Output)
		case "reasoning":
			out.Role, out.Seal = reasoning, item.Encrypted
		default:
			err = fmt.Errorf("an input item is of type %q", item.Type)
		}
		if err != nil {
			return err
		}
		r.Messages = append(r.Messages, out)
	}
	return nil
}

// parseMessages splits messages of Anthropic's API, so that a tool result and the
// user's text after it are two messages.
func (r *Request) parseMessages() error {
	var list []struct {
		Role    string
		Content json.RawMessage
	}
	if err := decode(r.Fields["messages"], &list); err != nil {
		return err
	}
	if s, _, err := content(r.Fields["system"]); err != nil {
		return err
	} else if s != "" {
		r.Messages = append(r.Messages, Message{Role: system, Text: s})
	}
	for _, m := range list {
		t := turn{role: m.Role}
		if len(m.Content) > 0 && m.Content[0] == '"' {
			t.blocks = []block{{Type: "text"}}
			if err := json.Unmarshal(m.Content, &t.blocks[0].Text); err != nil {
				return err
			}
		} else if err := decode(m.Content, &t.blocks); err != nil {
			return err
		}
		r.turns = append(r.turns, t)
		said := Message{Role: m.Role}
		for _, b := range t.blocks {
			switch b.Type {
			case "text":
				said.Text += b.Text
			case "image":
				said.Pictures++
			case "thinking", "redacted_thinking":
				said.Seal += b.Signature + b.Data
			case "tool_use":
				said.Calls = append(said.Calls, Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
			case "tool_result":
				text, pictures, err := content(b.Content)
				if err != nil {
					return err
				}
				r.Messages = append(r.Messages, Message{Role: tool, Answers: b.ToolUseID, Text: text, Pictures: pictures})
			default:
				return fmt.Errorf("a content block is of type %q", b.Type)
			}
		}
		if said.Text != "" || said.Pictures > 0 || len(said.Calls) > 0 {
			r.Messages = append(r.Messages, said)
		}
	}
	return nil
}
