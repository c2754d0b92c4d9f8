package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

const (
	maxMessages = 10_000 // of a request
	maxTools    = 128
	maxStops    = 4
	// givenTurn is Message.Turn of all messages that clients send. It is always the same,
	// so that requests with the same messages begin with the same bytes.
	givenTurn = "given"
)

// efforts are the words for how much a model should think.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// asked is a request, in either API.
type asked struct {
	s     *server
	id    string // of the answer, without the prefix of its API
	model string // as the client calls it
	// system is what the client's system messages say.
	system   []string
	messages []sessions.Message
	// places are where in the request each of messages is.
	places []string
	given  agent.Given
	effort string
	stream bool
	// lent are pictures; each is given back when the turn has ended. pictures are their
	// contents by file.
	lent     []func()
	pictures map[string][]byte
	// store, if not nil, keeps the answer for later requests: with what the turn added, or
	// the turn of a conversation.
	store func(ctx context.Context, out *outcome, added []sessions.Message, turn string) error
	// lastText is what the last user message says, without lines about pictures.
	lastText string
}

// release gives back the pictures.
func (a *asked) release() {
	for _, giveBack := range a.lent {
		giveBack()
	}
}

// takeModel reads which model is to answer.
func (a *asked) takeModel(o *object) {
	a.model = o.text("model")
	if a.model == "" {
		o.refuse("model", "model is missing: "+Model+" is the configured one.")
		return
	}
	if no := a.s.checkModel(a.model); no != nil {
		o.refuseWith(no)
	}
}

// takeWishes reads what both APIs have of the wishes for an answer.
func (a *asked) takeWishes(o *object) {
	g := &a.given
	g.Temperature = o.number("temperature", 0, 2)
	g.TopP = o.number("top_p", 0, 1)
	parallel := true
	o.take("parallel_tool_calls", &parallel)
	g.OneCall = !parallel
	o.take("stream", &a.stream)
}

// takeEffort reads how much the model should think.
func (a *asked) takeEffort(o *object, field string) {
	a.effort = o.text(field)
	if a.effort != "" && !slices.Contains(efforts, a.effort) {
		o.refuse(field, o.place(field)+" must be one of "+strings.Join(efforts, ", ")+".")
	}
}

// takeLimit reads how long the answer may be, in tokens.
func (a *asked) takeLimit(o *object, field string) {
	n := 0
	if o.take(field, &n) && n < 1 {
		o.refuse(field, o.place(field)+" must be 1 or more.")
	}
	if n > 0 && (a.given.MaxTokens == 0 || n < a.given.MaxTokens) {
		a.given.MaxTokens = n
	}
}

// maxSchema bounds the schema of an answer or of a tool, in bytes.
const maxSchema = 64 << 10

// takeFormat reads the form that the answer must have. schema is the object that has the
// schema, which depends on the API.
func (a *asked) takeFormat(f *object, schema func(*object) *object) {
	if f == nil {
		return
	}
	switch kind := f.text("type"); kind {
	case "text", "":
		return
	case "json_object":
		a.given.Format = json.RawMessage(`{"type":"object"}`)
		a.system = append(a.system, "Answer with one JSON object and nothing else.")
		return
	case "json_schema":
	default:
		f.refuse("type", f.place("type")+" must be text, json_object or json_schema.")
		return
	}
	o := schema(f)
	if o == nil {
		f.refuse("json_schema", f.place("json_schema")+" is missing.")
		return
	}
	var want map[string]any
	if !o.take("schema", &want) {
		o.refuse("schema", o.place("schema")+" must be a JSON schema.")
		return
	}
	raw := o.fields["schema"]
	if len(raw) > maxSchema {
		o.refuse("schema", o.place("schema")+" is too large.")
		return
	}
	a.given.Format = raw
	a.system = append(a.system, "Answer with one JSON value that follows this JSON schema, and with nothing else:\n"+string(raw))
}

