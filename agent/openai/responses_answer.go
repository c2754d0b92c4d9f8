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

// responseEvent is what we read of an event. go-openai's type has an item
// without its encrypted content and its phase, and copies the whole of each
// event; nothing that is not read here makes an event unreadable.
type responseEvent struct {
	Type     openai.ResponseStreamEventType `json:"type"`
	Item     json.RawMessage                `json:"item"`
	Response json.RawMessage                `json:"response"`
	Index    wire.Number                    `json:"output_index"`
	// ItemID becomes that of Item, if it has one.
	ItemID    loose `json:"item_id"`
	Delta     loose `json:"delta"`
	Text      loose `json:"text"`
	Arguments loose `json:"arguments"`
	Refusal   loose `json:"refusal"`
	// Object is "response" where a server sends a response instead of a stream.
	Object string `json:"object"`
}

// responseItem is an item with what go-openai's type does not have.
type responseItem struct {
	openai.ResponseOutputItem
	Phase     loose `json:"phase"`
	Encrypted loose `json:"encrypted_content"`
}

// outputItem is one item of the output, as far as it has come.
type outputItem struct {
	index int
	id    string
	kind  string // message, function_call, reasoning or another
	done  bool
	text  strings.Builder // of a message, with its refusals
	args  strings.Builder
	call  sessions.ToolCall // without arguments
	phase string
	raw   string // of an item that is attached
	shown bool   // some of its thoughts were
	sep   bool   // a summary has ended, and another may begin
}

// responseAnswer gathers the events of one stream.
type responseAnswer struct {
	wire.Draft
	items   []*outputItem
	written bool // text was shown
}

// Decode begins an answer to in.
func (Responses) Decode(in *wire.Input, onDelta func(agent.Delta)) wire.Answer {
	return &responseAnswer{Draft: wire.Draft{In: in, OnDelta: onDelta}}
}

// Add takes one event.
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
		return a.item(&e, e.Type == openai.ResponseStreamEventOutputItemDone)
	case openai.ResponseStreamEventCompleted, openai.ResponseStreamEventIncomplete, openai.ResponseStreamEventFailed, "response.done", "response.cancelled":
		return a.end(&e, e.Response)
	case openai.ResponseStreamEventError:
		return false, &wire.Failure{Data: bytes.Clone(data)}
	}
	if take := responseEvents[e.Type]; take != nil {
		return take(a, &e), nil
	}
	if e.Object == "response" && e.Type == "" {
		return a.end(&e, data)
	}
	return false, nil
}

// responseEvents are those that bring a piece of an item.
var responseEvents = map[openai.ResponseStreamEventType]func(a *responseAnswer, e *responseEvent) bool{
	openai.ResponseStreamEventOutputTextDelta: func(a *responseAnswer, e *responseEvent) bool {
		return a.say(a.find(e, "message"), string(e.Delta))
	},
	openai.ResponseStreamEventOutputTextDone: func(a *responseAnswer, e *responseEvent) bool {
		return a.rest(a.find(e, "message"), string(e.Text))
	},
	openai.ResponseStreamEventRefusalDelta: func(a *responseAnswer, e *responseEvent) bool {
		a.Refused = true
		return a.say(a.find(e, "message"), string(e.Delta))
	},
	openai.ResponseStreamEventRefusalDone: func(a *responseAnswer, e *responseEvent) bool {
		a.Refused = true
		return a.rest(a.find(e, "message"), string(e.Refusal))
	},
	openai.ResponseStreamEventFunctionArgumentsDelta: func(a *responseAnswer, e *responseEvent) bool {
		it, args := a.find(e, "function_call"), string(e.Delta)
		if !it.done {
			it.args.WriteString(args)
		}
		return args != ""
	},
	openai.ResponseStreamEventFunctionArgumentsDone: func(a *responseAnswer, e *responseEvent) bool {
		it, args := a.find(e, "function_call"), string(e.Arguments)
		if args != "" {
			it.args.Reset()
			it.args.WriteString(args)
		}
		return args != ""
	},
	openai.ResponseStreamEventReasoningSummaryTextDelta: (*responseAnswer).muse,
	openai.ResponseStreamEventReasoningTextDelta:        (*responseAnswer).muse,
	"response.reasoning_summary.delta":                  (*responseAnswer).muse, // an older name
	openai.ResponseStreamEventReasoningSummaryPartDone: func(a *responseAnswer, e *responseEvent) bool {
		it := a.find(e, "reasoning")
		it.sep = it.shown
		return false
	},
}

