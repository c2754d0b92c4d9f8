package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"dragoman/agent/wire"
	"dragoman/sessions"
)

// providerData collects the thoughts and other data that a provider sends with
// a message. Data on tool calls is in [calls].
type providerData struct {
	thoughts wire.Text
	// asReasoning says that thoughts came as reasoning, not as reasoning_content.
	asReasoning bool
	details     []detail
	// inPieces says that details came in pieces, so those of a whole message are the
	// same again.
	inPieces bool
	extra    json.RawMessage
}

// add takes the data of a piece and returns the thoughts that it adds.
func (k *providerData) add(d *delta) (thoughts string) {
	k.inPieces = k.inPieces || present(d.Details)
	k.addDetails(d.Details)
	k.addExtra(d.Extra)
	return k.thoughts.Add(k.thoughtsOf(d))
}

// addWhole takes the data of a whole message and returns the thoughts that it adds.
func (k *providerData) addWhole(m *delta) (thoughts string) {
	if !k.inPieces && present(m.Details) {
		k.details = nil
		k.addDetails(m.Details)
	}
	k.addExtra(m.Extra)
	return k.thoughts.Whole(k.thoughtsOf(m))
}

func (k *providerData) thoughtsOf(d *delta) string {
	if d.ReasoningContent != "" {
		return string(d.ReasoningContent)
	}
	k.asReasoning = k.asReasoning || d.Reasoning != "" && k.thoughts.String() == ""
	return string(d.Reasoning)
}

func (k *providerData) addExtra(data json.RawMessage) {
	if present(data) {
		k.extra = bytes.Clone(data)
	}
}

func (k *providerData) addDetails(data json.RawMessage) {
	var list []map[string]json.RawMessage
	if json.Unmarshal(data, &list) == nil {
		for _, fields := range list {
			k.addDetail(fields)
		}
	}
}

// detail is one of OpenRouter's reasoning_details. Its texts arrive in pieces.
type detail struct {
	fields map[string]json.RawMessage
	texts  map[string]*strings.Builder
}

// splitFields are the fields of a detail that arrive in pieces.
var splitFields = []string{"text", "summary", "data"}

// addDetail adds fields to the newest detail if type and index are the same,
// else begins a new detail.
func (k *providerData) addDetail(fields map[string]json.RawMessage) {
	same := func(d *detail, name string) bool { return bytes.Equal(d.fields[name], fields[name]) }
	n := len(k.details)
	if n == 0 || !same(&k.details[n-1], "type") || !same(&k.details[n-1], "index") {
		k.details = append(k.details, detail{map[string]json.RawMessage{}, map[string]*strings.Builder{}})
		n++
	}
	d := &k.details[n-1]
	for name, value := range fields {
		var piece string
		if slices.Contains(splitFields, name) && json.Unmarshal(value, &piece) == nil && string(value) != "null" {
			if d.texts[name] == nil {
				d.texts[name] = &strings.Builder{}
			}
			d.texts[name].WriteString(piece)
		} else if present(value) || d.fields[name] == nil {
			d.fields[name] = bytes.Clone(value)
		}
	}
}

func (k *providerData) joinDetails() (list []json.RawMessage) {
	for _, d := range k.details {
		for name, text := range d.texts {
			if b, err := json.Marshal(text.String()); err == nil {
				d.fields[name] = b
			}
		}
		if b, err := json.Marshal(d.fields); err == nil {
			list = append(list, b)
		}
	}
	return list
}

// attached returns the data to send back to the provider with the answer.
// Thoughts are kept only in a turn that calls tools: no provider needs others,
// and they are long.
func (a *answer) attached() *sessions.Attached {
	out := attached{extras: extras{Extra: a.data.extra}, Calls: a.calls.extras()}
	if len(a.calls.list) > 0 || callsBefore(a.In.Request.Messages) {
		out.Details = a.data.joinDetails()
		switch {
		case len(out.Details) > 0: // they hold the thoughts too
		case a.data.asReasoning:
			out.Reasoning = a.data.thoughts.String()
		default:
			out.ReasoningContent = a.data.thoughts.String()
		}
	}
	b, err := json.Marshal(out)
	if err != nil || len(b) == len("{}") {
		return nil
	}
	return &sessions.Attached{By: a.In.To, Data: b}
}

// callsBefore reports whether tools were called since the last message of a
// person.
func callsBefore(msgs []sessions.Message) bool {
	for i := len(msgs) - 1; i >= 0 && msgs[i].Role != sessions.RoleUser; i-- {
		if len(msgs[i].ToolCalls) > 0 {
			return true
		}
	}
	return false
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
