package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// entry is a message as an input tells it, in the form in which it waits in a
// spool.
type entry struct {
	sessions.Message `json:"message"`
	// Told is the role that the input names, perhaps one that a transcript does
	// not have.
	Told string `json:"told"`
	// Call is the one call of the time before tool calls.
	Call *sessions.ToolCall `json:"call,omitempty"`
	// Half: something that was taken had half of a character.
	Half bool `json:"half,omitempty"`
}

// decodeEntry understands the messages of all JSON formats. A field that it
// does not know, or that is not of the kind it knows, goes to Extra; so does
// the original of one that our form cannot hold whole.
func decodeEntry(raw json.RawMessage) (entry, error) {
	var f fieldSet
	if err := json.Unmarshal(raw, &f); err != nil {
		return entry{}, fmt.Errorf("%w: no JSON object: %w", ErrFormat, err)
	}
	return entryOf(f)
}

func entryOf(f fieldSet) (entry, error) {
	var e entry
	if !f.take("role", &e.Told) || e.Told == "" {
		return e, fmt.Errorf("%w: a message without a role", ErrFormat)
	}
	for theirs, ours := range namesOfMolf {
		f.rename(theirs, ours)
	}
	for _, part := range []string{"content", "name", "sender", "tool_calls", "function_call", "tool_call_id"} {
		e.Half = e.Half || hasHalf(f[part])
	}
	e.Role = sessions.Role(e.Told)
	if err := e.content(f); err != nil {
		return e, err
	}
	if err := e.calls(f); err != nil {
		return e, err
	}
	f.take("name", &e.Name)
	f.take("sender", &e.Sender)
	f.take("tool_call_id", &e.ToolCallID)
	f.take("seq", &e.Seq)
	f.take("at", &e.At)
	f.take("turn", &e.Turn)
	f.take("model", &e.Model)
	f.take("synthetic", &e.Synthetic)
	f.take("summary", &e.Summary)
	f.take("failed", &e.Failed)
	e.takeUsage(f)
	e.takeAttachments(f)
	e.takeAttached(f)
	for _, name := range []string{"timestamp", "created_at"} { // stay in Extra: they are not called "at"
		if e.At.IsZero() {
			e.At = moment(f[name])
		}
	}
	if len(f) > 0 {
		e.Extra = f
	}
	return e, nil
}

// fieldSet is a JSON object that is taken apart.
type fieldSet map[string]json.RawMessage

// take moves a field to into. One that is missing stays missing; one of
// another kind stays in the set.
func (f fieldSet) take(name string, into any) bool {
	raw, ok := f[name]
	if !ok || json.Unmarshal(raw, into) != nil {
		return false
	}
	delete(f, name)
	return true
}

// rename gives a field another name, if there is none of that name.
func (f fieldSet) rename(from, to string) {
	if raw, ok := f[from]; ok && f[to] == nil {
		f[to] = raw
		delete(f, from)
	}
}

// exactly decodes raw into one of ours, and reports whether that holds all of
// it: what has names that we do not know is decoded without them.
func exactly(raw json.RawMessage, into any) (whole bool, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(into) == nil {
		return true, nil
	}
	return false, json.Unmarshal(raw, into)
}

// takeUsage takes what is ours of a usage. If there is more in it, all of it
// stays in the set.
func (e *entry) takeUsage(f fieldSet) {
	var u *sessions.Usage
	whole, err := exactly(f["usage"], &u)
	if err != nil || u == nil || !whole && *u == (sessions.Usage{}) {
		u = usageOfOthers(f["usage"])
	}
	e.Usage = u
	if whole {
		delete(f, "usage")
	}
}

// takeAttachments is the same for attachments. Without the keys that open
// files: they are kept with ours alone.
func (e *entry) takeAttachments(f fieldSet) {
	var files []channels.Attachment
	whole, err := exactly(f["attachments"], &files)
	if ours := !slices.ContainsFunc(files, func(a channels.Attachment) bool { return a.Kind == "" }); err == nil && ours {
		e.Attachments = files
	}
	var theirs []map[string]json.RawMessage
	switch {
	case whole:
		delete(f, "attachments")
	case json.Unmarshal(f["attachments"], &theirs) == nil:
		for _, a := range theirs {
			delete(a, "ref")
		}
		if raw, err := encode(theirs); err == nil {
			f["attachments"] = raw
		}
	}
}

