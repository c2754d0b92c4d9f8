package agenttest

import (
	"encoding/json"
	"net/http"
	"strings"

	"dragoman/agent/window"
)

// Request is a decoded completion request.
type Request struct {
	N            int // counts from 0
	Header       http.Header
	Body         []byte
	Model        string
	Messages     []RequestMessage
	Tools        []string // names
	Stream       bool
	IncludeUsage bool
}

// RequestMessage is one message of a [Request].
type RequestMessage struct {
	Role       string
	Content    string // the text of all parts, without time stamps
	ToolCallID string
	ToolCalls  int
}

// wireRequest is the part of a chat completion request that tests look at.
// Everything else in the request is ignored.
type wireRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role       string            `json:"role"`
		Content    json.RawMessage   `json:"content"`
		ToolCallID string            `json:"tool_call_id"`
		ToolCalls  []json.RawMessage `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func parseRequest(h http.Header, body []byte) (*Request, error) {
	req := &Request{Header: h, Body: body}
	var wire wireRequest
	if err := json.Unmarshal(body, &wire); err != nil {
		return req, err
	}
	req.Model = wire.Model
	req.Stream = wire.Stream
	req.IncludeUsage = wire.StreamOptions.IncludeUsage
	for _, m := range wire.Messages {
		text := contentText(m.Content)
		if m.Role == "user" {
			text = window.Unstamped(text) // otherwise every test would have to know the time
		}
		req.Messages = append(req.Messages, RequestMessage{m.Role, text, m.ToolCallID, len(m.ToolCalls)})
	}
	for _, t := range wire.Tools {
		req.Tools = append(req.Tools, t.Function.Name)
	}
	return req, nil
}

// contentText reads a content that is a string, a list of parts, or null.
func contentText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var s string
	if raw[0] == '"' {
		_ = json.Unmarshal(raw, &s) // already known to be valid
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// LastUser returns the text of the newest user message.
func (r *Request) LastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Content
		}
	}
	return ""
}

// Input returns the user messages to answer: those since the assistant's last text
// (tool calls do not count).
func (r *Request) Input() []string {
	start := 0
	for i, m := range r.Messages {
		if m.Role == "assistant" && m.ToolCalls == 0 {
			start = i + 1
		}
	}
	var out []string
	for _, m := range r.Messages[start:] {
		if m.Role == "user" {
			out = append(out, m.Content)
		}
	}
	return out
}

// HasTool reports whether the request offers a tool of that name.
func (r *Request) HasTool(name string) bool {
	for _, t := range r.Tools {
		if t == name {
			return true
		}
	}
	return false
}

// Marks returns the tokens of the form #N in s, in order.
func Marks(s string) []string {
	var out []string
	for {
		i := strings.IndexByte(s, '#')
		if i < 0 {
			return out
		}
		s = s[i:]
		end := 1
		for end < len(s) && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		if end > 1 {
			out = append(out, s[:end])
		}
		s = s[end:]
	}
}

// echoText returns "echo: ", the marks of the earlier input messages that the newest
// one does not repeat, and the newest one.
func echoText(r *Request) string {
	input := r.Input()
	if len(input) == 0 {
		return "echo: " + r.LastUser()
	}
	newest := input[len(input)-1]
	seen := make(map[string]bool)
	for _, m := range Marks(newest) {
		seen[m] = true
	}
	var b strings.Builder
	b.WriteString("echo: ")
	for _, text := range input[:len(input)-1] {
		for _, m := range Marks(text) {
			if !seen[m] {
				seen[m] = true
				b.WriteString(m + " ")
			}
		}
	}
	b.WriteString(newest)
	return b.String()
}
