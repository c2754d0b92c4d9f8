package exchange

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// finish makes the record of the conversation. number counts the conversations
// of the input, from 1.
func (t *talk) finish(o Options, number int) error {
	key, err := t.chooseKey(o, number)
	if err != nil {
		return err
	}
	h := &t.head
	h.Key = key
	// Without generations it is not from a store of ours.
	t.foreign = len(h.Generations)+len(h.Summaries) == 0
	if !t.foreign && t.stray != nil {
		return fmt.Errorf("exchange: read %s: %w", key, t.stray)
	}
	updated := h.Updated
	// Documents of ours say both times as they were. A message may be older
	// than its conversation, by what it takes to store it.
	if t.foreign || h.Updated.IsZero() {
		h.Updated = rules.Latest(h.Updated, t.span[1])
	}
	if t.foreign || h.Created.IsZero() {
		h.Created = rules.Earliest(h.Created, t.span[0])
	}
	h.MessageSeq = max(h.MessageSeq, t.top)
	if t.foreign {
		t.summarize(updated)
	}
	for _, s := range h.Summaries {
		if s.CoversSeq < 1 || s.CoversSeq > h.MessageSeq {
			return fmt.Errorf("exchange: read %s: %w: a summary covers up to message %d, the last is %d", key, ErrFormat, s.CoversSeq, h.MessageSeq)
		}
	}
	t.dates(o.Now)
	t.at = h.Created
	slices.Sort(h.Settings.Tags)
	h.Settings.Tags = slices.Compact(h.Settings.Tags)
	if len(t.open) == 0 && !t.told {
		return nil
	}
	return t.flush()
}

// chooseKey takes the key of the options, or that of the input, or makes one of the
// input's name.
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
// without generations. The summary is from at.
func (t *talk) summarize(at time.Time) {
	h := &t.head
	if h.Settings.System == "" {
		h.Settings.System = strings.Join(t.system, "\n\n")
	} else if len(t.system) > 0 {
		t.note("the system messages at the start were left out, because the conversation has its own prompt")
	}
	h.MessageSeq = int64(t.kept)
	text, covers := t.summary, t.covered
	if strings.TrimSpace(text) == "" {
		text, covers = t.among, t.amongAfter
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

// dates sets the times that neither the input nor a message has.
func (t *talk) dates(now func() time.Time) {
	h := &t.head
	if h.Updated.IsZero() {
		h.Updated = cmp.Or(h.Created, now())
	}
	h.Updated = h.Updated.UTC()
	h.Created = cmp.Or(h.Created, h.Updated).UTC()
	for i := range h.Summaries {
		h.Summaries[i].At = cmp.Or(h.Summaries[i].At, h.Updated).UTC()
	}
}

// next is the conversation's record, then its messages in stretches, then
// io.EOF.
func (t *talk) next() (sessions.Record, error) {
	t.step++
	if t.step == 1 {
		return sessions.Record{Conversation: &t.head}, nil
	}
	if t.step-2 == t.said.Len() {
		return sessions.Record{}, io.EOF
	}
	said, err := t.said.At(t.step - 2)
	if err != nil {
		return sessions.Record{}, fmt.Errorf("exchange: read %s: %w", t.head.Key, err)
	}
	if t.told {
		said = slices.Insert(said, 0, sessions.Message{Role: sessions.RoleUser, Content: t.head.Summaries[0].Text, Synthetic: true, Summary: true})
		t.told = false
	}
	for i := range said {
		m := &said[i]
		if t.seq++; t.foreign {
			m.Seq = t.seq
		}
		m.At = cmp.Or(m.At, t.at).UTC() // without a time, that of the one before
		t.at = m.At
	}
	return sessions.Record{Messages: &sessions.MessagesRecord{Key: t.head.Key, Messages: said}}, nil
}
