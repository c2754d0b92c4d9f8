// Package anthropic is a [wire.Codec] for Anthropic's messages API. We encode
// the requests ourselves, because the official SDK would add 5.5 MB to the
// binary.
//
// It makes a conversation valid for the API: all results of an answer's calls
// are in one message, and thoughts go back only where the API accepts them (see
// encoder.layoutOf). It marks at most four places up to which the prompt is
// worth caching.
//
// Failures: an error in the stream is a [wire.StreamError]; an unreadable event
// and a stream without an end are errors.
//
// Goroutines: none.
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

// Messages is the codec of Anthropic's messages API.
type Messages struct{}

var _ wire.Codec = Messages{}

// Path implements [wire.Codec].
func (Messages) Path() string { return "/messages" }

// block is a part of a message. An attached block has only raw.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Source    *source         `json:"source,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Cache     json.RawMessage `json:"cache_control,omitempty"`

	raw string
}

// source is a picture inside a message, as base64.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// defaultMaxTokens bounds an answer without another limit, because the API
// requires one.
const defaultMaxTokens = 8192

// ephemeral marks the end of a part that the server shall cache. Requests with the
// same part are cheaper while it is cached.
var ephemeral = json.RawMessage(`{"type":"ephemeral"}`)

// tool describes a tool to the model. Cache is set on the last one only: it marks
// how far the server may cache the request.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       json.RawMessage `json:"cache_control,omitempty"`
}

// Encode implements [wire.Codec].
func (Messages) Encode(in *wire.Input) (net.Buffers, error) {
	e := newEncoder(in)
	e.addMessages()
	fields := map[string]json.RawMessage{"stream": json.RawMessage("true"), "messages": e.encodeMessages()}
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
	if e.pastTools {
		put("tool_choice", map[string]string{"type": "none"})
	}
	r, model := in.Request, modelOf(in.To.Model)
	limit := cmp.Or(max(r.MaxTokens, 0), in.Traits.NeedsMaxTokens, defaultMaxTokens)
	effort := r.Effort
	if effort != "none" { // thinkingFor handles "none" for each model
		effort = in.Traits.Effort(effort)
	}
	thinking, effort := model.thinkingFor(effort, limit)
	if thinking != nil && thinking.Type == "enabled" && e.callsWithoutThoughts() {
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
	if len(r.Format) > 0 && in.Traits.JSONSchema {
		output["format"] = map[string]any{"type": "json_schema", "schema": r.Format}
	}
	if len(output) > 0 {
		put("output_config", output)
	}
	if r.MustCall && len(e.tools) > 0 && !e.pastTools && (thinking == nil || thinking.Type == "disabled") {
		put("tool_choice", map[string]any{"type": "any", "disable_parallel_tool_use": r.OneCall})
	}
	if len(r.Stop) > 0 {
		put("stop_sequences", r.Stop)
	}
	if r.Temperature != nil && !in.Traits.NoTemperature && !model.since47 && (thinking == nil || thinking.Type == "disabled") {
		put("temperature", min(max(*r.Temperature, 0), 1))
	}
	if e.err != nil {
		return nil, e.err
	}
	return wire.Object(fields), nil
}

// encoder turns a transcript into messages of the API.
type encoder struct {
	in        *wire.Input
	system    []block
	tools     []tool
	pastTools bool // tools are only those that the history calls
	list      []message
	hash      *prefixHash
	err       error
}

// message is a message of the API, with the role user or assistant.
type message struct {
	role    string
	results int // the number of leading blocks that are tool results
	blocks  []block
	hashed  int // the number of blocks that the hash includes
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
		e.addPastTools()
	}
	e.hash = newPrefixHash(e.system, e.tools)
	return e
}

