package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rules"
	"dragoman/sessions/spool"
)

// conversation is one conversation of an input: add takes its messages one by one, and
// finish emits its records.
type conversation struct {
	note func(string, ...any)
	key  string         // as the input writes it, or ""
	name string         // replaces Options.Name
	zone *time.Location // of times without one; nil: UTC
	head sessions.ConversationRecord
	// chunks are the messages in order, but for the last chunk, open.
	chunks *spool.Spool[[]sessions.Message]
	open   []sessions.Message
	size   int // of open, in bytes, about
	// raw counts the messages of the input, kept those that were made of them.
	raw, kept int
	// span is the time of the earliest message and of the latest, lastSeq the highest seq
	// in the input. notOurs is the first thing that no store of ours writes.
	span    [2]time.Time
	lastSeq int64
	notOurs error
	// system are the system messages before the first other message.
	system []string
	// summary is a field of the input and covers the first covered messages, or
	// messages that the input no longer has. inline is a summary that was a message,
	// and covers the first inlineCovers.
	summary      string
	covered      int
	inline       string
	inlineCovers int
	// checkpoints: summaries are among the messages, as Molf writes them. turns has,
	// for each of the last turns, the number of messages before it.
	checkpoints bool
	turns       []int
	// joins: the calls of one answer come one by one, as Sentinel writes them. until is
	// the id of the last message that Sentinel summarised.
	joins bool
	until string
	// lastCall is the last call of the message before. madeIDs counts calls that got
	// their id here.
	lastCall sessions.ToolCall
	madeIDs  int
}

// conversation reads a conversation with fill and emits it.
func (r *Reader) conversation(emit Emit, fill func(*conversation) error) error {
	t := &conversation{note: r.note, chunks: spool.New[[]sessions.Message]("")}
	defer func() { _ = t.chunks.Close() }()
	if err := fill(t); err != nil {
		return err
	}
	if t.raw == 0 && r.format == Goose {
		r.note("session %.40s has no messages and was left out", t.name)
		return nil
	}
	r.conversations++
	return t.finish(r.opts, r.conversations, emit)
}

// A record holds up to chunkMessages messages, or about chunkBytes bytes.
const (
	chunkMessages = 100
	chunkBytes    = 256 << 10
)

// addDecoded adds the result of a decoder. Errors name the message.
func (t *conversation) addDecoded(e entry, err error) error {
	if err != nil {
		return fmt.Errorf("message %d: %w", t.raw+1, err)
	}
	list := e.parts()
	if !isClaudes(list) {
		return t.add(e)
	}
	for i, one := range e.split(list) {
		if i > 0 {
			t.raw-- // it is one message of the input
		}
		if err := t.add(one); err != nil {
			return err
		}
	}
	return nil
}

// add converts the next message of the input and keeps it.
func (t *conversation) add(e entry) error {
	t.raw++
	if t.notOurs == nil && (e.Seq <= t.lastSeq || !known(e.inputRole)) {
		t.notOurs = fmt.Errorf("%w: message %d of the role %.40q has seq %d after %d", ErrFormat, t.raw, e.inputRole, e.Seq, t.lastSeq)
	}
	t.lastSeq = max(t.lastSeq, e.Seq)
	if e.Seq == 0 && t.takeSummary(&e) {
		return nil
	}
	if e.isSystem() && t.kept == 0 {
		t.system = append(t.system, e.Content)
		return nil
	}
	if err := t.convert(&e); err != nil {
		return err
	}
	for _, change := range e.changes {
		t.note("message %d: %s", t.raw, change)
	}
	if e.Extra["attachments"] != nil {
		t.note("message %d names files, which are not copied", t.raw)
	}
	if n := len(t.open); t.joins && n > 0 && joinCalls(&t.open[n-1], e.Message) {
		return nil
	}
	t.lastCall = sessions.ToolCall{}
	if n := len(e.ToolCalls); n > 0 && e.Role == sessions.RoleAssistant {
		t.lastCall = e.ToolCalls[n-1]
	}
	return t.keep(e.Message)
}

