package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"dragoman/sessions"
	"dragoman/sessions/exchange/goose"
)

// openGoose reads a database, a session at a time.
func openGoose(ctx context.Context, path string, o Options) (*Reader, error) {
	db, err := goose.Open(ctx, path)
	if err != nil {
		return nil, foreign(err)
	}
	list, err := db.Sessions(ctx)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	r := &Reader{opts: o, format: Goose, close: db.Close}
	r.talk = func() (*talk, error) {
		for len(list) > 0 {
			s := list[0]
			list = list[1:]
			t := r.newTalk()
			if err := t.goose(ctx, db, s, r.note); err != nil {
				return nil, fmt.Errorf("exchange: read session %s: %w", clip(s.ID), err)
			}
			if t.count > 0 {
				return t, nil
			}
			r.note("session %s has no messages and was left out", clip(s.ID))
		}
		return nil, io.EOF
	}
	return r, nil
}

func (t *talk) goose(ctx context.Context, db *goose.Database, s goose.Session, note func(string, ...any)) error {
	t.name = s.ID
	if err := t.gooseHead(s); err != nil {
		return err
	}
	told := ""       // the text of the newest summary
	hidden := false  // the message before was kept from the model
	inBlock := false // in a run of messages that only the model sees
	return db.Messages(ctx, s.ID, func(m goose.Message) error {
		list, only, hid, err := gooseEntries(fieldSet(m), t.count+1, note)
		if err != nil {
			return err
		}
		for i := range list {
			// Only the model sees what goose writes when it compacts: the summary,
			// then notes. They stand for what it does not see any more.
			list[i].Summary, list[i].Synthetic = list[i].Summary || only, list[i].Synthetic || only
			if err := t.add(list[i]); err != nil {
				return err
			}
		}
		switch {
		case only && len(list) > 0 && (hidden || inBlock):
			if !inBlock {
				told = list[0].Content
			}
			inBlock, t.summary, t.covered = true, told, t.count
		default:
			inBlock = false
		}
		hidden = hidden || hid
		return nil
	})
}

func (t *talk) gooseHead(s goose.Session) error {
	f, h := fieldSet(s.Columns), &t.head
	h.Created, h.Updated = moment(f["created_at"]), moment(f["updated_at"])
	if !f.take("name", &h.Title) || h.Title == "" {
		f.take("description", &h.Title)
	}
	h.Title = sessions.OneLine(h.Title, 150)
	id, err := json.Marshal(s.ID)
	if err != nil {
		return err
	}
	var text string
	if f.take("metadata", &text) {
		var own fieldSet
		if json.Unmarshal([]byte(text), &own) == nil {
			own.take("tags", &h.Settings.Tags)
			for name, value := range own {
				if err := t.set(name, value); err != nil {
					return err
				}
			}
		}
	}
	delete(f, "created_at")
	delete(f, "updated_at")
	if len(f) > 0 {
		rest, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if err := t.set("goose", rest); err != nil {
			return err
		}
	}
	return t.set("goose_id", id)
}

// gooseEntries makes messages of a row: goose keeps the results of tools in
// messages of the user. only: nobody but the model sees it; hid: the model
// does not see it.
func gooseEntries(f fieldSet, number int, note func(string, ...any)) (list []entry, only, hid bool, err error) {
	var base entry
	if !f.take("role", &base.Told) {
		return nil, false, false, fmt.Errorf("%w: message %d has no role", ErrFormat, number)
	}
	base.At = moment(f["created_timestamp"])
	if base.At.IsZero() {
		base.At = moment(f["timestamp"])
	}
	base.Role = sessions.Role(base.Told)
	only, hid = gooseSight(f["metadata_json"])
	var content string
	if !f.take("content_json", &content) {
		list, err = plainRow(base, f, number, note)
		return list, only, hid, err
	}
	list, err = partRow(base, content, number)
	if err != nil {
		return nil, false, false, err
	}
	keepRow(list, f)
	return list, only, hid, nil
}

// gooseSeen is who sees a message.
type gooseSeen struct {
	User  *bool `json:"userVisible"`
	Agent *bool `json:"agentVisible"`
}

