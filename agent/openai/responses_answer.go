package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// responseEvent holds the fields that we read of an event. go-openai's type
// loses an item's encrypted content and phase, and copies each whole event.
// Fields that are not here cannot make an event unreadable.
type responseEvent struct {
	Type     openai.ResponseStreamEventType `json:"type"`
	Item     json.RawMessage                `json:"item"`
	Response json.RawMessage                `json:"response"`
	Index    wire.Number                    `json:"output_index"`
	// ItemID becomes the id of Item, if Item has one.
	ItemID    optionalText `json:"item_id"`
	Delta     optionalText `json:"delta"`
	Text      optionalText `json:"text"`
	Arguments optionalText `json:"arguments"`
	Refusal   optionalText `json:"refusal"`
	// Object is "response" if the server sends a response instead of a stream.
	Object string `json:"object"`
}

// responseItem is an item with the fields that go-openai's type lacks.
type responseItem struct {
	openai.ResponseOutputItem
	Phase     optionalText `json:"phase"`
	Encrypted optionalText `json:"encrypted_content"`
}

// outputItem is one item of a response while its events arrive: a message, a tool
// call or thoughts.
type outputItem struct {
	index         int
	id            string
	kind          string // message, function_call, reasoning or another
	done          bool
	text          wire.Text // of a message, with its refusals
	lead          string    // what stands between it and the text before it
	args          wire.Args
	call          sessions.ToolCall // without arguments
	phase         string
	raw           string // the whole item, if it is attached
	thoughtsShown bool   // some thoughts were passed on
	newPart       bool   // the next thought begins a new part of the summary
}

// responseAnswer collects the events of one answer from the responses API.
type responseAnswer struct {
	wire.Draft
	items   []*outputItem
	hasText bool // text was passed on
}

// Decode implements [wire.Codec].
func (Responses) Decode(in *wire.Input, onDelta func(agent.Delta)) wire.Answer {
	return &responseAnswer{Draft: wire.Draft{In: in, OnDelta: onDelta}}
}

func (a *responseAnswer) Add(event string, data []byte) (progress bool, err error) {
	var e responseEvent
	if json.Unmarshal(data, &e) != nil {
		return false, wire.ErrBadEvent
	}
	if e.Type == "" {
		e.Type = openai.ResponseStreamEventType(event)
	}
	switch e.Type {
	case openai.ResponseStreamEventOutputItemAdded, openai.ResponseStreamEventOutputItemDone:
		return a.addItem(&e, e.Type == openai.ResponseStreamEventOutputItemDone)
	case openai.ResponseStreamEventCompleted, openai.ResponseStreamEventIncomplete, openai.ResponseStreamEventFailed, "response.done", "response.cancelled":
		return a.finish(&e, e.Response)
	case openai.ResponseStreamEventError:
		return false, &wire.StreamError{Data: bytes.Clone(data)}
	}
	if take := responseEvents[e.Type]; take != nil {
		return take(a, &e), nil
	}
	if e.Object == "response" && e.Type == "" {
		return a.finish(&e, data)
	}
	return false, nil
}

// responseEvents handle the events that carry a piece of an item.
var responseEvents = map[openai.ResponseStreamEventType]func(a *responseAnswer, e *responseEvent) bool{
	openai.ResponseStreamEventOutputTextDelta: func(a *responseAnswer, e *responseEvent) bool {
		return a.addText(a.find(e, "message"), string(e.Delta))
	},
	openai.ResponseStreamEventOutputTextDone: func(a *responseAnswer, e *responseEvent) bool {
		return a.addRest(a.find(e, "message"), string(e.Text))
	},
	openai.ResponseStreamEventRefusalDelta: func(a *responseAnswer, e *responseEvent) bool {
		a.Refused = true
		return a.addText(a.find(e, "message"), string(e.Delta))
	},
	openai.ResponseStreamEventRefusalDone: func(a *responseAnswer, e *responseEvent) bool {
		a.Refused = true
		return a.addRest(a.find(e, "message"), string(e.Refusal))
	},
	openai.ResponseStreamEventFunctionArgumentsDelta: func(a *responseAnswer, e *responseEvent) bool {
		it, args := a.find(e, "function_call"), string(e.Delta)
		if !it.done {
			it.args.Add(args)
		}
		return args != ""
	},
	openai.ResponseStreamEventFunctionArgumentsDone: func(a *responseAnswer, e *responseEvent) bool {
		it, args := a.find(e, "function_call"), string(e.Arguments)
		if args != "" {
			it.args.Reset()
			it.args.Add(args)
		}
		return args != ""
	},
	openai.ResponseStreamEventReasoningSummaryTextDelta: (*responseAnswer).addThought,
	openai.ResponseStreamEventReasoningTextDelta:        (*responseAnswer).addThought,
	"response.reasoning_summary.delta":                  (*responseAnswer).addThought, // an older name
	openai.ResponseStreamEventReasoningSummaryPartDone: func(a *responseAnswer, e *responseEvent) bool {
		it := a.find(e, "reasoning")
		it.newPart = it.thoughtsShown
		return false
	},
}

