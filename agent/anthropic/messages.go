// Package anthropic is a [wire.Codec] for Anthropic's messages API. The wire is
// written here: the official SDK would add 5.5 MB to the binary.
//
// It promises what the API wants of a conversation that [agent.Request] holds: all
// results of an answer's calls in one message, and thoughts only where they are
// taken (see encoder.thoughts). At most four marks say up to where the prompt is
// worth caching.
//
// Failures: an error in the stream is a [wire.Failure]; an event that cannot be
// read and a stream without an end are errors. It has no goroutines.
package anthropic

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net"
	"slices"
	"strings"

	"dragoman/agent/wire"
	"dragoman/sessions"
)

// Messages is Anthropic's messages API.
type Messages struct{}

var _ wire.Codec = Messages{}

// Path follows the base URL.
func (Messages) Path() string { return "/messages" }

// block is a piece of a message. One that was attached is raw alone.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text,omitempty"`
	Source  *source         `json:"source,omitempty"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Result  string          `json:"tool_use_id,omitempty"`
	Content string          `json:"content,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
	Cache   json.RawMessage `json:"cache_control,omitempty"`

	raw string
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// usualTokens bounds an answer where nothing else does: the API wants to be told.
const usualTokens = 8192

// ephemeral marks the end of a prefix that is worth keeping.
var ephemeral = json.RawMessage(`{"type":"ephemeral"}`)

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       json.RawMessage `json:"cache_control,omitempty"`
}

// Encode writes the body of a request.
func (Messages) Encode(in *wire.Input) (net.Buffers, error) {
	e := newEncoder(in)
	e.messages()
	fields := map[string]json.RawMessage{"stream": json.RawMessage("true"), "messages": e.write()}
	put := func(name string, value any) {
		data, err := json.Marshal(value)
		if err != nil {
			e.err = err
		}
		fields[name] = data
	}
	put("model", in.To.Model)
	if len(e.system) > 0 {
		e.system[len(e.system)-1].Cache = ephemeral
		put("system", e.system)
	}
	if len(e.tools) > 0 {
		e.tools[len(e.tools)-1].Cache = ephemeral
		put("tools", e.tools)
	}
	if e.unused {
		put("tool_choice", map[string]string{"type": "none"})
	}
	r, model := in.Request, modelOf(in.To.Model)
	limit := cmp.Or(max(r.MaxTokens, 0), in.Traits.NeedsMaxTokens, usualTokens)
	effort := r.Effort
	if effort != "none" { // which each model takes in its own way
		effort = in.Traits.Effort(effort)
	}
	thinking, effort := model.think(effort, limit)
	if thinking != nil && thinking.Type == "enabled" && e.thoughtless() {
		thinking = nil
	}
	put("max_tokens", limit)
	if thinking != nil {
		put("thinking", thinking)
	}
	output := make(map[string]any)
	if effort != "" {
		output["effort"] = effort
	}
	if len(r.Format) > 0 && in.Traits.Formats {
		output["format"] = map[string]any{"type": "json_schema", "schema": r.Format}
	}
	if len(output) > 0 {
		put("output_config", output)
	}
	if r.Temperature != nil && !in.Traits.NoTemperature && !model.newer && (thinking == nil || thinking.Type == "disabled") {
		put("temperature", min(max(*r.Temperature, 0), 1))
	}
	if e.err != nil {
		return nil, e.err
	}
	return wire.Object(fields), nil
}

// encoder makes messages out of a transcript.
type encoder struct {
	in     *wire.Input
	system []block
	tools  []tool
	unused bool // tools are named only because the history has calls of them
	list   []message
	sum    *prefix
	err    error
}

// message is one of the API's: of a user or of the assistant.
type message struct {
	role    string
	results int // blocks at the beginning that are results of tools
	blocks  []block
	summed  int // blocks that the prefix has
}

func newEncoder(in *wire.Input) *encoder {
	e := &encoder{in: in}
	if text := in.Request.System; strings.TrimSpace(text) != "" {
		e.system = []block{{Type: "text", Text: text}}
	}
	if !in.Traits.NoTools {
		for i := range in.Request.Tools {
			t := &in.Request.Tools[i]
			e.tools = append(e.tools, tool{Name: t.Name, Description: t.Description, Schema: t.Parameters})
		}
	}
	if len(e.tools) == 0 {
		e.past()
	}
	e.sum = newPrefix(e.system, e.tools)
	return e
}