// addPastTools declares the tools that the history calls: the API refuses a
// request with such calls and no tools.
func (e *encoder) addPastTools() {
	var names []string
	for i := range e.in.Request.Messages {
		for _, c := range e.in.Request.Messages[i].ToolCalls {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		e.tools = append(e.tools, tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
		e.pastTools = true
	}
}

// addMessages adds all messages. It marks two places for the cache: the end of
// the history before the newest input, where the next turn's prompt begins to
// differ, and the newest results, which the next step's prompt still contains.
func (e *encoder) addMessages() {
	all := e.in.Request.Messages
	newest := -1
	for i := range all {
		if all[i].Role == sessions.RoleUser {
			newest = i
		}
	}
	start := e.turnStart()
	for i := range all {
		if i == newest {
			e.markCache()
		}
		switch m := &all[i]; m.Role {
		case sessions.RoleAssistant:
			e.assistant(m, i > start)
		case sessions.RoleTool:
			e.result(m)
		default:
			e.user(m)
		}
	}
	if n := len(e.list); n > 0 && e.list[n-1].results > 0 {
		e.markCache()
	}
}

// turnStart returns the index of the message that began the current turn: the
// last one of a person that does not follow tool results.
func (e *encoder) turnStart() int {
	all := e.in.Request.Messages
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == sessions.RoleUser && (i == 0 || all[i-1].Role == sessions.RoleAssistant) {
			return i
		}
	}
	return -1
}

// markCache marks the last block that can carry a mark: an attached one cannot.
func (e *encoder) markCache() {
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

// messageFor returns the message for the next block of role. Roles must
// alternate, so blocks of one role share a message.
func (e *encoder) messageFor(role string) *message {
	if n := len(e.list); n == 0 || e.list[n-1].role != role {
		e.list = append(e.list, message{role: role})
	}
	return &e.list[len(e.list)-1]
}

func (e *encoder) result(m *sessions.Message) {
	to := e.messageFor("user")
	to.blocks = append(to.blocks, block{Type: "tool_result", ToolUseID: m.ToolCallID, Content: m.Content, IsError: m.Failed})
	to.results++
}

func (e *encoder) user(m *sessions.Message) {
	to := e.messageFor("user")
	if e.in.Pictures != nil {
		for _, p := range e.in.Pictures(m) {
			data := base64.StdEncoding.EncodeToString(p.Data)
			to.blocks = append(to.blocks, block{Type: "image", Source: &source{"base64", p.MediaType, data}})
		}
	}
	to.blocks = append(to.blocks, block{Type: "text", Text: m.Content})
}

func (e *encoder) assistant(m *sessions.Message, current bool) {
	to := e.messageFor("assistant")
	layout := e.layoutOf(m, current)
	layout.Visit(m, &wire.Visitor{
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

// layoutOf returns the layout of m with its thoughts, or nil if the API would
// refuse them. Newer models (see model.bindsThoughts) refuse thoughts if
// anything before them has changed: a new summary, say, or a removed tool
// (platform.claude.com, build-with-claude/preserved-thinking). So a message
// keeps a hash of the request that it answered. Older models always want the
// thoughts of the current turn, and compare nothing.
func (e *encoder) layoutOf(m *sessions.Message, current bool) *wire.Layout {
	if e.in.OmitAttached || m.Attached == nil {
		return nil
	}
	layout := wire.ReadLayout(m, e.in.To)
	if layout == nil || layout.After == e.prefixSum() || current && !modelOf(e.in.To.Model).bindsThoughts {
		return layout
	}
	return nil
}

// callsWithoutThoughts reports whether an answer of the current turn has calls
// without thoughts. The API then refuses a thinking budget.
func (e *encoder) callsWithoutThoughts() bool {
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

// encodeMessages returns the messages as JSON. Attached blocks keep their
// bytes.
func (e *encoder) encodeMessages() json.RawMessage {
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
			out = append(out, e.encodeBlock(m.blocks[j])...)
		}
		out = append(out, "]}"...)
	}
	return append(out, ']')
}

func (e *encoder) encodeBlock(b block) []byte {
	if b.raw != "" {
		return []byte(b.raw)
	}
	data, err := json.Marshal(&b)
	if err != nil {
		e.err = err
	}
	return data
}