// keep stores m as the next message.
func (t *conversation) keep(m sessions.Message) error {
	if len(t.open) >= chunkMessages || t.size >= chunkBytes {
		if err := t.chunks.Add(t.open, t.size); err != nil {
			return err
		}
		t.open, t.size = nil, 0
	}
	t.open = append(t.open, m)
	t.kept++
	t.size += bytesOf(m)
	t.span = [2]time.Time{rules.Earliest(t.span[0], m.At), rules.Latest(t.span[1], m.At)}
	return nil
}

// bytesOf is about how many bytes m has.
func bytesOf(m sessions.Message) int {
	n := len(m.Content) + 200
	for _, c := range m.ToolCalls {
		n += len(c.Arguments)
	}
	for _, raw := range m.Extra {
		n += len(raw)
	}
	return n
}

// convert gives e a role of ours: old function calls become tool calls, and messages
// with other roles become notes.
func (t *conversation) convert(e *entry) error {
	switch {
	case e.isSystem():
		e.toNote("system message")
		t.note("message %d, a system message, became a note, because only those at the start become the prompt", t.raw)
	case e.inputRole == "function" && t.lastCall.ID != "" && t.lastCall.Name == e.Name:
		e.Role, e.ToolCallID = sessions.RoleTool, t.lastCall.ID
	case e.inputRole == "function":
		e.toNote("result of " + sessions.OneLine(cmp.Or(e.Name, "a function"), 60))
	case !known(e.inputRole):
		return fmt.Errorf("%w: message %d has the role %.40q", ErrFormat, t.raw, e.inputRole)
	case e.functionCall != nil && e.Role == sessions.RoleAssistant:
		t.madeIDs++
		e.functionCall.ID = "call_" + strconv.Itoa(t.madeIDs)
		e.ToolCalls = append(e.ToolCalls, *e.functionCall)
	}
	return nil
}

// summaryHead begins the message in which some programs put the summary of the
// messages before those that they keep. Some add a colon.
const summaryHead = "[Previous conversation summary]"

// turnsOfMolf is how many of the last turns a summary of Molf's leaves out, although
// its model no longer sees them.
const turnsOfMolf = 4

// takeSummary looks for a summary in e, which does not come from a store of ours. One
// under summaryHead stays as a message. A person can write that line too, so of user
// messages only the first counts. The pair of messages that Molf makes is dropped.
func (t *conversation) takeSummary(e *entry) (drop bool) {
	text, headed := strings.CutPrefix(strings.TrimSpace(e.Content), summaryHead)
	text = strings.TrimPrefix(strings.TrimLeft(text, " \t"), ":") // only one in the same line
	text = strings.TrimSpace(text)
	switch {
	case t.checkpoints && e.Summary && e.Synthetic && e.inputRole != "assistant":
		return true // the question of the pair
	case t.checkpoints && e.Summary && e.Synthetic:
		drop = true
		t.inline = e.Content
		t.inlineCovers = t.kept
		if len(t.turns) == turnsOfMolf {
			t.inlineCovers = t.turns[0]
		}
		t.turns = nil
	case headed && text != "" && (e.isSystem() || e.inputRole == "user" && t.kept == 0) && len(e.Attachments) == 0:
		t.inline, t.inlineCovers = strings.TrimSpace(t.inline+"\n\n"+text), t.kept+1
		e.inputRole = "user"
		e.Role = sessions.RoleUser
		e.Content = text
		e.Synthetic = true
		e.Summary = true
	case e.inputRole == "user" && !e.Synthetic:
		t.turns = append(t.turns, t.kept)
		t.turns = t.turns[max(0, len(t.turns)-turnsOfMolf):]
		return false
	default:
		return false
	}
	t.note("message %d is a summary of the messages before it, and became the conversation's summary", t.raw)
	return drop
}

// setMetadata keeps a value in the conversation's metadata.
func (t *conversation) setMetadata(name string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%w: the field %q cannot be kept: %w", ErrFormat, name, err)
	}
	if t.head.Settings.Metadata == nil {
		t.head.Settings.Metadata = map[string]json.RawMessage{}
	}
	t.head.Settings.Metadata[name] = raw
	return nil
}

// known reports whether role is one of a transcript's.
func known(role string) bool {
	return slices.Contains([]sessions.Role{sessions.RoleUser, sessions.RoleAssistant, sessions.RoleTool}, sessions.Role(role))
}
