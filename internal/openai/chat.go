package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"dragoman/internal/respond"
	"dragoman/sessions"
)

// sessionHeader names the conversation that a request belongs to.
const sessionHeader = "X-Session-Key"

// completion is an answer, or a chunk of one.
type completion struct {
	ID      string    `json:"id"`
	Object  string    `json:"object"`
	Created int64     `json:"created"`
	Model   string    `json:"model"`
	Choices []choice  `json:"choices"`
	Usage   *usage    `json:"usage,omitempty"`
	Own     *ownChunk `json:"dragoman,omitempty"`
}

// choice is the one answer, whole or in pieces.
type choice struct {
	Index   int      `json:"index"`
	Message *message `json:"message,omitempty"`
	Delta   *message `json:"delta,omitempty"`
	Finish  *string  `json:"finish_reason"`
}

// message is what the assistant says.
type message struct {
	Role string `json:"role,omitempty"`
	// Content is a *string in a whole answer, where it may be null.
	Content   any    `json:"content,omitempty"`
	Reasoning string `json:"reasoning_content,omitempty"`
	Calls     []call `json:"tool_calls,omitempty"`
}

// call is a tool call. Index is only in pieces.
type call struct {
	Index    *int     `json:"index,omitempty"`
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// function is what a call calls.
type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// usage is the tokens of all model calls of a turn.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// ownChunk is in chunks without choices, for clients that ask for them.
type ownChunk struct {
	Doing string `json:"doing"`
}

func usageOf(u sessions.Usage) *usage {
	out := &usage{Prompt: u.Input, Completion: u.Output, Total: u.Input + u.Output}
	out.Details.Cached = u.Cached
	return out
}

func callsOf(list []sessions.ToolCall, indexed bool) (calls []call) {
	for i, c := range list {
		one := call{ID: c.ID, Type: "function", Function: function{c.Name, arrangedArguments(c.Arguments)}}
		if indexed {
			one.Index = new(i)
		}
		calls = append(calls, one)
	}
	return calls
}

// arrangedArguments is never empty: clients parse it.
func arrangedArguments(args string) string {
	if strings.TrimSpace(args) == "" {
		return "{}"
	}
	return args
}

// chat answers POST /v1/chat/completions.
func (s *server) chat(w http.ResponseWriter, r *http.Request) error {
	free, err := s.enter(r)
	if err != nil {
		return err
	}
	defer free()
	body, o, err := readBody(w, r)
	if err != nil {
		return err
	}
	a, err := s.readChat(r, o)
	if err != nil {
		return err
	}
	defer a.release()
	s.logUnknown(o)
	made := completion{ID: a.id, Model: a.model}
	var to sink = &chatWhole{w: w, made: made}
	if a.stream {
		to = &chatStream{stream: stream{w: w}, chunk: made, usage: a.usage, doing: r.Header.Get("X-Dragoman-Progress") == "1"}
	}
	if a.room != "" {
		return s.converse(w, r, body, &a.asked, a.room, to)
	}
	return s.answer(w, r, body, &a.asked, to)
}

// chatWhole writes a completion at once.
type chatWhole struct {
	w    http.ResponseWriter
	made completion
}

func (*chatWhole) more(progress) {}

func (*chatWhole) beat() {}

func (c *chatWhole) failed(no *respond.Refusal) { respond.Refuse(c.w, no) }

func (c *chatWhole) done(out *outcome) {
	m := &message{Role: "assistant", Reasoning: out.Thoughts, Calls: callsOf(out.Calls, false), Content: (*string)(nil)}
	if out.Text != "" || len(out.Calls) == 0 {
		m.Content = &out.Text
	}
	c.made.ID = "chatcmpl-" + out.ID
	c.made.Object = "chat.completion"
	c.made.Created = out.At.Unix()
	c.made.Choices = []choice{{Message: m, Finish: &out.Finish}}
	c.made.Usage = usageOf(out.Usage)
	respond.JSON(c.w, http.StatusOK, c.made)
}

// chatStream writes a completion in chunks. The header is sent with the first of them, so
// that a turn that fails before has a status.
type chatStream struct {
	stream
	chunk completion // what all chunks have
	usage bool       // the last chunk tells it
	doing bool       // the client wants to know what the turn does

	begun    bool
	text     delta
	thoughts delta
	note     string
}

func (c *chatStream) send(m *message, finish *string) {
	c.chunk.Choices = []choice{{Delta: m, Finish: finish}}
	c.event("", c.chunk)
}

func (c *chatStream) begin(id string, at time.Time) {
	if c.begun {
		return
	}
	c.begun = true
	c.chunk.ID = "chatcmpl-" + id
	c.chunk.Object = "chat.completion.chunk"
	c.chunk.Created = at.Unix()
	c.send(&message{Role: "assistant", Content: ""}, nil)
}

func (c *chatStream) more(p progress) {
	thoughts, text := c.thoughts.next(p.thoughts), c.text.next(p.text)
	if thoughts == "" && text == "" && (!c.doing || p.note == "" || p.note == c.note) {
		return
	}
	c.begin(p.id, p.at)
	if thoughts != "" {
		c.send(&message{Reasoning: thoughts}, nil)
	}
	if text != "" {
		c.send(&message{Content: text}, nil)
	}
	if c.doing && p.note != "" && p.note != c.note {
		c.note = p.note
		c.chunk.Own = &ownChunk{p.note}
		c.chunk.Choices = []choice{}
		c.event("", c.chunk)
		c.chunk.Own = nil
	}
}

func (c *chatStream) beat() { c.comment() }

func (c *chatStream) failed(no *respond.Refusal) {
	if !c.started {
		respond.Refuse(c.w, no)
		return
	}
	c.event("", respond.Body(no))
	c.raw("data: [DONE]\n\n")
}

func (c *chatStream) done(out *outcome) {
	c.begin(out.ID, out.At)
	if more := c.thoughts.end(out.Thoughts); more != "" {
		c.send(&message{Reasoning: more}, nil)
	}
	if more := c.text.end(out.Text); more != "" {
		c.send(&message{Content: more}, nil)
	}
	if len(out.Calls) > 0 {
		c.send(&message{Calls: callsOf(out.Calls, true)}, nil)
	}
	c.send(&message{}, &out.Finish)
	if c.usage {
		c.chunk.Choices = []choice{}
		c.chunk.Usage = usageOf(out.Usage)
		c.event("", c.chunk)
	}
	c.raw("data: [DONE]\n\n")
}

// stream writes server-sent events.
type stream struct {
	w       http.ResponseWriter
	started bool
}

// writeWithin bounds one write, so that a client that does not read is cut off.
const writeWithin = 30 * time.Second

func (s *stream) raw(text string) {
	control := http.NewResponseController(s.w)
	if !s.started {
		s.started = true
		h := s.w.Header()
		respond.Private(h)
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("X-Accel-Buffering", "no") // a proxy in front must not hold events back
	}
	_ = control.SetWriteDeadline(time.Now().Add(writeWithin)) // if unsupported, the server's own limits apply
	_, _ = s.w.Write([]byte(text))                            // the request's context says that the client is gone
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{}) // the next request of this connection may come much later
}

// event writes an event, without a name if that is "".
func (s *stream) event(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte(`{"error":{"message":"This part cannot be encoded.","type":"server_error","param":null,"code":"internal_error"}}`)
	}
	head := ""
	if name != "" {
		head = "event: " + name + "\n"
	}
	s.raw(head + "data: " + string(data) + "\n\n")
}

// comment shows that the connection lives.
func (s *stream) comment() { s.raw(": still here\n\n") }

// logUnknown names fields that requests have and nobody here knows, each once.
func (s *server) logUnknown(o *object) {
	names := slices.DeleteFunc(o.unknown(), func(name string) bool {
		if len(name) > 60 || slices.Contains(ignoredFields, name) {
			return true
		}
		_, said := s.said.LoadOrStore(name, true)
		return said
	})
	if len(names) > 0 {
		s.Logger.Info("requests of OpenAI's API have fields that are ignored", "fields", names)
	}
}

// ignoredFields are known and say nothing that matters here.
var ignoredFields = []string{"user", "store", "metadata", "service_tier", "safety_identifier", "prompt_cache_key", "verbosity", "logit_bias", "include", "truncation", "max_tool_calls"}