// find returns the item that e speaks of, and begins one of kind if there is
// none. Servers leave the index out, or make up an id for each event.
func (a *responseAnswer) find(e *responseEvent, kind string) *outputItem {
	var open *outputItem
	for _, it := range slices.Backward(a.items) {
		switch {
		case it.kind != kind:
		case e.Index.Said && it.index == int(e.Index.Value), !e.Index.Said && e.ItemID != "" && it.id == string(e.ItemID):
			return it
		case open == nil && !it.done:
			open = it
		}
	}
	if !e.Index.Said && open != nil && e.Type != openai.ResponseStreamEventOutputItemAdded {
		return open
	}
	return a.begin(e, kind)
}

func (a *responseAnswer) begin(e *responseEvent, kind string) *outputItem {
	it := &outputItem{index: len(a.items), id: string(e.ItemID), kind: kind}
	if e.Index.Said {
		it.index = int(e.Index.Value)
	}
	a.items = append(a.items, it)
	return it
}

// say takes a piece of a message's text.
func (a *responseAnswer) say(it *outputItem, text string) bool {
	if text == "" || it.done {
		return false
	}
	if it.text.Len() == 0 && a.written {
		text = "\n\n" + text // of a second message
	}
	a.written = true
	it.text.WriteString(text)
	return a.Show(text, "")
}

// rest takes the whole text of one part of a message, of which all, some or
// nothing has come.
func (a *responseAnswer) rest(it *outputItem, whole string) bool {
	so := strings.TrimPrefix(it.text.String(), "\n\n")
	if more, found := strings.CutPrefix(whole, so); found {
		return a.say(it, more)
	}
	return false
}

func (a *responseAnswer) muse(e *responseEvent) bool {
	it := a.find(e, "reasoning")
	if e.Delta == "" || it.done {
		return false
	}
	a.think(it, string(e.Delta))
	return true
}

func (a *responseAnswer) think(it *outputItem, text string) {
	if it.sep {
		text = "\n\n" + text
	}
	it.sep, it.shown, a.Thought = false, true, true
	a.Show("", text)
}

// item takes an item that begins or that is whole.
func (a *responseAnswer) item(e *responseEvent, done bool) (progress bool, err error) {
	var item responseItem
	err = json.Unmarshal(e.Item, &item)
	if item.Type == "" || err != nil && done && (item.Type == "message" || item.Type == "function_call") {
		return false, wire.ErrBadEvent // what cannot be read of another item is not there
	}
	e.ItemID = cmp.Or(loose(item.ID), e.ItemID)
	it := a.find(e, item.Type)
	// A server that gives each item the same index; unless it repeats itself.
	if it.done && e.Type != "" && cmp.Or(item.CallID, item.ID) != cmp.Or(it.call.ID, it.id) {
		it = a.begin(e, item.Type)
	}
	it.id = cmp.Or(it.id, string(e.ItemID))
	switch {
	case item.Type == "function_call":
		progress = it.take(&item, done)
	case !done:
	case item.Type == "message":
		progress = a.message(it, &item)
	case item.Type != "reasoning":
		it.raw = string(e.Item)
	default:
		progress = a.summary(it, &item)
		// One that has nothing in it would only be looked for at the server, which
		// stored nothing.
		if item.Encrypted != "" || len(item.Content) > 0 {
			it.raw = string(e.Item)
		}
	}
	a.Thought = a.Thought || item.Type == "reasoning"
	it.phase = cmp.Or(string(item.Phase), it.phase)
	it.done = it.done || done
	return progress, nil
}