// find returns the item that e belongs to, or a new one of that kind. Servers
// may leave out the index, or make up an id for each event.
func (a *responseAnswer) find(e *responseEvent, kind string) *outputItem {
	var open *outputItem
	for _, it := range slices.Backward(a.items) {
		switch {
		case it.kind != kind:
		case e.Index.Valid && it.index == int(e.Index.Value), !e.Index.Valid && e.ItemID != "" && it.id == string(e.ItemID):
			return it
		case open == nil && !it.done:
			open = it
		}
	}
	if !e.Index.Valid && open != nil && e.Type != openai.ResponseStreamEventOutputItemAdded {
		return open
	}
	return a.newItem(e, kind)
}

func (a *responseAnswer) newItem(e *responseEvent, kind string) *outputItem {
	it := &outputItem{index: len(a.items), id: string(e.ItemID), kind: kind}
	if e.Index.Valid {
		it.index = int(e.Index.Value)
	}
	a.items = append(a.items, it)
	return it
}

func (a *responseAnswer) addText(it *outputItem, text string) bool {
	if text == "" || it.done {
		return false
	}
	a.showText(it, it.text.Add(text))
	return true
}

// addRest takes the whole text of a message, or of a part of it, and adds what has
// not arrived yet.
func (a *responseAnswer) addRest(it *outputItem, whole string) bool {
	return !it.done && a.showText(it, it.text.Whole(whole))
}

// showText passes on more of a message's text. A second message begins a paragraph.
func (a *responseAnswer) showText(it *outputItem, more string) bool {
	if more == "" {
		return false
	}
	if it.text.String() == more && a.hasText {
		it.lead = "\n\n"
		more = it.lead + more
	}
	a.hasText = true
	return a.Emit(more, "")
}

// Check implements [wire.Answer].
func (a *responseAnswer) Check() error {
	said := false
	for _, it := range a.items {
		a.showText(it, it.text.End())
		said = said || it.kind == "message" && it.text.String() != "" || it.kind == "function_call"
	}
	err := a.Draft.Check()
	if err != nil {
		return err
	}
	return a.CheckEnd(said)
}

func (a *responseAnswer) addThought(e *responseEvent) bool {
	it := a.find(e, "reasoning")
	if e.Delta == "" || it.done {
		return false
	}
	a.emitThought(it, string(e.Delta))
	return true
}

func (a *responseAnswer) emitThought(it *outputItem, text string) {
	if it.newPart {
		text = "\n\n" + text
	}
	it.newPart = false
	it.thoughtsShown = true
	a.Thought = true
	a.Emit("", text)
}

// addItem takes an item that has begun, or one that is complete (done).
func (a *responseAnswer) addItem(e *responseEvent, done bool) (progress bool, err error) {
	var item responseItem
	err = json.Unmarshal(e.Item, &item)
	if item.Type == "" || err != nil && done && (item.Type == "message" || item.Type == "function_call") {
		return false, wire.ErrBadEvent // other kinds of items are optional
	}
	e.ItemID = cmp.Or(optionalText(item.ID), e.ItemID)
	it := a.find(e, item.Type)
	// Some servers give each item the same index. Others send an item twice, which
	// then has the same id.
	if it.done && e.Type != "" && cmp.Or(item.CallID, item.ID) != cmp.Or(it.call.ID, it.id) {
		it = a.newItem(e, item.Type)
	}
	it.id = cmp.Or(it.id, string(e.ItemID))
	switch {
	case item.Type == "function_call":
		progress = it.addCall(&item, done)
	case !done:
	case item.Type == "message":
		progress = a.addMessage(it, &item)
	case item.Type != "reasoning":
		it.raw = string(e.Item)
	default:
		progress = a.addSummary(it, &item)
		// An empty reasoning item is useless: the server would look it up, and it
		// stores nothing for us.
		if item.Encrypted != "" || len(item.Content) > 0 {
			it.raw = string(e.Item)
		}
	}
	a.Thought = a.Thought || item.Type == "reasoning"
	it.phase = cmp.Or(string(item.Phase), it.phase)
	it.done = it.done || done
	return progress, nil
}

