package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/sessions"
)

// errEncoding: the decoder would silently replace bytes that are not UTF-8 by
// U+FFFD.
var errEncoding = fmt.Errorf("%w: it is not UTF-8; convert the file first (iconv -f LATIN1 -t UTF-8, for example)", ErrFormat)

// entry is a decoded message of an input.
type entry struct {
	sessions.Message
	// inputRole is the role in the input, which may be none of ours.
	inputRole string
	// functionCall is a call in the form that came before tool calls.
	functionCall *sessions.ToolCall
	// changes say what was left out or became something else.
	changes []string
}

// decodeEntry decodes a message of any JSON format. Extra keeps each field unchanged
// that has more in it than the message takes.
func decodeEntry(raw json.RawMessage) (entry, error) {
	f, err := parse(raw)
	if err != nil {
		return entry{}, err
	}
	return entryOf(f)
}

func parse(raw []byte) (f fieldSet, err error) {
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("%w: not a JSON object: %w", ErrFormat, err)
	}
	if !utf8.Valid(raw) {
		return nil, errEncoding
	}
	return f, nil
}

func entryOf(f fieldSet) (e entry, err error) {
	if !take(f, "role", &e.inputRole) || e.inputRole == "" {
		if err := unreadExport(f); err != nil {
			return e, err
		}
		return e, fmt.Errorf("%w: a message without a role", ErrFormat)
	}
	e.Role = sessions.Role(e.inputRole)
	f.rename("toolCalls", "tool_calls", "toolCallId", "tool_call_id", "toolName", "name") // Molf's
	if e.Content, err = takeContent(f); err != nil {
		return e, err
	}
	if err := e.takeCalls(f); err != nil {
		return e, err
	}
	take(f, "name", &e.Name)
	take(f, "sender", &e.Sender)
	take(f, "tool_call_id", &e.ToolCallID)
	take(f, "seq", &e.Seq)
	take(f, "at", &e.At)
	take(f, "turn", &e.Turn)
	take(f, "model", &e.Model)
	take(f, "for_model", &e.ForModel)
	e.takeKind(f)
	take(f, "via", &e.Via)
	take(f, "origins", &e.Origins)
	take(f, "synthetic", &e.Synthetic)
	take(f, "summary", &e.Summary)
	take(f, "replaces", &e.Replaces)
	take(f, "failed", &e.Failed)
	take(f, "attachments", &e.Attachments)
	take(f, "attached", &e.Attached)
	if !take(f, "usage", &e.Usage) {
		e.Usage = foreignUsage(f["usage"])
	}
	for _, name := range []string{"timestamp", "created_at"} { // these also stay in Extra
		if e.At.IsZero() {
			e.At = parseTime(f[name])
		}
	}
	if len(f) > 0 {
		e.Extra = f
	}
	if list := e.parts(); !isClaudes(list) {
		e.noteMarks(list)
	}
	return e, nil
}

// takeKind takes a kind that is one of ours: other programs have kinds of their own.
func (e *entry) takeKind(f fieldSet) {
	for _, kind := range []sessions.MessageKind{sessions.MessageAgain, sessions.MessageStopped, sessions.MessagePlain} {
		if string(f["kind"]) == `"`+string(kind)+`"` {
			take(f, "kind", &e.Kind)
		}
	}
}

// parts are those of a content that is a list.
func (e *entry) parts() []json.RawMessage {
	var list []json.RawMessage
	_ = json.Unmarshal(e.Extra["content"], &list) // nil if it is a text
	return list
}

// fieldSet is a JSON object. Readers take its fields out one by one.
type fieldSet map[string]json.RawMessage

// take moves a field out of f. A field of another type, or with unknown names in it,
// stays in f.
func take[T any](f fieldSet, name string, into *T) bool {
	raw, ok := f[name]
	if !ok {
		return false
	}
	var v T
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(&v) != nil {
		return false
	}
	*into = v
	delete(f, name)
	return true
}

// rename renames fields, given as pairs of old and new name, unless the new name is
// taken.
func (f fieldSet) rename(fromTo ...string) {
	for pair := range slices.Chunk(fromTo, 2) {
		if raw, ok := f[pair[0]]; ok && f[pair[1]] == nil {
			f[pair[1]] = raw
			delete(f, pair[0])
		}
	}
}

