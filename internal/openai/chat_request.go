package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// chatRequest is a request for a chat completion.
type chatRequest struct {
	asked
	usage bool   // stream_options.include_usage
	room  string // the conversation that it belongs to; "": none
}

// refusedFields are fields of chat completions whose wish would be ignored in silence, and
// the result would be wrong.
var refusedFields = []string{"functions", "function_call", "audio", "web_search_options", "prediction"}

// readChat reads the body of a request.
func (s *server) readChat(r *http.Request, o *object) (*chatRequest, error) {
	a := &chatRequest{asked: asked{s: s, id: newID()}}
	a.takeModel(o)
	a.takeWishes(o)
	a.takeSampling(o)
	a.takeEffort(o, "reasoning_effort")
	a.takeLimit(o, "max_tokens")
	a.takeLimit(o, "max_completion_tokens")
	if options := o.object("stream_options"); options != nil {
		options.take("include_usage", &a.usage)
	}
	for _, field := range refusedFields {
		if o.has(field) {
			o.refuse(field, field+" is not supported here.")
		}
	}
	if !o.has("messages") {
		o.refuse("messages", "messages is missing.")
	}
	for _, m := range o.objects("messages", maxMessages) {
		a.addMessage(m)
	}
	a.takeFormat(o.object("response_format"), func(f *object) *object { return f.object("json_schema") })
	a.takeTools(o, func(t *object) *object { return t.object("function") })
	a.takeChoice(o, func(c *object) string {
		f := c.object("function")
		if f == nil {
			return ""
		}
		return f.text("name")
	})
	a.room = roomOf(r, o)
	a.checkMessages(o, "messages")
	if a.room != "" && o.first.no == nil {
		a.fitsRoom(o)
	}
	if err := o.problem(); err != nil {
		a.release()
		return nil, err
	}
	return a, nil
}

// takeSampling reads what only chat completions have.
func (a *chatRequest) takeSampling(o *object) {
	g := &a.given
	g.PresencePenalty = o.number("presence_penalty", -2, 2)
	g.FrequencyPenalty = o.number("frequency_penalty", -2, 2)
	seed := 0
	if o.take("seed", &seed) {
		g.Seed = &seed
	}
	switch {
	case !o.has("stop"):
	case o.isText("stop"):
		g.Stop = []string{o.text("stop")}
	default:
		o.take("stop", &g.Stop)
	}
	if len(g.Stop) > maxStops {
		o.refuse("stop", fmt.Sprintf("stop may have %d texts.", maxStops))
	}
	n := 1
	if o.take("n", &n) && n != 1 {
		o.refuse("n", "n must be 1: there is one answer.")
	}
	logprobs := false
	if o.take("logprobs", &logprobs) && logprobs {
		o.refuse("logprobs", "logprobs is not supported here.")
	}
	top := 0
	if o.take("top_logprobs", &top) && top > 0 {
		o.refuse("top_logprobs", "top_logprobs is not supported here.")
	}
	var modalities []string
	if o.take("modalities", &modalities) && (len(modalities) != 1 || modalities[0] != "text") {
		o.refuse("modalities", "modalities must be [\"text\"].")
	}
}

// addMessage reads one of the messages.
func (a *chatRequest) addMessage(m *object) {
	switch role := m.text("role"); role {
	case "system", "developer":
		if text, _ := a.content(m, false); strings.TrimSpace(text) != "" {
			a.system = append(a.system, text)
		}
	case "user":
		text, pictures := a.content(m, true)
		if !m.has("content") {
			m.refuse("content", m.place("content")+" is missing.")
		}
		a.addUser(m.at, text, pictures)
	case "assistant":
		text, _ := a.content(m, false)
		calls := a.calls(m)
		if m.has("function_call") {
			m.refuse("function_call", "function_call is not supported here: use tool_calls.")
		}
		if !m.has("content") && len(calls) == 0 && !m.has("refusal") {
			m.refuse("content", m.place("content")+" is missing.")
		}
		a.add(m.at, sessions.Message{Role: sessions.RoleAssistant, Content: text, ToolCalls: calls})
	case "tool":
		text, _ := a.content(m, false)
		id := m.text("tool_call_id")
		if id == "" {
			m.refuse("tool_call_id", m.place("tool_call_id")+" is missing.")
		}
		a.add(m.at, sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Content: text})
	default:
		m.refuse("role", m.place("role")+" must be system, developer, user, assistant or tool.")
	}
}

// content reads the content of a message: a string, parts, or nothing.
func (a *chatRequest) content(m *object, mayShow bool) (text string, pictures []channels.Attachment) {
	if !m.has("content") {
		return "", nil
	}
	if m.isText("content") {
		return m.text("content"), nil
	}
	var texts []string
	for _, part := range m.objects("content", maxMessages) {
		switch kind := part.text("type"); {
		case kind == "text":
			texts = append(texts, part.text("text"))
		case kind == "refusal":
			texts = append(texts, part.text("refusal"))
		case kind == "image_url" && mayShow:
			shown := part.object("image_url")
			if shown == nil {
				part.refuse("image_url", part.place("image_url")+" is missing.")
				return "", nil
			}
			if p, ok := a.picture(shown, "url"); ok {
				pictures = append(pictures, p)
			}
		default:
			part.refuse("type", fmt.Sprintf("%s: parts of this type are not taken here.", part.place("type")))
			return "", nil
		}
	}
	if len(pictures) > channels.MaxAttachments {
		m.refuse("content", fmt.Sprintf("At most %d pictures fit into one message.", channels.MaxAttachments))
	}
	return strings.Join(texts, "\n\n"), pictures
}

// calls reads the tool calls of an assistant's message.
func (a *chatRequest) calls(m *object) (calls []sessions.ToolCall) {
	for _, c := range m.objects("tool_calls", maxTools) {
		f := c.object("function")
		if f == nil {
			c.refuse("function", c.place("function")+" is missing.")
			return nil
		}
		call := sessions.ToolCall{ID: c.text("id"), Name: f.text("name"), Arguments: arguments(f)}
		if call.ID == "" {
			c.refuse("id", c.place("id")+" is missing.")
		}
		if call.Name == "" {
			f.refuse("name", f.place("name")+" is missing.")
		}
		calls = append(calls, call)
	}
	return calls
}

// arguments reads the arguments of a call: a string that holds JSON. Some clients send
// the object itself.
func arguments(f *object) string {
	if f.has("arguments") && !f.isText("arguments") {
		var v json.RawMessage
		f.take("arguments", &v)
		return string(v)
	}
	return f.text("arguments")
}