func (a *responseAnswer) addMessage(it *outputItem, item *responseItem) bool {
	var whole strings.Builder
	for i := range item.Content {
		c := &item.Content[i]
		a.Refused = a.Refused || c.Refusal != ""
		whole.WriteString(wire.Clean(c.Text + c.Refusal))
	}
	return a.addRest(it, whole.String())
}

func (it *outputItem) addCall(item *responseItem, done bool) bool {
	it.call.ID = cmp.Or(item.CallID, it.call.ID)
	it.call.Name = cmp.Or(item.Name, it.call.Name)
	if done && item.Arguments != "" {
		it.args.Reset()
		it.args.Add(item.Arguments)
	}
	return item.Name != ""
}

// addSummary passes on the thoughts of a complete item, unless they arrived as
// pieces.
func (a *responseAnswer) addSummary(it *outputItem, item *responseItem) bool {
	if it.thoughtsShown {
		return false
	}
	for i := range item.Summary {
		if text := wire.Clean(item.Summary[i].Text); text != "" {
			a.emitThought(it, text)
			it.newPart = true
		}
	}
	return it.thoughtsShown
}

// finish takes the last event, which holds the whole response.
func (a *responseAnswer) finish(e *responseEvent, data json.RawMessage) (progress bool, err error) {
	var r struct {
		Status     openai.ResponseStatus             `json:"status"`
		Error      json.RawMessage                   `json:"error"`
		Incomplete *openai.ResponseIncompleteDetails `json:"incomplete_details"`
		Output     []json.RawMessage                 `json:"output"`
		Usage      json.RawMessage                   `json:"usage"`
		Model      json.RawMessage                   `json:"model"`
	}
	if json.Unmarshal(data, &r) != nil {
		return false, wire.ErrBadEvent
	}
	a.Names(r.Model)
	if r.Status == "" {
		r.Status = openai.ResponseStatus(strings.TrimPrefix(string(e.Type), "response."))
	}
	switch r.Status {
	case openai.ResponseStatusFailed, openai.ResponseStatusCancelled:
		if len(r.Error) == 0 || r.Error[0] != '{' {
			r.Error = json.RawMessage(`{"message":"the response failed"}`)
		}
		return false, &wire.StreamError{Data: bytes.Clone(r.Error)}
	case openai.ResponseStatusIncomplete:
		reason := "incomplete"
		if r.Incomplete != nil {
			reason = cmp.Or(r.Incomplete.Reason, reason)
		}
		a.EndAs(reason)
	}
	if u, thought := wire.ReadUsage(r.Usage); u != nil {
		a.Usage, a.Thought = u, a.Thought || thought
	}
	complete := 0
	for _, it := range a.items {
		if it.done {
			complete++
		}
	}
	if complete < len(r.Output) {
		progress, err = a.addOutput(r.Output)
	}
	a.Ended = err == nil
	return progress, err
}

// addOutput takes the items of a server that did not send an event for each.
func (a *responseAnswer) addOutput(list []json.RawMessage) (progress bool, err error) {
	for i, data := range list {
		some, err := a.addItem(&responseEvent{Index: wire.Number{Value: float64(i), Valid: true}, Item: data}, true)
		if err != nil {
			return progress, err
		}
		progress = progress || some
	}
	return progress, nil
}

func (a *responseAnswer) Fill(out *agent.Response) {
	slices.SortStableFunc(a.items, func(x, y *outputItem) int { return cmp.Compare(x.index, y.index) })
	for _, it := range a.items {
		switch it.kind {
		case "message":
			a.AddText(it.lead+it.text.String(), it.phase)
		case "function_call":
			a.AddCall(it.call.ID, it.call.Name, it.args.String())
		default:
			a.AddRaw(it.raw)
		}
	}
	a.Draft.Fill(out, a.Attached(nil))
}
