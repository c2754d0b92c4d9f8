package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"dragoman/sessions"
)

// kept gathers what a provider puts beside a message, but for what it attaches
// to calls.
type kept struct {
	thoughts strings.Builder
	// short says that thoughts came as reasoning and not as reasoning_content.
	short   bool
	details []detail
	extra   json.RawMessage
}

// take keeps what d has, and returns its thoughts.
func (k *kept) take(d *delta) loose {
	thoughts := d.ReasoningContent
	if thoughts == "" {
		thoughts = d.Reasoning
		k.short = k.short || thoughts != ""
	}
	k.thoughts.WriteString(string(thoughts))
	if present(d.Extra) {
		k.extra = bytes.Clone(d.Extra)
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(d.Details, &list) == nil {
		for _, fields := range list {
			k.detail(fields)
		}
	}
	return thoughts
}

// detail is one of OpenRouter's reasoning_details. Its texts come in pieces.
type detail struct {
	fields map[string]json.RawMessage
	texts  map[string]*strings.Builder
}

// pieces are the fields of a detail that come in pieces.
var pieces = []string{"text", "summary", "data"}

// detail keeps a piece: one of the same type and index as the newest goes on
// with that.
func (k *kept) detail(fields map[string]json.RawMessage) {
	same := func(d *detail, name string) bool { return bytes.Equal(d.fields[name], fields[name]) }
	n := len(k.details)
	if n == 0 || !same(&k.details[n-1], "type") || !same(&k.details[n-1], "index") {
		k.details = append(k.details, detail{map[string]json.RawMessage{}, map[string]*strings.Builder{}})
		n++
	}
	d := &k.details[n-1]
	for name, value := range fields {
		var piece string
		if slices.Contains(pieces, name) && json.Unmarshal(value, &piece) == nil && string(value) != "null" {
			if d.texts[name] == nil {
				d.texts[name] = &strings.Builder{}
			}
			d.texts[name].WriteString(piece)
		} else if present(value) || d.fields[name] == nil {
			d.fields[name] = bytes.Clone(value)
		}
	}
}

// whole writes the details.
func (k *kept) whole() (list []json.RawMessage) {
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

// attached is what goes back to the provider with the answer. Thoughts do so
// only within a turn that calls tools: nobody wants others, and they are long.
func (a *answer) attached() *sessions.Attached {
	out := attached{extras: extras{Extra: a.kept.extra}, Calls: a.pieces.extras()}
	if len(a.pieces.list) > 0 || callsBefore(a.In.Request.Messages) {
		out.Details = a.kept.whole()
		switch {
		case len(out.Details) > 0: // the same once more
		case a.kept.short:
			out.Reasoning = a.kept.thoughts.String()
		default:
			out.ReasoningContent = a.kept.thoughts.String()
		}
	}
	b, err := json.Marshal(out)
	if err != nil || len(b) == len("{}") {
		return nil
	}
	return &sessions.Attached{By: a.In.To, Data: b}
}

// callsBefore reports whether tools were called since a person wrote last.
func callsBefore(msgs []sessions.Message) bool {
	for i := len(msgs) - 1; i >= 0 && msgs[i].Role != sessions.RoleUser; i-- {
		if len(msgs[i].ToolCalls) > 0 {
			return true
		}
	}
	return false
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
