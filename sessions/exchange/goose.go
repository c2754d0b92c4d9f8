package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/sessions"
)

// openGoose reads the SQLite database of goose, or the simpler one of programs that
// follow its pattern, one session at a time.
func openGoose(ctx context.Context, path string, o Options) (*Reader, error) {
	g, err := openGooseFile(ctx, path)
	if err != nil {
		return nil, err
	}
	r := newReader(o)
	r.format, r.close = Goose, g.Close
	r.read = func(emit Emit) error {
		var list []fieldSet
		err := g.each(ctx, "SELECT * FROM sessions ORDER BY rowid", nil, func(session fieldSet) error {
			list = append(list, session)
			return nil
		})
		for i := 0; i < len(list) && err == nil; i++ {
			err = r.conversation(emit, func(t *conversation) error { return t.goose(ctx, g, list[i]) })
		}
		return err
	}
	return r, nil
}

// goose reads a session and its messages.
func (t *conversation) goose(ctx context.Context, g *gooseFile, session fieldSet) error {
	err := t.gooseHead(session)
	if err == nil {
		err = t.gooseMessages(ctx, g)
	}
	if err != nil {
		return fmt.Errorf("exchange: read session %.40s: %w", t.name, err)
	}
	return nil
}

func (t *conversation) gooseMessages(ctx context.Context, g *gooseFile) error {
	hidden := false  // an earlier message was hidden from the model
	inBlock := false // in a run of messages that only the model sees
	// In the order of the rows, never by the clock.
	return g.each(ctx, "SELECT * FROM messages "+ofSession, []any{t.name}, func(row fieldSet) error {
		modelOnly, hid := gooseVisibility(row["metadata_json"])
		list, err := gooseEntries(row)
		if err != nil {
			return fmt.Errorf("message %d: %w", t.raw+1, err)
		}
		for _, e := range list {
			// When goose compacts it writes a summary and notes that only the model
			// sees. They replace the messages that it no longer sees.
			e.Summary, e.Synthetic = e.Summary || modelOnly, e.Synthetic || modelOnly
			if err := t.add(e); err != nil {
				return err
			}
		}
		before := inBlock
		inBlock = modelOnly && (hidden || inBlock)
		if inBlock {
			t.covered = t.kept
		}
		if inBlock && !before {
			t.summary = list[0].Content
		}
		hidden = hidden || hid
		if list[0].inputRole == "function" {
			t.note("message %d, the result of a function, became a note, because it names no call", t.raw)
		}
		return nil
	})
}

func (t *conversation) gooseHead(f fieldSet) error {
	if !take(f, "id", &t.name) { // a number, perhaps
		t.name = string(f["id"])
		delete(f, "id")
	}
	h := &t.head
	h.Created, h.Updated = parseTime(f["created_at"]), parseTime(f["updated_at"])
	delete(f, "created_at")
	delete(f, "updated_at")
	if !take(f, "name", &h.Title) || h.Title == "" {
		take(f, "description", &h.Title)
	}
	h.Title = sessions.OneLine(h.Title, 150)
	var text string
	if take(f, "metadata", &text) {
		var own fieldSet
		_ = json.Unmarshal([]byte(text), &own)
		take(own, "tags", &h.Settings.Tags)
		for name, value := range own {
			if err := t.setMetadata(name, value); err != nil {
				return err
			}
		}
	}
	if len(f) > 0 {
		if err := t.setMetadata("goose", f); err != nil {
			return err
		}
	}
	return t.setMetadata("goose_id", t.name)
}

// gooseVisibility reads the metadata of a row. Only the model sees a message that is
// modelOnly, and only the user one that is hidden.
func gooseVisibility(raw json.RawMessage) (modelOnly, hidden bool) {
	var text string
	var seen struct {
		User  *bool `json:"userVisible"`
		Agent *bool `json:"agentVisible"`
	}
	if json.Unmarshal(raw, &text) != nil || json.Unmarshal([]byte(text), &seen) != nil {
		return false, false
	}
	hidden = seen.Agent != nil && !*seen.Agent
	return !hidden && seen.User != nil && !*seen.User, hidden
}

// gooseEntries decodes a row into at least one message: goose keeps the results of
// tools in messages of the user. The other columns go into Extra of the first.
func gooseEntries(row fieldSet) (list []entry, err error) {
	f := fieldSet{"role": row["role"]}
	if raw := row["content"]; raw != nil && row["content_json"] == nil {
		f["content"] = raw
	}
	var text string
	if take(row, "tool_calls", &text) && strings.TrimSpace(text) != "" {
		f["tool_calls"] = json.RawMessage(text)
	}
	e, err := entryOf(f)
	if err != nil {
		return nil, err
	}
	if take(row, "content_json", &text) {
		var parts []json.RawMessage
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			return nil, fmt.Errorf("%w: its content is not a list: %w", ErrFormat, err)
		}
		list = e.gooseParts(parts)
	}
	if e.Content != "" || len(e.ToolCalls) > 0 || len(list) == 0 {
		list = append(list, e) // after the results, which end the turn before
	}
	at := parseTime(row["created_timestamp"])
	for i := range list {
		list[i].At = cmp.Or(at, parseTime(row["timestamp"]))
	}
	first := &list[0]
	for name, value := range row {
		switch name {
		case "id", "session_id", "role", "content":
			continue
		}
		first.setExtra("goose_"+name, value)
	}
	return list, nil
}

func (e *entry) setExtra(name string, value json.RawMessage) {
	if e.Extra == nil {
		e.Extra = fieldSet{}
	}
	e.Extra[name] = value
}

// goosePart is one part of a message's content.
type goosePart struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	ToolCall struct {
		Value struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"value"`
	} `json:"toolCall"`
	ToolResult struct {
		Error string          `json:"error"`
		Value json.RawMessage `json:"value"`
	} `json:"toolResult"`
}

// gooseParts decodes the parts of goose's own rows: it gives e the texts and calls and
// returns the results as messages. If there are other parts, Extra keeps them all.
func (e *entry) gooseParts(parts []json.RawMessage) (results []entry) {
	var content []json.RawMessage // all but calls and results
	plain := true                 // content has only text
	for _, item := range parts {
		var p goosePart
		_ = json.Unmarshal(item, &p) // anything else is content
		switch p.Type {
		case "toolRequest":
			call := p.ToolCall.Value
			if call.Name == "" { // a call that goose could not understand
				content, plain = append(content, item), false
			}
			args := call.Arguments
			if args == nil {
				args = json.RawMessage("{}")
			}
			e.ToolCalls = append(e.ToolCalls, wireCall{ID: p.ID, Name: cmp.Or(call.Name, "unknown"), Args: args}.decode())
		case "toolResponse":
			r := entry{inputRole: "tool"}
			r.Role, r.ToolCallID = sessions.RoleTool, p.ID
			r.Content = resultText(p.ToolResult.Error, p.ToolResult.Value)
			results = append(results, r)
		default:
			content, plain = append(content, item), plain && p.Type == "text"
		}
	}
	e.Content = partsText(content)
	if raw, err := encode(content, "", ""); err == nil && !plain {
		e.setExtra("content", raw)
	}
	return results
}

// resultText is the text of a tool's result: an error, a list of parts, or an object
// with such a list.
func resultText(failure string, value json.RawMessage) string {
	if failure != "" {
		return "error: " + failure
	}
	var object struct {
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(value, &object.Content) != nil && (json.Unmarshal(value, &object) != nil || object.Content == nil) {
		return string(value)
	}
	return partsText(object.Content)
}
