package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"dragoman/agent"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// event is what is read of one. Fields that are not here can be anything.
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
	// Content and Stop are those of a server that does not stream.
	Content []json.RawMessage `json:"content"`
	Stop    string            `json:"stop_reason"`
}

// content is a block of the answer as it comes.
type content struct {
	kind      string // text, tool_use, thinking or another
	start     json.RawMessage
	text      strings.Builder // or what is thought, or the input of a call
	signature strings.Builder
	call      sessions.ToolCall
}

type answer struct {
	wire.Draft
	blocks  []*content
	byIndex map[int]*content
	written bool // text was shown
	stop    string
	tokens  sessions.Usage // Input has those of the cache
}

// Decode begins an answer to in.
func (Messages) Decode(in *wire.Input, onDelta func(agent.Delta)) wire.Answer {
	return &answer{Draft: wire.Draft{In: in, OnDelta: onDelta}, byIndex: make(map[int]*content)}
}

// Add takes one event.
func (a *answer) Add(name string, data []byte) (progress bool, err error) {
	var e event
	unread := json.Unmarshal(data, &e) != nil
	e.Type = cmp.Or(e.Type, name)
	take := events[e.Type]
	switch {
	case e.Type == "error":
		failure := e.Error
		if len(failure) == 0 || failure[0] != '{' {
			failure = data
		}
		return false, &wire.Failure{Data: bytes.Clone(failure)}
	case unread && (take != nil || e.Type == ""):
		return false, wire.ErrBadEvent
	case take == nil:
		return false, nil // a ping, or what is new
	}
	return take(a, &e)
}

var events = map[string]func(a *answer, e *event) (bool, error){
	"message_start": func(a *answer, e *event) (bool, error) {
		var m struct {
			Usage json.RawMessage `json:"usage"`
		}
		if json.Unmarshal(e.Message, &m) == nil {
			a.usage(m.Usage)
		}
		return false, nil
	},
	"content_block_start": func(a *answer, e *event) (bool, error) { return a.begin(e.Index, e.Block) },
	"content_block_delta": func(a *answer, e *event) (bool, error) { return a.delta(e), nil },
	"message_delta": func(a *answer, e *event) (bool, error) {
		a.usage(e.Usage)
		a.stop = cmp.Or(e.Delta.Stop, a.stop)
		a.Over = a.Over || a.stop != ""
		return false, nil
	},
	"message_stop": func(a *answer, _ *event) (bool, error) {
		a.Over = true
		return false, nil
	},
	"message": func(a *answer, e *event) (bool, error) {
		for i, b := range e.Content {
			if _, err := a.begin(i, b); err != nil {
				return false, err
			}
		}
		a.usage(e.Usage)
		a.stop, a.Over = e.Stop, true
		return len(e.Content) > 0, nil
	},
}

// begin takes a block that begins. Servers that do not stream it have all of it
// in there.
func (a *answer) begin(index int, data json.RawMessage) (bool, error) {
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
	c := &content{kind: b.Type, start: bytes.Clone(data)}
	switch b.Type {
	case "text":
		if n := len(a.blocks); a.written && a.blocks[n-1].kind != "text" {
			b.Text = "\n\n" + b.Text
		}
	case "tool_use":
		c.call = sessions.ToolCall{ID: b.ID, Name: b.Name}
		if s := string(b.Input); s != "" && s != "null" && strings.Join(strings.Fields(s), "") != "{}" {
			c.text.WriteString(s)
		}
	case "thinking", "redacted_thinking":
		a.Thought = true
	}
	a.blocks = append(a.blocks, c)
	a.byIndex[index] = c
	return a.say(c, b.Text) || a.think(c, b.Thinking) || b.Name != "", nil
}

// delta takes a piece of a block. One of a block that never began is text or a
// thought all the same.
func (a *answer) delta(e *event) bool {
	c, d := a.byIndex[e.Index], &e.Delta
	if c == nil {
		kind := map[string]string{"thinking_delta": "thinking", "input_json_delta": "tool_use"}[d.Type]
		data, _ := json.Marshal(map[string]string{"type": cmp.Or(kind, "text")}) // strings
		if _, err := a.begin(e.Index, data); err != nil {
			return false
		}
		c = a.byIndex[e.Index]
	}
	switch {
	case d.Type == "text_delta":
		return a.say(c, d.Text)
	case d.Type == "thinking_delta":
		return a.think(c, d.Thinking)
	case d.Type == "signature_delta":
		c.signature.WriteString(d.Signature)
	case d.Type == "input_json_delta" && c.kind == "tool_use":
		c.text.WriteString(d.JSON)
		return d.JSON != ""
	}
	return false
}

func (a *answer) say(c *content, text string) bool {
	text = wire.Clean(text)
	if text == "" || c.kind != "text" {
		return false
	}
	a.written = true
	c.text.WriteString(text)
	return a.Show(text, "")
}

// think keeps a thought as it comes, because it is signed.
func (a *answer) think(c *content, text string) bool {
	if text == "" || c.kind != "thinking" {
		return false
	}
	a.Thought = true
	c.text.WriteString(text)
	a.Show("", wire.Clean(text))
	return true
}

// usage takes the counts that are there: the last ones of each count.
func (a *answer) usage(data json.RawMessage) {
	u, _ := wire.ReadUsage(data)
	if u == nil {
		return
	}
	if u.Input > 0 {
		a.tokens.Input, a.tokens.Cached = u.Input, u.Cached
	}
	a.tokens.Output = cmp.Or(u.Output, a.tokens.Output)
}

// raw is a block as it is sent back. A thought and its signature come in pieces,
// and every other field as the block began.
func (c *content) raw() string {
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
		if w.Encode(text) == nil { // a string can be written
			fields[name] = bytes.TrimSpace(out.Bytes())
		}
	}
	put("thinking", c.text.String())
	if s := c.signature.String(); s != "" {
		put("signature", s)
	}
	if len(fields["signature"]) == 0 || string(fields["signature"]) == `""` {
		return "" // cut, or of a server that signs nothing and wants nothing back
	}
	return string(bytes.Join(wire.Object(fields), nil))
}

// reasons are the names that finishes have elsewhere.
var reasons = map[string]string{
	"": "stop", "end_turn": "stop", "stop_sequence": "stop", "tool_use": "stop", "pause_turn": "stop",
	"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter",
}

// Fill makes out the response that the answer came to.
func (a *answer) Fill(out *agent.Response) {
	for _, c := range a.blocks {
		switch c.kind {
		case "text":
			a.Text(c.text.String(), "")
		case "tool_use":
			a.Call(c.call.ID, c.call.Name, c.text.String())
		default:
			a.Raw(c.raw())
		}
	}
	if a.tokens.Input+a.tokens.Output > 0 {
		a.Usage = &a.tokens
	}
	a.Finish, a.Refused = cmp.Or(reasons[a.stop], a.stop), a.stop == "refusal"
	a.Draft.Fill(out, a.Attached(func() string { return before(a.In) }))
}
