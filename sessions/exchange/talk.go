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

// talk is one conversation of an input: add takes its messages one by one, and
// finish emits its records.
type talk struct {
	note func(string, ...any)
	key  string // as the input writes it, or ""
	name string // instead of Options.Name
	head sessions.ConversationRecord
	// said are the messages, in order and in stretches: open is the last one,
	// which is not in said yet.
	said *spool.Spool[[]sessions.Message]
	open []sessions.Message
	size int // of open, in bytes, about
	// raw counts the messages of the input, kept those that were made of them.
	raw, kept int
	// span is from the first moment of a message to the last, top the last seq
	// that a message came with. stray is the first thing that no store of ours writes.
	span  [2]time.Time
	top   int64
	stray error
	// system are the system messages before the first other message.
	system []string
	// summary covers the first covered messages, or messages that the input no longer
	// has. It is a field of the input. among is a summary that was a message, and covers
	// the first amongAfter.
	summary    string
	covered    int
	among      string
	amongAfter int
	// checkpoints: summaries are among the messages, as Molf writes them, and
	// turns says before how many messages the last turns began.
	// joins: the calls of one answer come one by one, as Sentinel writes them.
	// until is the id of the last message that Sentinel summarised.
	checkpoints, joins bool
	turns              []int
	until              string
	// asked is the last call of the message before. made counts calls that got
	// their id here.
	asked sessions.ToolCall
	made  int
}

// talk has fill read a conversation, and emits it.
func (r *Reader) talk(emit Emit, fill func(*talk) error) error {
	t := &talk{note: r.note, said: spool.New[[]sessions.Message]("")}
	defer func() { _ = t.said.Close() }() // nothing in it is needed any more
	if err := fill(t); err != nil {
		return err
	}
	if t.raw == 0 && r.format == Goose {
		r.note("session %.40s has no messages and was left out", t.name)
		return nil
	}
	r.talks++
	return t.finish(r.opts, r.talks, emit)
}

// How many messages travel in one record, and about how many bytes end it
// before.
const (
	stretchMessages = 100
	stretchBytes    = 256 << 10
)

// put adds a decoded message.
func (t *talk) put(e entry, err error) error {
	if err != nil {
		return fmt.Errorf("message %d: %w", t.raw+1, err)
	}
	return t.add(e)
}

// add takes the next message and makes one of ours of it.
func (t *talk) add(e entry) error {
	t.raw++
	if t.stray == nil && (e.Seq <= t.top || !known(e.told)) {
		t.stray = fmt.Errorf("%w: message %d of the role %.40q has seq %d after %d", ErrFormat, t.raw, e.told, e.Seq, t.top)
	}
	t.top = max(t.top, e.Seq)
	if e.Seq == 0 && t.summarized(&e) {
		return nil
	}
	if e.ofSystem() && t.kept == 0 {
		t.system = append(t.system, e.Content)
		return nil
	}
	if err := t.settle(&e); err != nil {
		return err
	}
	if e.Extra["attachments"] != nil {
		t.note("message %d names files, which are not copied", t.raw)
	}
	if n := len(t.open); t.joins && n > 0 && join(&t.open[n-1], e.Message) {
		return nil
	}
	t.asked = sessions.ToolCall{}
	if n := len(e.ToolCalls); n > 0 && e.Role == sessions.RoleAssistant {
		t.asked = e.ToolCalls[n-1]
	}
	return t.keep(e.Message)
}

// keep stores m as the next message.
func (t *talk) keep(m sessions.Message) error {
	if len(t.open) >= stretchMessages || t.size >= stretchBytes {
		if err := t.flush(); err != nil {
			return err
		}
	}
	t.open, t.kept, t.size = append(t.open, m), t.kept+1, t.size+bytesOf(m)
	t.span = [2]time.Time{rules.Earliest(t.span[0], m.At), rules.Latest(t.span[1], m.At)}
	return nil
}

func (t *talk) flush() error {
	err := t.said.Add(t.open, t.size)
	t.open, t.size = nil, 0
	return err
}

// bytesOf is how many bytes m is, about.
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

// settle makes a message of ours of e: old function calls become tool calls,
// and messages of other roles become notes.
func (t *talk) settle(e *entry) error {
	switch {
	case e.ofSystem():
		e.noted("system message")
		t.note("message %d, a system message, became a note, because only those at the start become the prompt", t.raw)
	case e.told == "function" && t.asked.ID != "" && t.asked.Name == e.Name:
		e.Role, e.ToolCallID = sessions.RoleTool, t.asked.ID
	case e.told == "function":
		e.noted("result of " + sessions.OneLine(cmp.Or(e.Name, "a function"), 60))
	case !known(e.told):
		return fmt.Errorf("%w: message %d has the role %.40q", ErrFormat, t.raw, e.told)
	case e.call != nil && e.Role == sessions.RoleAssistant:
		t.made++
		e.call.ID = "call_" + strconv.Itoa(t.made)
		e.ToolCalls = append(e.ToolCalls, *e.call)
	}
	return nil
}

// summaryHead begins the message in which some programs put their summary
// before the messages that it does not cover. Some add a colon.
const summaryHead = "[Previous conversation summary]"

// turnsOfMolf stay out of its summaries, but the model of Molf did not see them.
const turnsOfMolf = 4

// summarized looks for a summary in e, which did not come out of a store of
// ours. One under summaryHead stays as a message. A person can write that line
// as well, so of user messages only the first counts. The pair of messages that
// Molf makes does not stay.
func (t *talk) summarized(e *entry) (gone bool) {
	text, headed := strings.CutPrefix(strings.TrimSpace(e.Content), summaryHead)
	text = strings.TrimPrefix(strings.TrimLeft(text, " \t"), ":") // of the head's line only
	text = strings.TrimSpace(text)
	switch {
	case t.checkpoints && e.Summary && e.Synthetic && e.told != "assistant":
		return true // the question of the pair
	case t.checkpoints && e.Summary && e.Synthetic:
		gone, t.among, t.amongAfter = true, e.Content, t.kept
		if len(t.turns) == turnsOfMolf {
			t.amongAfter = t.turns[0]
		}
		t.turns = nil
	case headed && text != "" && (e.ofSystem() || e.told == "user" && t.kept == 0) && len(e.Attachments) == 0:
		t.among, t.amongAfter = strings.TrimSpace(t.among+"\n\n"+text), t.kept+1
		e.told, e.Role, e.Content, e.Synthetic, e.Summary = "user", sessions.RoleUser, text, true, true
	case e.told == "user" && !e.Synthetic:
		t.turns = append(t.turns, t.kept)
		t.turns = t.turns[max(0, len(t.turns)-turnsOfMolf):]
		return false
	default:
		return false
	}
	t.note("message %d is a summary of the messages before it, and became the conversation's summary", t.raw)
	return gone
}

// set keeps a value in the conversation's metadata.
func (t *talk) set(name string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if t.head.Settings.Metadata == nil {
		t.head.Settings.Metadata = map[string]json.RawMessage{}
	}
	t.head.Settings.Metadata[name] = raw
	return nil
}

func known(role string) bool {
	return slices.Contains([]string{string(sessions.RoleUser), string(sessions.RoleAssistant), string(sessions.RoleTool)}, role)
}
