package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/sessions"
)

// openGoose reads the SQLite database in which goose keeps its sessions, or the
// simpler one of programs that follow its pattern, a session at a time.
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
			err = r.talk(emit, func(t *talk) error { return t.goose(ctx, g, list[i]) })
		}
		return err
	}
	return r, nil
}

// goose reads a session and its messages.
func (t *talk) goose(ctx context.Context, g *gooseFile, session fieldSet) error {
	err := t.gooseHead(session)
	if err == nil {
		err = t.gooseMessages(ctx, g)
	}
	if err != nil {
		return fmt.Errorf("exchange: read session %.40s: %w", t.name, err)
	}
	return nil
}

func (t *talk) gooseMessages(ctx context.Context, g *gooseFile) error {
	hidden := false  // a message before was kept from the model
	inBlock := false // in a run of messages that only the model sees
	// In the order in which they were stored, never by the clock.
	return g.each(ctx, "SELECT * FROM messages "+ofSession, []any{t.name}, func(row fieldSet) error {
		only, hid := gooseSight(row["metadata_json"])
		list, err := gooseEntries(row)
		if err != nil {
			return fmt.Errorf("message %d: %w", t.raw+1, err)
		}
		for _, e := range list {
			// When goose compacts it writes a summary and notes that only the model
			// sees. They replace the messages that it no longer sees.
			e.Summary, e.Synthetic = e.Summary || only, e.Synthetic || only
			if err := t.add(e); err != nil {
				return err
			}
		}
		before := inBlock
		if inBlock = only && (hidden || inBlock); inBlock {
			t.covered = t.kept
		}
		if inBlock && !before {
			t.summary = list[0].Content
		}
		hidden = hidden || hid
		if list[0].told == "function" {
			t.note("message %d, the result of a function, became a note, because it names no call", t.raw)
		}
		return nil
	})
}

func (t *talk) gooseHead(f fieldSet) error {
	if !take(f, "id", &t.name) { // a number, perhaps
		t.name = string(f["id"])
		delete(f, "id")
	}
	h := &t.head
	h.Created, h.Updated = moment(f["created_at"]), moment(f["updated_at"])
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
			if err := t.set(name, value); err != nil {
				return err
			}
		}
	}
	if len(f) > 0 {
		if err := t.set("goose", f); err != nil {
			return err
		}
	}
	return t.set("goose_id", t.name)
}

// gooseSight reads the metadata of a row: only the model sees it, or all but
// the model.
func gooseSight(raw json.RawMessage) (only, hid bool) {
	var text string
	var seen struct {
		User  *bool `json:"userVisible"`
		Agent *bool `json:"agentVisible"`
	}
	if json.Unmarshal(raw, &text) != nil || json.Unmarshal([]byte(text), &seen) != nil {
		return false, false
	}
	hid = seen.Agent != nil && !*seen.Agent
	return !hid && seen.User != nil && !*seen.User, hid
}

// gooseEntries makes messages of a row, at least one: goose keeps the results
// of tools in messages of the user. The other columns of the row go into the first.
func gooseEntries(row fieldSet) (list []entry, err error) {
	f := fieldSet{"role": row["role"]}
	if raw := row["content"]; raw != nil && row["content_json"] == nil {
		f["content"] = raw
	}
	var text string
	if take(row, "tool_calls", &text) && strings.TrimSpace(text) != "" {
		f["tool_calls"] = json.RawMessage(text)
	}
	said, err := entryOf(f)
	if err != nil {
		return nil, err
	}
	if take(row, "content_json", &text) {
		var parts []json.RawMessage
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			return nil, fmt.Errorf("%w: its content is not a list: %w", ErrFormat, err)
		}
		list = said.gooseParts(parts)
	}
	if said.Content != "" || len(said.ToolCalls) > 0 || len(list) == 0 {
		list = append(list, said) // after the results in the same row: they end the turn before
	}
	at := moment(row["created_timestamp"])
	for i := range list {
		list[i].At = cmp.Or(at, moment(row["timestamp"]))
	}
	first := &list[0]
	for name, value := range row {
		switch name {
		case "id", "session_id", "role", "content":
			continue
		}
		first.extra("goose_"+name, value)
	}
	return list, nil
}

func (e *entry) extra(name string, value json.RawMessage) {
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

// gooseParts gives e the texts and calls of a row of goose's own, and makes
// messages of its results. If there are other parts, the original stays.
func (e *entry) gooseParts(parts []json.RawMessage) (results []entry) {
	var said []json.RawMessage
	plain := true
	for _, item := range parts {
		var p goosePart
		_ = json.Unmarshal(item, &p) // what is no part stays as it is
		switch p.Type {
		case "toolRequest":
			asked := p.ToolCall.Value
			if asked.Name == "" { // a call that goose could not understand
				said, plain = append(said, item), false
			}
			args := asked.Arguments
			if args == nil {
				args = json.RawMessage("{}")
			}
			e.ToolCalls = append(e.ToolCalls, wireCall{ID: p.ID, Name: cmp.Or(asked.Name, "unknown"), Args: args}.ours())
		case "toolResponse":
			r := entry{told: "tool"}
			r.Role, r.ToolCallID = sessions.RoleTool, p.ID
			r.Content = resultText(p.ToolResult.Error, p.ToolResult.Value)
			results = append(results, r)
		default:
			said, plain = append(said, item), plain && p.Type == "text"
		}
	}
	e.Content = partsText(said)
	if raw, err := encode(said, "", ""); err == nil && !plain {
		e.extra("content", raw)
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
