package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
	"dragoman/sessions/spool"
)

// FieldsName is the name in Settings.Metadata under which the fields of an
// imported document stand that Dragoman does not know. [NewWriter] puts them
// back into the document.
const FieldsName = sessions.FieldsName

// talk is one conversation as an input tells it.
type talk struct {
	key  string // as the input writes it, or ""
	name string // instead of Options.Name
	head sessions.ConversationRecord
	// said are the messages, in order and in stretches: open is the last one,
	// which is not in said yet. count is how many they are.
	said  *spool.Spool[[]entry]
	open  []entry
	size  int // of open, in bytes, about
	count int
	// summary stands for the first covered entries, or for messages that the
	// input does not have any more.
	summary string
	covered int
	// foreign: the messages get their seqs here, and told: the summary stands
	// before them. Begin finds out.
	foreign, told bool
	// checkpoints: summaries stand among the messages as Molf writes them.
	// joins: the calls of one answer come one by one, as Sentinel writes them.
	// until is the id of the last message that Sentinel summarised.
	checkpoints, joins bool
	until              string
}

// newTalk begins a conversation; what is left of the former one goes.
func (r *Reader) newTalk() *talk {
	if r.current != nil {
		_ = r.current.said.Close() // it is only read from here on
	}
	r.current = &talk{said: spool.New[[]entry](func() (*os.File, error) { return spool.Temp("") })}
	return r.current
}

// How many messages travel in one record, and about how many bytes end it
// before.
const (
	stretchMessages = 100
	stretchBytes    = 256 << 10
)

// add takes the next message.
func (t *talk) add(e entry) error {
	if n := len(t.open); t.joins && n > 0 && t.open[n-1].join(e) {
		return nil
	}
	if len(t.open) >= stretchMessages || t.size >= stretchBytes {
		if err := t.flush(); err != nil {
			return err
		}
	}
	t.open, t.count = append(t.open, e), t.count+1
	t.size += len(e.Content) + 200
	for _, c := range e.ToolCalls {
		t.size += len(c.Arguments)
	}
	for _, raw := range e.Extra {
		t.size += len(raw)
	}
	return nil
}

func (t *talk) flush() error {
	if len(t.open) == 0 {
		return nil
	}
	err := t.said.Add(t.open, t.size)
	t.open, t.size = nil, 0
	return err
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
	return t.set(FieldsName, raw)
}

func (t *talk) set(name string, value json.RawMessage) error {
	if t.head.Settings.Metadata == nil {
		t.head.Settings.Metadata = map[string]json.RawMessage{}
	}
	t.head.Settings.Metadata[name] = value
	return nil
}

// begin makes the record of the conversation, for which it reads all messages
// once; walk reads them again. number counts the conversations of the input,
// from 1.
func (t *talk) begin(o Options, number int, note func(string, ...any)) error {
	key, err := t.chooseKey(o, number)
	if err != nil {
		return err
	}
	h := &t.head
	h.Key = key
	// Without generations it is not from a store of ours.
	t.foreign = len(h.Generations)+len(h.Summaries) == 0
	if err := t.flush(); err != nil {
		return err
	}
	w, created, updated := t.walk(note), h.Created, h.Updated
	for {
		m, err := w.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("exchange: read %s: %w", key, err)
		}
		// Documents of ours say both times as they were. A message may be older
		// than its conversation, by what it takes to store it.
		if t.foreign || updated.IsZero() {
			h.Updated = later(h.Updated, m.At)
		}
		if t.foreign || created.IsZero() {
			h.Created = rules.Earliest(h.Created, m.At)
		}
		h.MessageSeq = max(h.MessageSeq, m.Seq)
	}
	if t.foreign {
		t.summarize(w, updated)
	}
	for _, s := range h.Summaries {
		if s.CoversSeq < 1 || s.CoversSeq > h.MessageSeq {
			return fmt.Errorf("exchange: read %s: %w: a summary covers up to message %d, the last is %d", key, ErrFormat, s.CoversSeq, h.MessageSeq)
		}
	}
	t.dates(o.Now)
	slices.Sort(h.Settings.Tags)
	h.Settings.Tags = slices.Compact(h.Settings.Tags)
	return nil
}

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

// summarize places the prompt and the summary of a conversation that comes
// without generations, after w has read its messages. The summary is from at.
func (t *talk) summarize(w *walk, at time.Time) {
	h := &t.head
	if len(w.system) > 0 && h.Settings.System == "" {
		h.Settings.System = strings.Join(w.system, "\n\n")
	}
	h.MessageSeq = int64(w.kept)
	covers := w.covered
	text := t.summary
	if strings.TrimSpace(text) == "" {
		text, covers = w.summary, w.summaryAfter
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if covers == 0 {
		// The summarised messages are gone, and a summary has to cover
		// something: it becomes the message that it covers.
		t.told, covers = true, 1
		h.MessageSeq++
	}
	h.Summaries = []sessions.Summary{{Text: text, CoversSeq: int64(covers), At: at}}
}

// dates fills what neither the input nor a message of it tells.
func (t *talk) dates(now func() time.Time) {
	h := &t.head
	if h.Updated.IsZero() {
		h.Updated = cmpTime(h.Created, now())
	}
	h.Updated = h.Updated.UTC()
	h.Created = cmpTime(h.Created, h.Updated).UTC()
	for i := range h.Summaries {
		h.Summaries[i].At = cmpTime(h.Summaries[i].At, h.Updated).UTC()
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func cmpTime(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
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

// fields are the names in m, sorted.
func fields(m map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(m)) }

// clip bounds foreign text in an error.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