// message takes the whole of a message.
func (a *responseAnswer) message(it *outputItem, item *responseItem) bool {
	var whole strings.Builder
	for i := range item.Content {
		c := &item.Content[i]
		a.Refused = a.Refused || c.Refusal != ""
		whole.WriteString(wire.Clean(c.Text + c.Refusal))
	}
	return a.rest(it, whole.String())
}

// take takes a call.
func (it *outputItem) take(item *responseItem, done bool) bool {
	it.call.ID = cmp.Or(item.CallID, it.call.ID)
	it.call.Name = cmp.Or(item.Name, it.call.Name)
	if done && item.Arguments != "" {
		it.args.Reset()
		it.args.WriteString(item.Arguments)
	}
	return item.Name != ""
}

// summary shows the thoughts of a whole item unless they were shown.
func (a *responseAnswer) summary(it *outputItem, item *responseItem) bool {
	if it.shown {
		return false
	}
	for i := range item.Summary {
		if text := wire.Clean(item.Summary[i].Text); text != "" {
			a.think(it, text)
			it.sep = true
		}
	}
	return it.shown
}

// end takes the last event: the whole response.
func (a *responseAnswer) end(e *responseEvent, data json.RawMessage) (progress bool, err error) {
	var r struct {
		Status     openai.ResponseStatus             `json:"status"`
		Error      json.RawMessage                   `json:"error"`
		Incomplete *openai.ResponseIncompleteDetails `json:"incomplete_details"`
		Output     []json.RawMessage                 `json:"output"`
		Usage      json.RawMessage                   `json:"usage"`
	}
	if json.Unmarshal(data, &r) != nil {
		return false, wire.ErrBadEvent
	}
	if r.Status == "" {
		r.Status = openai.ResponseStatus(strings.TrimPrefix(string(e.Type), "response."))
	}
	switch r.Status {
	case openai.ResponseStatusFailed, openai.ResponseStatusCancelled:
		if len(r.Error) == 0 || r.Error[0] != '{' {
			r.Error = json.RawMessage(`{"message":"the response failed"}`)
		}
		return false, &wire.Failure{Data: bytes.Clone(r.Error)}
	case openai.ResponseStatusIncomplete:
		a.Finish = "length"
		if r.Incomplete != nil && r.Incomplete.Reason == "content_filter" {
			a.Finish = "content_filter"
		}
	}
	if u, thought := wire.ReadUsage(r.Usage); u != nil {
		a.Usage, a.Thought = u, a.Thought || thought
	}
	whole := 0
	for _, it := range a.items {
		if it.done {
			whole++
		}
	}
	if whole < len(r.Output) {
		progress, err = a.output(r.Output)
	}
	a.Over = err == nil
	return progress, err
}

// output takes the items of a server that did not send each when it was whole.
func (a *responseAnswer) output(list []json.RawMessage) (progress bool, err error) {
	for i, data := range list {
		some, err := a.item(&responseEvent{Index: wire.Number{Value: float64(i), Said: true}, Item: data}, true)
		if err != nil {
			return progress, err
		}
		progress = progress || some
	}
	return progress, nil
}

// Fill makes out the response that the answer came to.
func (a *responseAnswer) Fill(out *agent.Response) {
	slices.SortStableFunc(a.items, func(x, y *outputItem) int { return cmp.Compare(x.index, y.index) })
	for _, it := range a.items {
		switch it.kind {
		case "message":
			a.Text(it.text.String(), it.phase)
		case "function_call":
			a.Call(it.call.ID, it.call.Name, it.args.String())
		default:
			a.Raw(it.raw)
		}
	}
	a.Draft.Fill(out, a.Attached(nil))
}
