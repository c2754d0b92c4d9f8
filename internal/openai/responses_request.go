package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"dragoman/channels"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// responsesRequest is a request for a response.
type responsesRequest struct {
	asked
	room     string // the conversation that it belongs to; "": none
	previous string // previous_response_id
	keep     bool   // store it, so that another one can follow
	echo     echo
	// find finds an earlier response of the same person.
	find func(id string) (stored, error)
	// own is where the request's messages begin, after those of earlier responses.
	own int
}

// echo is what a response repeats of its request.
type echo struct {
	Instructions *string         `json:"instructions"`
	MaxTokens    *int            `json:"max_output_tokens"`
	Metadata     json.RawMessage `json:"metadata"`
	Parallel     bool            `json:"parallel_tool_calls"`
	Previous     *string         `json:"previous_response_id"`
	Temperature  *float32        `json:"temperature"`
	TopP         *float32        `json:"top_p"`
	Choice       json.RawMessage `json:"tool_choice"`
	Tools        json.RawMessage `json:"tools"`
}

// readResponses reads the body of a request, apart from earlier responses.
func (s *server) readResponses(r *http.Request, o *object) *responsesRequest {
	a := &responsesRequest{asked: asked{s: s, id: newID()}, keep: true}
	a.find = func(id string) (stored, error) { return s.find(r.Context(), caller(r).ID, id) }
	a.takeModel(o)
	a.takeWishes(o)
	a.takeLimit(o, "max_output_tokens")
	if reasoning := o.object("reasoning"); reasoning != nil {
		a.takeEffort(reasoning, "effort")
	}
	if text := o.object("text"); text != nil {
		a.takeFormat(text.object("format"), func(f *object) *object { return f })
	}
	background := false
	if o.take("background", &background) && background {
		o.refuse("background", "background is not supported here.")
	}
	if o.has("prompt") {
		o.refuse("prompt", "prompt is not supported here: send instructions and input.")
	}
	if instructions := o.text("instructions"); strings.TrimSpace(instructions) != "" {
		a.system = append(a.system, instructions)
	}
	o.take("store", &a.keep)
	a.previous = o.text("previous_response_id")
	a.takeTools(o, func(t *object) *object { return t })
	a.takeChoice(o, func(c *object) string { return c.text("name") })
	a.room = roomOf(r, o)
	if a.room != "" && a.previous != "" {
		o.refuse("previous_response_id", "previous_response_id and conversation cannot both be given.")
	}
	a.takeEcho(o)
	return a
}

// takeInput reads the messages.
func (a *responsesRequest) takeInput(o *object) {
	switch {
	case !o.has("input"):
		o.refuse("input", "input is missing.")
	case o.isText("input"):
		a.addUser("input", o.text("input"), nil)
	default:
		for _, item := range o.objects("input", maxMessages) {
			a.addItem(item)
		}
	}
	a.checkMessages(o, "input")
	if a.room != "" && o.first.no == nil {
		a.fitsRoom(o)
	}
}

func (a *responsesRequest) takeEcho(o *object) {
	raw := func(field, otherwise string) json.RawMessage {
		if o.has(field) {
			return o.fields[field]
		}
		return json.RawMessage(otherwise)
	}
	given := func(field string) *string {
		if !o.isText(field) {
			return nil
		}
		return new(o.text(field))
	}
	a.echo = echo{
		Instructions: given("instructions"), Previous: given("previous_response_id"), Parallel: !a.given.OneCall,
		Metadata: raw("metadata", "{}"), Choice: raw("tool_choice", `"auto"`), Tools: raw("tools", "[]"),
		Temperature: a.given.Temperature, TopP: a.given.TopP,
	}
	if a.given.MaxTokens > 0 {
		a.echo.MaxTokens = new(a.given.MaxTokens)
	}
}

