package exchange

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/sessions"
)

// walk reads the messages of a conversation from first to last and makes
// messages of ours of them. It holds one stretch of them.
type walk struct {
	talk *talk
	note func(string, ...any)

	stretch []entry
	read    int // stretches
	raw     int // entries
	kept    int // messages
	last    int64

	// covered is what talk.covered comes to in messages. system is what the
	// system said before the first of them.
	covered int
	system  []string
	// summary is what stood among the messages as one, and behind how many of
	// them the last of it did.
	summary      string
	summaryAfter int
	// turns says before how many messages the last turns of Molf's began.
	turns []int
	// calls are those of the assistant's last message while only results
	// follow it, and answered those that have one. made counts calls that got
	// their id here.
	calls    []sessions.ToolCall
	answered map[string]bool
	made     int
}

func (t *talk) walk(note func(string, ...any)) *walk { return &walk{talk: t, note: note} }

// entry is the next one as the input tells it.
func (w *walk) entry() (e entry, err error) {
	if len(w.stretch) == 0 {
		if w.read == w.talk.said.Len() {
			return e, io.EOF
		}
		if w.stretch, err = w.talk.said.At(w.read); err != nil {
			return e, err
		}
		w.read++
	}
	e, w.stretch = w.stretch[0], w.stretch[1:]
	w.raw++
	return e, nil
}

// next is the next message, and io.EOF after the last.
func (w *walk) next() (sessions.Message, error) {
	for {
		e, err := w.entry()
		if err == io.EOF && w.talk.covered >= w.raw {
			w.covered = w.kept
		}
		if err != nil {
			return sessions.Message{}, err
		}
		if e.Half {
			w.note("message %d has half of a character (a surrogate alone), which became U+FFFD", w.raw)
		}
		if !w.talk.foreign {
			return e.Message, w.check(e)
		}
		if w.raw-1 == w.talk.covered {
			w.covered = w.kept
		}
		if w.checkpoint(e) {
			continue
		}
		if text, ok := w.summaryIn(e); ok {
			w.summary, w.summaryAfter = strings.TrimSpace(w.summary+"\n\n"+text), w.kept
			w.note("message %d is a summary of what was said before it, and became that of the conversation", w.raw)
			continue
		}
		if (e.Told == "system" || e.Told == "developer") && w.kept == 0 {
			w.system = append(w.system, e.Content)
			continue
		}
		if err := w.settle(&e); err != nil {
			return e.Message, err
		}
		if e.Extra["attachments"] != nil {
			w.note("message %d names files, which are not copied", w.raw)
		}
		w.follow(e.Message)
		w.kept++
		e.Seq = int64(w.kept)
		return e.Message, nil
	}
}

// summaryHead begins the message in which some programs put their summary
// before the messages that it does not stand for. Some put a colon behind it.
const summaryHead = "[Previous conversation summary]"

// summaryIn finds the summary in such a message. A person can write that line
// as well, so of those only what stands first counts. Beside a summary that the
// input names as such it stays a message.
func (w *walk) summaryIn(e entry) (text string, ok bool) {
	if strings.TrimSpace(w.talk.summary) != "" {
		return "", false
	}
	if e.Told != "system" && e.Told != "developer" && (e.Told != "user" || w.kept > 0) {
		return "", false
	}
	text, ok = strings.CutPrefix(strings.TrimSpace(e.Content), summaryHead)
	text = strings.TrimPrefix(strings.TrimLeft(text, " \t"), ":") // of the head's line only
	text = strings.TrimSpace(text)
	return text, ok && text != "" && len(e.Attachments) == 0
}

// check looks at the order of a conversation that comes with seqs.
func (w *walk) check(e entry) error {
	if e.Seq <= w.last {
		return fmt.Errorf("%w: message %d has seq %d after %d", ErrFormat, w.raw, e.Seq, w.last)
	}
	if !known(e.Told) {
		return fmt.Errorf("%w: message %d has the role %q", ErrFormat, w.raw, clip(e.Told))
	}
	w.last = e.Seq
	return nil
}

// settle makes a message of ours of e: old function calls become tool calls,
// and what has no role here becomes a note.
func (w *walk) settle(e *entry) error {
	switch e.Told {
	case "system", "developer":
		e.Message = noted("system message", e.Message)
		w.note("message %d, of the system, became a note: only those at the start make a prompt", w.raw)
	case "function":
		if id := w.openCall(e.Name); id != "" {
			e.Role, e.ToolCallID = sessions.RoleTool, id
		} else {
			e.Message = noted("result of "+sessions.OneLine(cmp.Or(e.Name, "a function"), 60), e.Message)
		}
	case "assistant":
		if e.Call != nil {
			w.made++
			call := *e.Call
			call.ID = "call_" + strconv.Itoa(w.made)
			e.ToolCalls = append(slices.Clip(e.ToolCalls), call)
		}
	default:
		if !known(e.Told) {
			return fmt.Errorf("%w: message %d has the role %q", ErrFormat, w.raw, clip(e.Told))
		}
	}
	return nil
}

// follow remembers what the results of functions need to find their calls.
func (w *walk) follow(m sessions.Message) {
	switch m.Role {
	case sessions.RoleAssistant:
		w.calls, w.answered = m.ToolCalls, map[string]bool{}
	case sessions.RoleTool:
		if w.answered != nil {
			w.answered[m.ToolCallID] = true
		}
	default:
		w.calls, w.answered = nil, nil
	}
}

// openCall finds the newest call of the function called name in the last
// assistant message that has no result yet.
func (w *walk) openCall(name string) string {
	for _, c := range slices.Backward(w.calls) {
		if c.Name == name && !w.answered[c.ID] {
			return c.ID
		}
	}
	return ""
}

// teller hands out the records of a conversation.
type teller struct {
	walk  *walk
	at    time.Time // of the message before
	shift int64     // what the summary before the messages adds to their seqs
	began bool
}

// tell begins to hand them out, after begin.
func (t *talk) tell() *teller {
	return &teller{walk: t.walk(func(string, ...any) {}), at: t.head.Created}
}

// next is the conversation's record, then its messages in stretches, then
// io.EOF.
func (l *teller) next() (sessions.Record, error) {
	t := l.walk.talk
	var said []sessions.Message
	if !l.began {
		l.began = true
		return sessions.Record{Conversation: &t.head}, nil
	}
	if t.told {
		said = append(said, l.dated(sessions.Message{Seq: 1, Role: sessions.RoleUser, Content: t.head.Summaries[0].Text, Synthetic: true, Summary: true}))
		t.told = false
		l.shift = 1
	}
	for size := 0; len(said) < stretchMessages && size < stretchBytes; {
		m, err := l.walk.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return sessions.Record{}, fmt.Errorf("exchange: read %s: %w", t.head.Key, err)
		}
		m.Seq += l.shift
		said, size = append(said, l.dated(m)), size+len(m.Content)
	}
	if len(said) == 0 {
		return sessions.Record{}, io.EOF
	}
	return sessions.Record{Messages: &sessions.MessagesRecord{Key: t.head.Key, Messages: said}}, nil
}

// dated gives a message without a time that of the one before it.
func (l *teller) dated(m sessions.Message) sessions.Message {
	m.At = cmpTime(m.At, l.at).UTC()
	l.at = m.At
	return m
}