// takeAttached is the same for what a provider attached. What others call so
// stays theirs.
func (e *entry) takeAttached(f fieldSet) {
	var a *sessions.Attached
	whole, err := exactly(f["attached"], &a)
	if err != nil || a == nil || a.By.API == "" {
		return
	}
	if e.Attached = a; whole {
		delete(f, "attached")
	}
}

// content takes text, nothing, or a list of parts. Parts that are no text
// leave a mark, and the list stays in Extra.
func (e *entry) content(f fieldSet) error {
	raw := bytes.TrimSpace(f["content"])
	switch {
	case len(raw) == 0:
		return nil
	case raw[0] != '[':
		if !f.take("content", &e.Content) { // null leaves it empty
			return fmt.Errorf("%w: content is neither text nor a list of parts", ErrFormat)
		}
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("%w: content: %w", ErrFormat, err)
	}
	var texts []string
	for _, item := range list {
		texts = append(texts, partText(item))
	}
	e.Content = strings.Join(texts, "\n")
	return nil // the list stays where it is: it is written again as it was
}

// textPart is what is text in a part of a list.
type textPart struct {
	Type    string  `json:"type"`
	Text    *string `json:"text"`
	Refusal *string `json:"refusal"`
}

func partText(item json.RawMessage) string {
	var s string
	if json.Unmarshal(item, &s) == nil {
		return s
	}
	var part textPart
	if json.Unmarshal(item, &part) != nil {
		return "[part]"
	}
	switch {
	case part.Text != nil:
		return *part.Text
	case part.Refusal != nil:
		return *part.Refusal
	case part.Type == "":
		return "[part]"
	}
	return "[" + sessions.OneLine(part.Type, 40) + "]"
}

// wireCall is a call in OpenAI's form, in our own and in Molf's.
type wireCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"arguments"`
	MolfID   string          `json:"toolCallId"`
	MolfName string          `json:"toolName"`
	MolfArgs json.RawMessage `json:"args"`
	Function *struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func (e *entry) calls(f fieldSet) error {
	if raw := bytes.TrimSpace(f["tool_calls"]); len(raw) > 0 {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return fmt.Errorf("%w: tool_calls: %w", ErrFormat, err)
		}
		whole := true
		for i, item := range list {
			call, simple, err := decodeCall(item)
			if err != nil {
				return fmt.Errorf("%w: tool call %d: %w", ErrFormat, i+1, err)
			}
			e.ToolCalls, whole = append(e.ToolCalls, call), whole && simple
		}
		if whole {
			delete(f, "tool_calls")
		}
	}
	if raw := bytes.TrimSpace(f["function_call"]); len(raw) > 0 && raw[0] == '{' && len(e.ToolCalls) == 0 {
		call, simple, err := decodeCall(raw)
		if err != nil {
			return fmt.Errorf("%w: function_call: %w", ErrFormat, err)
		}
		if e.Call = &call; simple {
			delete(f, "function_call")
		}
	}
	return nil
}

// decodeCall reads a call and says whether ours says all that it says.
func decodeCall(raw json.RawMessage) (sessions.ToolCall, bool, error) {
	var w wireCall
	whole, err := exactly(raw, &w)
	if err != nil {
		return sessions.ToolCall{}, false, err
	}
	if w.MolfID != "" && w.ID == "" && w.Function == nil && w.Name == "" && w.Args == nil {
		var args bytes.Buffer
		if len(w.MolfArgs) > 0 {
			err = json.Compact(&args, w.MolfArgs)
		}
		return sessions.ToolCall{ID: w.MolfID, Name: w.MolfName, Arguments: args.String()}, whole, err
	}
	simple := whole && w.MolfID == "" && w.MolfName == "" && w.MolfArgs == nil && (w.Type == "" || w.Type == "function") && (w.Function == nil || w.Name == "" && w.Args == nil)
	name, args := w.Name, w.Args
	if w.Function != nil {
		name, args = w.Function.Name, w.Function.Args
	}
	call := sessions.ToolCall{ID: w.ID, Name: name}
	if len(args) > 0 && args[0] != '"' {
		call.Arguments = string(args) // an object, written as one
		return call, false, nil
	}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &call.Arguments); err != nil {
			return call, false, err
		}
	}
	return call, simple, nil
}