// gooseSight reads the metadata of a row: only the model sees it, or all but
// the model.
func gooseSight(raw json.RawMessage) (only, hid bool) {
	var text string
	var seen gooseSeen
	if json.Unmarshal(raw, &text) != nil {
		return false, false
	}
	if json.Unmarshal([]byte(text), &seen) != nil {
		return false, false
	}
	hid = seen.Agent != nil && !*seen.Agent
	return !hid && seen.User != nil && !*seen.User, hid
}

// keepRow puts the rest of a row into the first message that it became.
func keepRow(list []entry, f fieldSet) {
	for _, name := range []string{"id", "session_id"} {
		delete(f, name)
	}
	if len(list) == 0 || len(f) == 0 {
		return
	}
	if list[0].Extra == nil {
		list[0].Extra = map[string]json.RawMessage{}
	}
	for name, value := range f {
		if _, taken := list[0].Extra[name]; !taken {
			list[0].Extra["goose_"+name] = value
		}
	}
}

// plainRow is a row of the simpler kind: text, and calls without results,
// which stand in rows of the role function and name no call.
func plainRow(e entry, f fieldSet, number int, note func(string, ...any)) ([]entry, error) {
	f.take("content", &e.Content)
	var calls string
	if f.take("tool_calls", &calls) && strings.TrimSpace(calls) != "" {
		own := fieldSet{"tool_calls": json.RawMessage(calls)}
		if err := e.calls(own); err != nil {
			return nil, fmt.Errorf("message %d: %w", number, err)
		}
		if len(own) > 0 && len(e.ToolCalls) > 0 {
			e.Extra = own
		}
	}
	if e.Told == "function" {
		note("message %d, the result of a function, became a note: it names no call", number)
	}
	list := []entry{e}
	keepRow(list, f)
	return list, nil
}

// goosePart is one part of a message's content.
type goosePart struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	Text     string `json:"text"`
	ToolCall *struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Value  struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"value"`
	} `json:"toolCall"`
	ToolResult *struct {
		Status string          `json:"status"`
		Error  string          `json:"error"`
		Value  json.RawMessage `json:"value"`
	} `json:"toolResult"`
}

// partRow is a row of goose's own: a list of parts. What is neither text, nor
// a call, nor a result leaves a mark, and the list stays in Extra.
func partRow(base entry, content string, number int) ([]entry, error) {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(content), &list); err != nil {
		return nil, fmt.Errorf("%w: message %d: its content is no list: %w", ErrFormat, number, err)
	}
	var texts []string
	var results []entry
	whole := true
	for _, item := range list {
		var p goosePart
		if json.Unmarshal(item, &p) != nil {
			texts, whole = append(texts, "[part]"), false
			continue
		}
		switch {
		case p.Type == "text":
			texts = append(texts, p.Text)
		case p.Type == "toolRequest" && p.ToolCall != nil && base.Told == "assistant":
			args := string(p.ToolCall.Value.Arguments)
			if args == "" || args == "null" {
				args = "{}"
			}
			name := p.ToolCall.Value.Name
			if name == "" { // a call that could not be understood
				name, whole = "unknown", false
			}
			base.ToolCalls = append(base.ToolCalls, sessions.ToolCall{ID: p.ID, Name: name, Arguments: args})
		case p.Type == "toolResponse" && p.ToolResult != nil:
			r := entry{Told: "tool"}
			r.Role, r.ToolCallID, r.At = sessions.RoleTool, p.ID, base.At
			r.Content = resultText(p.ToolResult.Error, p.ToolResult.Value)
			results = append(results, r)
		default:
			texts, whole = append(texts, partText(item)), false
		}
	}
	base.Content = strings.Join(texts, "\n")
	out := results // before what the user says in the same row: they end the turn before
	if base.Content != "" || len(base.ToolCalls) > 0 || len(results) == 0 {
		out = append(out, base)
	}
	if !whole {
		out[0].Extra = map[string]json.RawMessage{"goose_content": json.RawMessage(content)}
	}
	return out, nil
}

// gooseResult is what a tool said, as an object.
type gooseResult struct {
	Content []json.RawMessage `json:"content"`
}

// resultText is what a tool said: an error, a list of parts, or an object with
// such a list.
func resultText(failure string, value json.RawMessage) string {
	if failure != "" {
		return "error: " + failure
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		var object gooseResult
		if json.Unmarshal(value, &object) != nil || object.Content == nil {
			return string(value)
		}
		list = object.Content
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = partText(item)
	}
	return strings.Join(texts, "\n")
}
