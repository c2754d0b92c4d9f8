package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// FieldsName is the name in Settings.Metadata under which the fields of an
// imported document stand that Dragoman does not know. [NewWriter] puts them
// back into the document.
const FieldsName = "imported_fields"

// talk is one conversation as an input tells it.
type talk struct {
	key  string // as the input writes it, or ""
	name string // instead of Options.Name
	head sessions.ConversationRecord
	// entries are the messages, in order.
	entries []entry
	// summary stands for the first covered entries, or for messages that the
	// input does not have any more.
	summary string
	covered int
}

// keepFields remembers unknown fields.
func (t *talk) keepFields(fields map[string]json.RawMessage) error {
	if len(fields) == 0 {
		return nil
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return t.put(FieldsName, raw)
}

func (t *talk) put(name string, value json.RawMessage) error {
	if t.head.Settings.Metadata == nil {
		t.head.Settings.Metadata = map[string]json.RawMessage{}
	}
	t.head.Settings.Metadata[name] = value
	return nil
}

// records makes what a store restores. number counts the conversations of the
// input, from 1.
func (t *talk) records(o Options, number int, note func(string, ...any)) ([]sessions.Record, error) {
	key, err := t.chooseKey(o, number)
	if err != nil {
		return nil, err
	}
	t.head.Key = key
	if len(t.head.Generations)+len(t.head.Summaries) == 0 { // not from a store of ours
		if err := t.begin(note); err != nil {
			return nil, fmt.Errorf("exchange: read %s: %w", key, err)
		}
	} else if err := t.check(); err != nil {
		return nil, fmt.Errorf("exchange: read %s: %w", key, err)
	}
	messages := make([]sessions.Message, len(t.entries))
	for i, e := range t.entries {
		messages[i] = e.Message
	}
	t.times(messages, o.Now)
	slices.Sort(t.head.Settings.Tags)
	t.head.Settings.Tags = slices.Compact(t.head.Settings.Tags)
	out := []sessions.Record{{Conversation: &t.head}}
	for stretch := range slices.Chunk(messages, stretchMessages) {
		out = append(out, sessions.Record{Messages: &sessions.MessagesRecord{Key: key, Messages: stretch}})
	}
	return out, nil
}

// stretchMessages is how many messages travel in one record.
const stretchMessages = 100

// chooseKey: what the caller says, what the input says, what the input is
// called.
func (t *talk) chooseKey(o Options, number int) (channels.Key, error) {
	if !o.Key.IsZero() {
		if number > 1 {
			return o.Key, fmt.Errorf("exchange: %w: the file holds more than one conversation, a key names only one", ErrNoKey)
		}
		return o.Key, nil
	}
	if t.key != "" {
		k, err := channels.ParseKey(t.key)
		if err != nil {
			return k, fmt.Errorf("exchange: %w: %w", ErrNoKey, err)
		}
		return k, nil
	}
	name := cmp.Or(t.name, o.Name, "conversation")
	if t.name == "" && number > 1 {
		name += "-" + strconv.Itoa(number)
	}
	k, err := channels.NewKey("import", name)
	if err != nil {
		return k, fmt.Errorf("exchange: %w: the file's name makes none: %w", ErrNoKey, err)
	}
	return k, nil
}

// begin numbers the messages of a conversation that comes without
// generations, and places its summary.
func (t *talk) begin(note func(string, ...any)) error {
	if err := t.settle(note); err != nil {
		return err
	}
	if strings.TrimSpace(t.summary) != "" && t.covered == 0 {
		// The summarised messages are gone, and a summary has to cover
		// something: it becomes the message that it covers.
		told := entry{Message: sessions.Message{Role: sessions.RoleUser, Content: t.summary, Synthetic: true, Summary: true}}
		t.entries, t.covered = slices.Insert(t.entries, 0, told), 1
	}
	for i := range t.entries {
		t.entries[i].Seq = int64(i) + 1
	}
	t.head.MessageSeq = int64(len(t.entries))
	if strings.TrimSpace(t.summary) != "" {
		t.head.Summaries = []sessions.Summary{{Text: t.summary, CoversSeq: int64(t.covered), At: t.head.Updated}}
	}
	return nil
}

// check looks at the order of a conversation that comes with seqs.
func (t *talk) check() error {
	last := int64(0)
	for i, e := range t.entries {
		if e.Seq <= last {
			return fmt.Errorf("%w: message %d has seq %d after %d", ErrFormat, i+1, e.Seq, last)
		}
		if !known(e.role) {
			return fmt.Errorf("%w: message %d has the role %q", ErrFormat, i+1, clip(e.role))
		}
		last = e.Seq
	}
	t.head.MessageSeq = max(t.head.MessageSeq, last)
	for _, s := range t.head.Summaries {
		if s.CoversSeq < 1 || s.CoversSeq > t.head.MessageSeq {
			return fmt.Errorf("%w: a summary covers up to message %d, the last is %d", ErrFormat, s.CoversSeq, t.head.MessageSeq)
		}
	}
	return nil
}

// times fills what the input does not tell: a message without a time gets the
// one of its neighbour before, the first that of the conversation.
func (t *talk) times(messages []sessions.Message, now func() time.Time) {
	h := &t.head
	for _, m := range messages {
		if m.At.After(h.Updated) {
			h.Updated = m.At
		}
		if !m.At.IsZero() && (h.Created.IsZero() || m.At.Before(h.Created)) {
			h.Created = m.At
		}
	}
	if h.Updated.IsZero() {
		h.Updated = cmpTime(h.Created, now())
	}
	h.Updated = h.Updated.UTC()
	h.Created = cmpTime(h.Created, h.Updated).UTC()
	at := h.Created
	for i := range messages {
		if messages[i].At.IsZero() {
			messages[i].At = at
		}
		at = messages[i].At.UTC()
		messages[i].At = at
	}
	for i := range h.Summaries {
		h.Summaries[i].At = cmpTime(h.Summaries[i].At, h.Updated).UTC()
	}
}

func cmpTime(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}

// settle makes messages of ours of the entries: what the system said first
// becomes the conversation's prompt, and old function calls become tool calls.
func (t *talk) settle(note func(string, ...any)) error {
	var system []string
	kept := t.entries[:0:0]
	made := 0
	for i, e := range t.entries {
		if i == t.covered && t.covered > 0 {
			t.covered = len(kept)
		}
		switch e.role {
		case "system", "developer":
			if len(kept) == 0 {
				system = append(system, e.Content)
				continue
			}
			e.Message = noted("system message", e.Message)
			note("message %d, of the system, became a note: only those at the start make a prompt", i+1)
		case "function":
			if id := openCall(kept, e.Name); id != "" {
				e.Role, e.ToolCallID = sessions.RoleTool, id
			} else {
				e.Message = noted("result of "+sessions.OneLine(cmp.Or(e.Name, "a function"), 60), e.Message)
			}
		case "assistant":
			if e.call != nil {
				made++
				e.call.ID = "call_" + strconv.Itoa(made)
				e.ToolCalls = append(e.ToolCalls, *e.call)
			}
		default:
			if !known(e.role) {
				return fmt.Errorf("%w: message %d has the role %q", ErrFormat, i+1, clip(e.role))
			}
		}
		kept = append(kept, e)
	}
	if t.covered >= len(t.entries) {
		t.covered = len(kept)
	}
	t.entries = kept
	if len(system) > 0 && t.head.Settings.System == "" {
		t.head.Settings.System = strings.Join(system, "\n\n")
	}
	return nil
}

func known(role string) bool {
	return slices.Contains([]string{string(sessions.RoleUser), string(sessions.RoleAssistant), string(sessions.RoleTool)}, role)
}

// noted is a message that has no role here, as a note that says what it was.
func noted(what string, m sessions.Message) sessions.Message {
	m.Role, m.Content, m.Synthetic = sessions.RoleUser, "["+what+"] "+m.Content, true
	m.Name, m.ToolCalls = "", nil
	return m
}

// openCall finds the newest call of the function called name in the last
// assistant message that has no result yet.
func openCall(before []entry, name string) string {
	answered := map[string]bool{}
	for _, e := range slices.Backward(before) {
		if e.Role == sessions.RoleTool {
			answered[e.ToolCallID] = true
			continue
		}
		if e.Role != sessions.RoleAssistant {
			return ""
		}
		for _, c := range slices.Backward(e.ToolCalls) {
			if c.Name == name && !answered[c.ID] {
				return c.ID
			}
		}
		return ""
	}
	return ""
}

// fields are the names in m, sorted.
func fields(m map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(m)) }

// clip bounds foreign text in an error.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
