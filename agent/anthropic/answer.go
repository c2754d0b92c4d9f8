package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// event holds the fields that we read of an event. Other fields may have any
// value.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message json.RawMessage `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		JSON      string `json:"partial_json"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		Stop      string `json:"stop_reason"`
	} `json:"delta"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
	// Content and Stop are set by a server that does not stream.
	Content []json.RawMessage `json:"content"`
	Stop    string            `json:"stop_reason"`
	Model   json.RawMessage   `json:"model"`
}

// contentBlock is one part of an answer while its pieces arrive.
type contentBlock struct {
	kind      string // text, tool_use, thinking or another
	start     json.RawMessage
	text      wire.Text
	thought   strings.Builder
	signature strings.Builder
	call      sessions.ToolCall // with the input that the block began with
	input     wire.Args
}

// answer collects the events of one streamed answer.
type answer struct {
	wire.Draft
	blocks  []*contentBlock
	byIndex map[int]*contentBlock
	hasText bool           // text was passed on
	tokens  sessions.Usage // Input includes the cached tokens
}

// Decode implements [wire.Codec].
func (Messages) Decode(in *wire.Input, onDelta func(agent.Delta)) wire.Answer {
	return &answer{Draft: wire.Draft{In: in, OnDelta: onDelta}, byIndex: make(map[int]*contentBlock)}
}

func (a *answer) Add(name string, data []byte) (progress bool, err error) {
	var e event
	unreadable := json.Unmarshal(data, &e) != nil
	e.Type = cmp.Or(e.Type, name)
	if unreadable && slices.Contains(knownEvents, e.Type) {
		return false, wire.ErrBadEvent
	}
	switch e.Type { // others are pings, or new kinds of events
	case "error":
		failure := e.Error
		if len(failure) == 0 || failure[0] != '{' {
			failure = data
		}
		return false, &wire.StreamError{Data: bytes.Clone(failure)}
	case "message_start":
		var m struct {
			Model json.RawMessage `json:"model"`
			Usage json.RawMessage `json:"usage"`
		}
		if json.Unmarshal(e.Message, &m) == nil {
			a.Names(m.Model)
			a.addUsage(m.Usage)
		}
	case "content_block_start":
		return a.startBlock(e.Index, e.Block)
	case "content_block_delta":
		return a.addDelta(&e), nil
	case "message_delta":
		a.addUsage(e.Usage)
		a.EndAs(e.Delta.Stop)
		a.Ended = a.Ended || e.Delta.Stop != ""
	case "message_stop":
		a.Ended = true
	case "message":
		if len(a.blocks) > 0 { // the whole message after its pieces
			e.Content = nil
		}
		for i, b := range e.Content {
			if _, err := a.startBlock(i, b); err != nil {
				return false, err
			}
		}
		a.Names(e.Model)
		a.addUsage(e.Usage)
		a.EndAs(e.Stop)
		a.Ended = true
		return len(e.Content) > 0, nil
	}
	return false, nil
}

// knownEvents must be readable.
var knownEvents = []string{"", "message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "message"}

// startBlock begins a block. Servers that do not stream a block send all of it
// here.
func (a *answer) startBlock(index int, data json.RawMessage) (bool, error) {
	var b struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
	}
	if json.Unmarshal(data, &b) != nil || b.Type == "" {
		return false, wire.ErrBadEvent
	}
	c := &contentBlock{kind: b.Type, start: bytes.Clone(data)}
	switch b.Type {
	case "text":
		if n := len(a.blocks); a.hasText && a.blocks[n-1].kind != "text" {
			b.Text = "\n\n" + b.Text
		}
	case "tool_use":
		c.call = sessions.ToolCall{ID: b.ID, Name: b.Name}
		if s := string(b.Input); s != "" && s != "null" && strings.Join(strings.Fields(s), "") != "{}" {
			c.call.Arguments = s
		}
	case "thinking", "redacted_thinking":
		a.Thought = true
	}
	a.blocks = append(a.blocks, c)
	a.byIndex[index] = c
	return a.addText(c, b.Text) || a.addThought(c, b.Thinking) || b.Name != "", nil
}

// addDelta adds a piece to a block. If the block never began, addDelta begins
// it.
func (a *answer) addDelta(e *event) bool {
	c, d := a.byIndex[e.Index], &e.Delta
	if c == nil {
		kind := map[string]string{"thinking_delta": "thinking", "input_json_delta": "tool_use"}[d.Type]
		data, _ := json.Marshal(map[string]string{"type": cmp.Or(kind, "text")}) // strings always encode
		if _, err := a.startBlock(e.Index, data); err != nil {
			return false
		}
		c = a.byIndex[e.Index]
	}
	switch {
	case d.Type == "text_delta":
		return a.addText(c, d.Text)
	case d.Type == "thinking_delta":
		return a.addThought(c, d.Thinking)
	case d.Type == "signature_delta":
		c.signature.WriteString(d.Signature)
	case d.Type == "input_json_delta" && c.kind == "tool_use":
		c.input.Add(d.JSON)
		return d.JSON != ""
	}
	return false
}

func (a *answer) addText(c *contentBlock, text string) bool {
	text = wire.Clean(text)
	if text == "" || c.kind != "text" {
		return false
	}
	a.hasText = true
	a.Emit(c.text.Add(text), "")
	return true
}

// addThought keeps the bytes of a thought, because it is signed.
func (a *answer) addThought(c *contentBlock, text string) bool {
	if text == "" || c.kind != "thinking" {
		return false
	}
	a.Thought = true
	c.thought.WriteString(text)
	a.Emit("", wire.Clean(text))
	return true
}

// addUsage keeps the newest value of each count.
func (a *answer) addUsage(data json.RawMessage) {
	u, _ := wire.ReadUsage(data)
	if u == nil {
		return
	}
	if u.Input > 0 {
		a.tokens.Input, a.tokens.Cached = u.Input, u.Cached
	}
	a.tokens.Output = cmp.Or(u.Output, a.tokens.Output)
}

// raw returns the block as it must be sent back. A thought and its signature
// arrive in pieces; all other fields are those of the block's start.
func (c *contentBlock) raw() string {
	if c.kind != "thinking" {
		return string(c.start)
	}
	fields := make(map[string]json.RawMessage)
	if json.Unmarshal(c.start, &fields) != nil {
		return ""
	}
	put := func(name, text string) {
		var out bytes.Buffer
		w := json.NewEncoder(&out)
		w.SetEscapeHTML(false)
		if w.Encode(text) == nil { // a string always encodes
			fields[name] = bytes.TrimSpace(out.Bytes())
		}
	}
	put("thinking", c.thought.String())
	if s := c.signature.String(); s != "" {
		put("signature", s)
	}
	if len(fields["signature"]) == 0 || string(fields["signature"]) == `""` {
		return "" // cut off, or from a server without signatures, which needs no thoughts back
	}
	return string(bytes.Join(wire.Object(fields), nil))
}

// Check implements [wire.Answer].
func (a *answer) Check() error {
	said := false
	for _, c := range a.blocks {
		a.Emit(c.text.End(), "")
		said = said || c.text.String() != "" || c.kind == "tool_use"
	}
	err := a.Draft.Check()
	if err != nil {
		return err
	}
	return a.CheckEnd(said)
}

func (a *answer) Fill(out *agent.Response) {
	for _, c := range a.blocks {
		switch c.kind {
		case "text":
			a.AddText(c.text.String(), "")
		case "tool_use":
			a.AddCall(c.call.ID, c.call.Name, cmp.Or(c.input.String(), c.call.Arguments))
		default:
			a.AddRaw(c.raw())
		}
	}
	if a.tokens.Input+a.tokens.Output > 0 {
		a.Usage = &a.tokens
	}
	a.Refused = a.Finish == "refusal"
	a.Draft.Fill(out, a.Attached(func() string { return requestSum(a.In) }))
}