// takeContent takes the content if it is text or null. Of a list of parts, which stays
// in f, it returns the texts, and a mark like [image_url] for each part without text.
func takeContent(f fieldSet) (text string, err error) {
	raw := f["content"]
	var list []json.RawMessage
	switch {
	case isList(raw) && json.Unmarshal(raw, &list) == nil:
		return partsText(list), nil
	case len(raw) > 0 && !take(f, "content", &text): // null leaves it empty
		return "", fmt.Errorf("%w: content is neither text nor a list of parts", ErrFormat)
	}
	return text, nil
}

func partsText(list []json.RawMessage) string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = partText(item)
	}
	return strings.Join(texts, "\n")
}

// partText is the text of a part of a list.
func partText(item json.RawMessage) string {
	var s string
	if json.Unmarshal(item, &s) == nil {
		return s
	}
	var part struct {
		Text    *string `json:"text"`
		Refusal *string `json:"refusal"`
	}
	_ = json.Unmarshal(item, &part) // anything else becomes a mark as well
	switch {
	case part.Text != nil:
		return *part.Text
	case part.Refusal != nil:
		return *part.Refusal
	}
	return partMark(item)
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
	Function struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func (w wireCall) decode() sessions.ToolCall {
	c := sessions.ToolCall{ID: cmp.Or(w.ID, w.MolfID), Name: cmp.Or(w.Function.Name, w.Name, w.MolfName)}
	for _, args := range []json.RawMessage{w.Function.Args, w.Args, w.MolfArgs} {
		if c.Arguments != "" || json.Unmarshal(args, &c.Arguments) == nil {
			continue
		}
		var object bytes.Buffer // instead of a text
		if json.Compact(&object, args) == nil {
			c.Arguments = object.String()
		}
	}
	return c
}

// takeCalls takes the tool calls, or one function call. A field with more in it than we
// take also stays in f.
func (e *entry) takeCalls(f fieldSet) error {
	var list []wireCall
	if raw := f["tool_calls"]; !take(f, "tool_calls", &list) && len(raw) > 0 {
		if err := json.Unmarshal(raw, &list); err != nil {
			return fmt.Errorf("%w: tool_calls: %w", ErrFormat, err)
		}
	}
	for _, w := range list {
		e.ToolCalls = append(e.ToolCalls, w.decode())
	}
	var one *wireCall
	raw := f["function_call"]
	if len(list) == 0 && (take(f, "function_call", &one) || json.Unmarshal(raw, &one) == nil) && one != nil {
		call := one.decode()
		e.functionCall = &call
	}
	return nil
}

func (e *entry) isSystem() bool { return e.inputRole == "system" || e.inputRole == "developer" }

// toNote turns e into a note that names its kind.
func (e *entry) toNote(kind string) {
	e.Role = sessions.RoleUser
	e.Content = "[" + kind + "] " + e.Content
	e.Synthetic = true
	e.Name, e.ToolCalls = "", nil
}

// parseTime is parseTimeIn for times that are UTC unless they say otherwise.
func parseTime(raw json.RawMessage) time.Time { return parseTimeIn(raw, nil) }

// parseTimeIn reads a time as text, in the forms of Go, Python, JavaScript and SQLite, or
// as a number since 1970. A text without a zone is of the given one, UTC if nil. A number is in seconds, or in
// the first unit of milliseconds, microseconds and nanoseconds with which it is before
// the year 5138. The zero time means that raw is no time.
func parseTimeIn(raw json.RawMessage, zone *time.Location) time.Time {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", time.DateTime} {
			if t, err := time.ParseInLocation(layout, strings.TrimSpace(text), cmp.Or(zone, time.UTC)); err == nil {
				return t.UTC()
			}
		}
		return time.Time{}
	}
	var n float64
	_ = json.Unmarshal(raw, &n) // 0 if it is no number
	for range 3 {
		if n > 1e11 {
			n /= 1000
		}
	}
	if n <= 0 || n > 253402300799 {
		return time.Time{}
	}
	whole, part := math.Modf(n)
	return time.Unix(int64(whole), int64(part*1e6)*1000).UTC()
}
