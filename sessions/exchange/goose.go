package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	var list []fieldSet
	err = g.each(ctx, "SELECT * FROM sessions ORDER BY rowid", nil, func(session fieldSet) error {
		list = append(list, session)
		return nil
	})
	if err != nil {
		_ = g.Close()
		return nil, err
	}
	r := &Reader{opts: o, format: Goose, close: g.Close}
	r.talk = func() (*talk, error) {
		for len(list) > 0 {
			t := r.newTalk()
			if err := t.goose(ctx, g, list[0]); err != nil {
				return nil, fmt.Errorf("exchange: read session %.40s: %w", t.name, err)
			}
			list = list[1:]
			if t.raw > 0 {
				return t, nil
			}
			r.note("session %.40s has no messages and was left out", t.name)
		}
		return nil, io.EOF
	}
	return r, nil
}

func (t *talk) goose(ctx context.Context, g *gooseFile, session fieldSet) error {
	if err := t.gooseHead(session); err != nil {
		return err
	}
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
	e := fieldSet{"role": row["role"], "content": row["content"]}
	at := moment(row["created_timestamp"])
	if at.IsZero() {
		at = moment(row["timestamp"])
	}
	var text string
	if take(row, "tool_calls", &text) && strings.TrimSpace(text) != "" {
		e["tool_calls"] = json.RawMessage(text)
	}
	if take(row, "content_json", &text) {
		var parts []json.RawMessage
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			return nil, fmt.Errorf("%w: its content is not a list: %w", ErrFormat, err)
		}
		if list, err = gooseParts(e, parts); err != nil {
			return nil, err
		}
	}
	if e["content"] != nil || e["tool_calls"] != nil || len(list) == 0 {
		said, err := entryOf(e)
		if err != nil {
			return nil, err
		}
		list = append(list, said) // behind the results in the same row: they end the turn before
	}
	for i := range list {
		list[i].At = at
	}
	first := &list[0]
	for name, value := range row {
		switch name {
		case "id", "session_id", "role", "content":
			continue
		}
		if first.Extra == nil {
			first.Extra = fieldSet{}
		}
		first.Extra["goose_"+name] = value
	}
	return list, nil
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

// gooseParts puts the texts and calls of a row of goose's own into e, and makes
// messages of its results. Other parts stay in the content of e.
func gooseParts(e fieldSet, parts []json.RawMessage) (results []entry, err error) {
	var said []json.RawMessage
	var texts []string
	var calls []map[string]any
	for _, item := range parts {
		var p goosePart
		_ = json.Unmarshal(item, &p) // what is no part stays as it is
		switch p.Type {
		case "toolRequest":
			name, args := p.ToolCall.Value.Name, p.ToolCall.Value.Arguments
			if name == "" { // a call that goose could not understand
				name, said = "unknown", append(said, item)
			}
			if args == nil {
				args = json.RawMessage("{}")
			}
			calls = append(calls, map[string]any{"id": p.ID, "name": name, "arguments": args})
		case "toolResponse":
			r := entry{told: "tool"}
			r.Role, r.ToolCallID = sessions.RoleTool, p.ID
			r.Content = resultText(p.ToolResult.Error, p.ToolResult.Value)
			results = append(results, r)
		case "text":
			texts = append(texts, partText(item))
			fallthrough
		default:
			said = append(said, item)
		}
	}
	delete(e, "content")
	switch {
	case len(said) == 0:
	case len(said) == len(texts):
		e["content"], err = encode(strings.Join(texts, "\n"))
	default:
		e["content"], err = encode(said)
	}
	if err != nil {
		return nil, err
	}
	if len(calls) > 0 {
		e["tool_calls"], err = encode(calls)
	}
	return results, err
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
	texts := make([]string, len(object.Content))
	for i, item := range object.Content {
		texts[i] = partText(item)
	}
	return strings.Join(texts, "\n")
}
