package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rules"
	"dragoman/sessions/spool"
)

// talk is one conversation of an input: add takes its messages one by one, finish
// makes its record, and next returns the records.
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
	// calls are those of the assistant's last message that have no result yet,
	// while only results follow it. made counts calls that got their id here.
	calls []sessions.ToolCall
	made  int
	// foreign: the messages get their seqs here. told: the summary is a message before
	// them. finish sets both.
	foreign, told bool
	// step counts the records that were handed out; seq and at are those of the
	// message before.
	step int
	seq  int64
	at   time.Time
}

// newTalk begins a conversation and frees the previous one.
func (r *Reader) newTalk() *talk {
	if r.current != nil {
		_ = r.current.said.Close() // it is only read from here on
	}
	r.current = &talk{note: r.note, said: spool.New[[]sessions.Message](func() (*os.File, error) { return spool.Temp("") })}
	return r.current
}

// How many messages travel in one record, and about how many bytes end it
// before.
const (
	stretchMessages = 100
	stretchBytes    = 256 << 10
)

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
		t.calls = slices.Clone(t.open[n-1].ToolCalls)
		return nil
	}
	t.follow(e.Message)
	return t.keep(e.Message)
}

// keep stores m as the next message.
func (t *talk) keep(m sessions.Message) error {
	if len(t.open) >= stretchMessages || t.size >= stretchBytes {
		if err := t.flush(); err != nil {
			return err
		}
	}
	t.open, t.kept = append(t.open, m), t.kept+1
	t.span = [2]time.Time{rules.Earliest(t.span[0], m.At), rules.Latest(t.span[1], m.At)}
	t.size += len(m.Content) + 200
	for _, c := range m.ToolCalls {
		t.size += len(c.Arguments)
	}
	for _, raw := range m.Extra {
		t.size += len(raw)
	}
	return nil
}

func (t *talk) flush() error {
	err := t.said.Add(t.open, t.size)
	t.open, t.size = nil, 0
	return err
}

// settle makes a message of ours of e: old function calls become tool calls,
// and messages of other roles become notes.
func (t *talk) settle(e *entry) error {
	switch {
	case e.ofSystem():
		e.Message = noted("system message", e.Message)
		t.note("message %d, a system message, became a note, because only those at the start become the prompt", t.raw)
	case e.told == "function":
		if id := t.openCall(e.Name); id != "" {
			e.Role, e.ToolCallID = sessions.RoleTool, id
		} else {
			e.Message = noted("result of "+sessions.OneLine(cmp.Or(e.Name, "a function"), 60), e.Message)
		}
	case !known(e.told):
		return fmt.Errorf("%w: message %d has the role %.40q", ErrFormat, t.raw, e.told)
	case e.call != nil && e.Role == sessions.RoleAssistant:
		t.made++
		e.call.ID = "call_" + strconv.Itoa(t.made)
		e.ToolCalls = append(slices.Clip(e.ToolCalls), *e.call)
	}
	return nil
}

// follow remembers the calls to which results of functions may belong.
func (t *talk) follow(m sessions.Message) {
	switch m.Role {
	case sessions.RoleAssistant:
		t.calls = slices.Clone(m.ToolCalls)
	case sessions.RoleTool:
		t.calls = slices.DeleteFunc(t.calls, func(c sessions.ToolCall) bool { return c.ID == m.ToolCallID })
	default:
		t.calls = nil
	}
}

// openCall finds the newest call of the function called name in the last
// assistant message that has no result yet.
func (t *talk) openCall(name string) string {
	for _, c := range slices.Backward(t.calls) {
		if c.Name == name {
			return c.ID
		}
	}
	return ""
}

// summaryHead begins the message in which some programs put their summary
// before the messages that it does not cover. Some add a colon.
const summaryHead = "[Previous conversation summary]"

// turnsOfMolf stay out of its summaries, but the model of Molf did not see them.
const turnsOfMolf = 4

// summarized looks for a summary in e, which did not come out of a store of
// ours. One under summaryHead stays as a message. A person can write that line
// as well, so of user messages only the first counts. The pair of messages that
// Molf makes does not stay, which it reports.
func (t *talk) summarized(e *entry) (gone bool) {
	text, headed := strings.CutPrefix(strings.TrimSpace(e.Content), summaryHead)
	text = strings.TrimPrefix(strings.TrimLeft(text, " \t"), ":") // of the head's line only
	text = strings.TrimSpace(text)
	switch {
	case t.checkpoints && e.Summary && e.Synthetic:
		if gone = true; e.told == "assistant" {
			t.among, t.amongAfter = e.Content, t.kept
			if len(t.turns) == turnsOfMolf {
				t.amongAfter = t.turns[0]
			}
			t.turns = nil
		}
	case headed && text != "" && (e.ofSystem() || e.told == "user" && t.kept == 0) && len(e.Attachments) == 0:
		t.among, t.amongAfter = strings.TrimSpace(t.among+"\n\n"+text), t.kept+1
		e.told, e.Role, e.Content, e.Synthetic, e.Summary = "user", sessions.RoleUser, text, true, true
	default:
		if e.told == "user" && !e.Synthetic {
			t.turns = append(t.turns, t.kept)
			t.turns = t.turns[max(0, len(t.turns)-turnsOfMolf):]
		}
		return false
	}
	if !gone || e.told == "assistant" {
		t.note("message %d is a summary of the messages before it, and became the conversation's summary", t.raw)
	}
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

func (e *entry) ofSystem() bool { return e.told == "system" || e.told == "developer" }

// noted is a message of another role as a note that names its kind.
func noted(what string, m sessions.Message) sessions.Message {
	m.Role, m.Content, m.Synthetic = sessions.RoleUser, "["+what+"] "+m.Content, true
	m.Name, m.ToolCalls = "", nil
	return m
}