// past names the tools of calls in the history: a request that has such calls
// and no tools is refused.
func (e *encoder) past() {
	var names []string
	for i := range e.in.Request.Messages {
		for _, c := range e.in.Request.Messages[i].ToolCalls {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		e.tools = append(e.tools, tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
		e.unused = true
	}
}

// messages makes the list, with the marks of what is worth caching: the last
// message before the newest input, which the next turn begins with too, and the
// newest results, which the next step begins with.
func (e *encoder) messages() {
	all := e.in.Request.Messages
	newest := -1
	for i := range all {
		if all[i].Role == sessions.RoleUser {
			newest = i
		}
	}
	cycle := e.cycle()
	for i := range all {
		if i == newest {
			e.mark()
		}
		switch m := &all[i]; m.Role {
		case sessions.RoleAssistant:
			e.assistant(m, i > cycle)
		case sessions.RoleTool:
			e.result(m)
		default:
			e.user(m)
		}
	}
	if n := len(e.list); n > 0 && e.list[n-1].results > 0 {
		e.mark()
	}
}

// cycle is the index of the message that the newest answer began with: the last
// one of a person that does not come with results.
func (e *encoder) cycle() int {
	all := e.in.Request.Messages
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == sessions.RoleUser && (i == 0 || all[i-1].Role == sessions.RoleAssistant) {
			return i
		}
	}
	return -1
}

// mark marks the last block so far that can be.
func (e *encoder) mark() {
	for i := len(e.list) - 1; i >= 0; i-- {
		blocks := e.list[i].blocks
		for j := len(blocks) - 1; j >= 0; j-- {
			if blocks[j].raw == "" {
				blocks[j].Cache = ephemeral
				return
			}
		}
	}
}

// last returns the message that a block of role belongs to: roles alternate.
func (e *encoder) last(role string) *message {
	if n := len(e.list); n == 0 || e.list[n-1].role != role {
		e.list = append(e.list, message{role: role})
	}
	return &e.list[len(e.list)-1]
}

func (e *encoder) result(m *sessions.Message) {
	to := e.last("user")
	to.blocks = append(to.blocks, block{Type: "tool_result", Result: m.ToolCallID, Content: m.Content, IsError: m.Failed})
	to.results++
}

func (e *encoder) user(m *sessions.Message) {
	to := e.last("user")
	if e.in.Pictures != nil {
		for _, p := range e.in.Pictures(m) {
			data := base64.StdEncoding.EncodeToString(p.Data)
			to.blocks = append(to.blocks, block{Type: "image", Source: &source{"base64", p.MediaType, data}})
		}
	}
	to.blocks = append(to.blocks, block{Type: "text", Text: m.Content})
}

func (e *encoder) assistant(m *sessions.Message, current bool) {
	to := e.last("assistant")
	laid := e.thoughts(m, current)
	laid.Lay(m, &wire.Page{
		Raw: func(data string) { to.blocks = append(to.blocks, block{raw: data}) },
		Text: func(text, _ string) {
			if strings.TrimSpace(text) != "" {
				to.blocks = append(to.blocks, block{Type: "text", Text: text})
			}
		},
		Call: func(c *sessions.ToolCall) {
			to.blocks = append(to.blocks, block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: json.RawMessage(c.Arguments)})
		},
	})
}

// thoughts are those of m that the server takes. Since Opus 5.5 it refuses
// thoughts before which anything has changed, as a summary or a tool that is
// gone does (platform.claude.com, build-with-claude/preserved-thinking). So a
// message remembers what it answered. Older models want those of the answer
// that they are at in any case, and do not compare.
func (e *encoder) thoughts(m *sessions.Message, current bool) *wire.Laid {
	if e.in.Bare || m.Attached == nil {
		return nil
	}
	laid := wire.ReadLaid(m, e.in.To)
	if laid == nil || laid.After == e.prefix() || current && !modelOf(e.in.To.Model).bound {
		return laid
	}
	return nil
}

// thoughtless reports whether the answer that goes on has calls without
// thoughts, after which a budget for thoughts is refused.
func (e *encoder) thoughtless() bool {
	for i := len(e.list) - 1; i >= 0; i-- {
		m := &e.list[i]
		switch {
		case m.role == "user" && m.results == 0:
			return false
		case m.role == "assistant" && len(m.blocks) > 0 && m.blocks[0].raw == "":
			return true
		}
	}
	return false
}

// write writes the messages. What was attached is written as it came.
func (e *encoder) write() json.RawMessage {
	out := []byte{'['}
	for i := range e.list {
		if i > 0 {
			out = append(out, ',')
		}
		m := &e.list[i]
		out = append(out, `{"role":"`+m.role+`","content":[`...)
		for j := range m.blocks {
			if j > 0 {
				out = append(out, ',')
			}
			out = append(out, e.one(m.blocks[j])...)
		}
		out = append(out, "]}"...)
	}
	return append(out, ']')
}

func (e *encoder) one(b block) []byte {
	if b.raw != "" {
		return []byte(b.raw)
	}
	data, err := json.Marshal(&b)
	if err != nil {
		e.err = err
	}
	return data
}