// addItem reads one item of the input.
func (a *responsesRequest) addItem(item *object) {
	switch kind := item.text("type"); kind {
	case "", "message":
		a.addMessage(item)
	case "function_call":
		c := sessions.ToolCall{ID: item.text("call_id"), Name: item.text("name"), Arguments: arguments(item)}
		if c.ID == "" || c.Name == "" {
			item.refuse("call_id", item.at+" needs a call_id and a name.")
		}
		a.addCall(item.at, c)
	case "function_call_output":
		id := item.text("call_id")
		if id == "" {
			item.refuse("call_id", item.place("call_id")+" is missing.")
		}
		text, _ := a.parts(item, "output", false)
		a.add(item.at, sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Content: text})
	case "reasoning":
		// Whatever a client sends back of thoughts, no model of ours made it.
	case "item_reference":
		a.refer(item)
	default:
		item.refuse("type", fmt.Sprintf("%s: items of this type are not taken here.", item.place("type")))
	}
}

// refer reads what a client refers to instead of sending it again: what was said in a
// response that is stored.
func (a *responsesRequest) refer(item *object) {
	id, found := strings.CutPrefix(item.text("id"), messagePrefix)
	if !found {
		item.refuse("id", item.place("id")+" is not the id of a message. Send store: false, and the items themselves.")
		return
	}
	one, err := a.find(responsePrefix + id)
	no, refused := errors.AsType[*respond.Refusal](err)
	switch {
	case refused && no.Status == http.StatusNotFound:
		item.refuse("id", item.place("id")+" names nothing that is stored. Send the item itself.")
	case err != nil:
		item.refuseWith(a.s.refusalFor(err))
	default:
		a.add(item.at, sessions.Message{Role: sessions.RoleAssistant, Content: one.Answer.Text})
	}
}

// addCall adds a call to the assistant's message before it, or makes one.
func (a *responsesRequest) addCall(place string, c sessions.ToolCall) {
	if n := len(a.messages); n > a.own && a.messages[n-1].Role == sessions.RoleAssistant {
		a.messages[n-1].ToolCalls = append(a.messages[n-1].ToolCalls, c)
		return
	}
	a.add(place, sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{c}})
}

func (a *responsesRequest) addMessage(item *object) {
	switch role := item.text("role"); role {
	case "system", "developer":
		if text, _ := a.parts(item, "content", false); strings.TrimSpace(text) != "" {
			a.system = append(a.system, text)
		}
	case "user":
		text, pictures := a.parts(item, "content", true)
		a.addUser(item.at, text, pictures)
	case "assistant":
		text, _ := a.parts(item, "content", false)
		a.add(item.at, sessions.Message{Role: sessions.RoleAssistant, Content: text})
	default:
		item.refuse("role", item.place("role")+" must be system, developer, user or assistant.")
	}
}

// parts reads a text, or a list of parts.
func (a *responsesRequest) parts(item *object, field string, mayShow bool) (text string, pictures []channels.Attachment) {
	if !item.has(field) {
		item.refuse(field, item.place(field)+" is missing.")
		return "", nil
	}
	if item.isText(field) {
		return item.text(field), nil
	}
	var texts []string
	for _, part := range item.objects(field, maxMessages) {
		switch kind := part.text("type"); {
		case kind == "input_text", kind == "output_text", kind == "text":
			texts = append(texts, part.text("text"))
		case kind == "refusal":
			texts = append(texts, part.text("refusal"))
		case kind == "input_image" && mayShow && part.has("image_url"):
			if p, ok := a.picture(part, "image_url"); ok {
				pictures = append(pictures, p)
			}
		default:
			part.refuse("type", fmt.Sprintf("%s: parts of this type are not taken here.", part.place("type")))
			return "", nil
		}
	}
	if len(pictures) > channels.MaxAttachments {
		item.refuse(field, fmt.Sprintf("At most %d pictures fit into one message.", channels.MaxAttachments))
	}
	return strings.Join(texts, "\n\n"), pictures
}