// takeTools reads the client's tools. inner is the object that describes the function.
func (a *asked) takeTools(o *object, inner func(*object) *object) {
	names := map[string]bool{}
	for _, t := range o.objects("tools", maxTools) {
		if kind := t.text("type"); kind != "function" {
			t.refuse("type", fmt.Sprintf("%s must be function: there are no other tools of clients here, and ours need not be named.", t.place("type")))
			return
		}
		f := inner(t)
		if f == nil {
			t.refuse("function", t.place("function")+" is missing.")
			return
		}
		s := agent.Spec{Name: f.text("name"), Description: f.text("description"), Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
		if f.has("parameters") {
			s.Parameters = f.fields["parameters"]
		}
		switch {
		case !window.IsToolName(s.Name):
			f.refuse("name", f.place("name")+" must be 1 to 64 letters, digits, _ or -.")
		case names[s.Name]:
			f.refuse("name", "Two tools are called "+s.Name+".")
		case a.s.Turns.Has(s.Name):
			f.refuse("name", "A tool of Dragoman's own is called "+s.Name+": give yours another name.")
		case !window.IsObject(string(s.Parameters)) || len(s.Parameters) > maxSchema:
			f.refuse("parameters", f.place("parameters")+" must be a JSON schema of at most 64 KiB.")
		}
		names[s.Name] = true
		a.given.Tools = append(a.given.Tools, s)
	}
}

// takeChoice reads which tool must be called. nameOf finds the name in an object.
func (a *asked) takeChoice(o *object, nameOf func(*object) string) {
	if !o.has("tool_choice") {
		return
	}
	g := &a.given
	if !o.isText("tool_choice") {
		choice := o.object("tool_choice")
		if choice == nil {
			return
		}
		name := nameOf(choice)
		wanted := slices.IndexFunc(g.Tools, func(s agent.Spec) bool { return s.Name == name })
		if wanted < 0 {
			o.refuse("tool_choice", "tool_choice names no tool of this request.")
			return
		}
		g.Tools = g.Tools[wanted : wanted+1]
		g.Must = true
		return
	}
	switch choice := o.text("tool_choice"); {
	case choice == "none":
		g.Tools = nil
	case choice == "required" && len(g.Tools) == 0:
		o.refuse("tool_choice", "tool_choice requires a call, and there are no tools.")
	case choice == "required":
		g.Must = true
	case choice != "auto":
		o.refuse("tool_choice", "tool_choice must be none, auto, required or the name of a tool in an object.")
	}
}

// add appends a message that is at a place of the request.
func (a *asked) add(place string, m sessions.Message) {
	m.Turn = givenTurn
	a.messages = append(a.messages, m)
	a.places = append(a.places, place)
}

// addUser appends what a user says, with pictures.
func (a *asked) addUser(place, text string, pictures []channels.Attachment) {
	m := sessions.UserMessage(channels.Inbound{Text: text, Attachments: pictures})
	a.lastText = text
	a.add(place, m)
}

// checkMessages refuses messages that no model can answer.
func (a *asked) checkMessages(o *object, field string) {
	if o.first.no != nil {
		return
	}
	isUser := func(m sessions.Message) bool { return m.Role == sessions.RoleUser }
	if len(a.messages) == 0 && len(a.system) > 0 {
		// A front end that asks for a title sends nothing but instructions.
		a.addUser(field, a.system[len(a.system)-1], nil)
		a.system = a.system[:len(a.system)-1]
	}
	if len(a.messages) == 0 || !slices.ContainsFunc(a.messages, isUser) {
		o.refuse(field, field+" has no message of a user.")
		return
	}
	open := map[string]bool{}
	last := ""
	for i, m := range a.messages {
		if m.Role != sessions.RoleTool && len(open) > 0 {
			o.refuseWith(bad(last, "The calls of this message have no results: each needs one, right after it."))
			return
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
			last = a.places[i]
		}
		if m.Role == sessions.RoleTool && !open[m.ToolCallID] {
			o.refuseWith(bad(a.places[i]+idField(field), "This answers no call of the message before it."))
			return
		}
		delete(open, m.ToolCallID)
	}
	a.sayWhose()
	switch {
	case len(open) > 0:
		o.refuseWith(bad(last, "The calls of this message have no results: each needs one, right after it."))
	case a.messages[len(a.messages)-1].Role == sessions.RoleAssistant:
		o.refuseWith(bad(a.places[len(a.places)-1], "The last message must be a user's or the result of a tool."))
	}
}

// sayWhose marks whose words the messages are: the last user message is the word of the
// token's person, and nobody vouches for the rest. What is kept here from earlier responses
// says it already.
func (a *asked) sayWhose() {
	via := channels.ViaAPI
	for i := len(a.messages) - 1; i >= 0; i-- {
		m := &a.messages[i]
		switch {
		case a.places[i] == placeBefore:
		case m.Role == sessions.RoleUser:
			m.Via = via
			via = channels.ViaOthers
		default:
			m.Origins = []sessions.Origin{sessions.OriginOthers}
		}
	}
}

// idField is where a result names its call.
func idField(field string) string {
	if field == "input" {
		return ".call_id"
	}
	return ".tool_call_id"
}

func bad(param, sentence string) *respond.Refusal {
	return &respond.Refusal{Status: http.StatusBadRequest, Param: param, Sentence: sentence}
}

// pictureKinds are the types of pictures that models take.
var pictureKinds = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// picture reads a picture from a data URL in a field of o.
func (a *asked) picture(o *object, field string) (p channels.Attachment, ok bool) {
	rest, found := strings.CutPrefix(o.text(field), "data:")
	head, encoded, cut := strings.Cut(rest, ",")
	if !found || !cut || !strings.HasSuffix(head, ";base64") {
		o.refuse(field, "Pictures are taken as data URLs with base64, like data:image/png;base64,… and not fetched from elsewhere.")
		return p, false
	}
	if int64(len(encoded)) > a.s.MaxPicture*4/3+4 {
		o.refuseWith(tooLarge(o.place(field), "The picture is too large: at most "+channels.SizeText(a.s.MaxPicture)+" fit."))
		return p, false
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		data, err = base64.RawStdEncoding.DecodeString(strings.TrimSpace(encoded))
	}
	kind := http.DetectContentType(data)
	if err != nil || !slices.Contains(pictureKinds, kind) {
		o.refuse(field, "This is no picture: PNG, JPEG, GIF and WebP are taken.")
		return p, false
	}
	file, giveBack := a.s.Lend(data)
	a.lent = append(a.lent, giveBack)
	if a.pictures == nil {
		a.pictures = map[string][]byte{}
	}
	a.pictures[file] = data
	return channels.Attachment{Kind: channels.AttachmentImage, Type: kind, Bytes: int64(len(data)), File: file}, true
}
