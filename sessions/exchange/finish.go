package exchange

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// errManyKeys: the key of the options is for one conversation.
var errManyKeys = fmt.Errorf("%w: the file holds more than one conversation, a key names only one", ErrNoKey)

// finish emits the conversation, the record before its messages. number counts the
// conversations of the input, from 1.
func (t *talk) finish(o Options, number int, emit Emit) (err error) {
	h := &t.head
	if h.Key, err = t.chooseKey(o, number); err != nil {
		return fmt.Errorf("exchange: %w", err)
	}
	// Without generations it is not from a store of ours.
	foreign := len(h.Generations)+len(h.Summaries) == 0
	if !foreign && t.stray != nil {
		return fmt.Errorf("exchange: read %s: %w", h.Key, t.stray)
	}
	h.MessageSeq = max(h.MessageSeq, t.top)
	told := foreign && t.summarize()
	for _, s := range h.Summaries {
		if s.CoversSeq < 1 || s.CoversSeq > h.MessageSeq {
			return fmt.Errorf("exchange: read %s: %w: a summary covers up to message %d, the last is %d", h.Key, ErrFormat, s.CoversSeq, h.MessageSeq)
		}
	}
	t.dates(o.Now, foreign)
	slices.Sort(h.Settings.Tags)
	h.Settings.Tags = slices.Compact(h.Settings.Tags)
	if err := emit(sessions.Record{Conversation: h}); err != nil {
		return err
	}
	return t.messages(foreign, told, emit)
}

// chooseKey takes the key of the options, or that of the input, or makes one of the
// input's name.
func (t *talk) chooseKey(o Options, number int) (k channels.Key, err error) {
	switch {
	case !o.Key.IsZero() && number > 1:
		return k, errManyKeys
	case !o.Key.IsZero():
		return o.Key, nil
	case t.key != "":
		if k, err = channels.ParseKey(t.key); err != nil {
			err = fmt.Errorf("%w: %w", ErrNoKey, err)
		}
		return k, err
	}
	name := cmp.Or(t.name, o.Name, "conversation")
	if t.name == "" && number > 1 {
		name += "-" + strconv.Itoa(number)
	}
	if k, err = channels.NewKey("import", name); err != nil {
		err = fmt.Errorf("%w: the file's name makes none: %w", ErrNoKey, err)
	}
	return k, err
}

// summarize places the prompt and the summary of a conversation that comes
// without generations. told: the summary is a message before the others.
func (t *talk) summarize() (told bool) {
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
		return false
	}
	if told = covers == 0; told {
		// The summarised messages are gone, and a summary has to cover
		// something: it becomes the message that it covers.
		covers = 1
		h.MessageSeq++
	}
	h.Summaries = []sessions.Summary{{Text: text, CoversSeq: int64(covers), At: h.Updated}}
	return told
}

// dates sets the times that neither the input nor a message has.
func (t *talk) dates(now func() time.Time, foreign bool) {
	h := &t.head
	// Documents of ours say both times as they were. A message may be older
	// than its conversation, by what it takes to store it.
	if foreign || h.Updated.IsZero() {
		h.Updated = rules.Latest(h.Updated, t.span[1])
	}
	if foreign || h.Created.IsZero() {
		h.Created = rules.Earliest(h.Created, t.span[0])
	}
	if h.Updated.IsZero() {
		h.Updated = cmp.Or(h.Created, now())
	}
	h.Updated = h.Updated.UTC()
	h.Created = cmp.Or(h.Created, h.Updated).UTC()
	for i := range h.Summaries {
		h.Summaries[i].At = cmp.Or(h.Summaries[i].At, h.Updated).UTC()
	}
}

// messages emits the messages. Those of other programs get their seqs here.
func (t *talk) messages(foreign, told bool, emit Emit) error {
	seq, at := int64(0), t.head.Created
	stretch := func(said []sessions.Message) error {
		for i := range said {
			m := &said[i]
			if seq++; foreign {
				m.Seq = seq
			}
			m.At = cmp.Or(m.At, at).UTC() // without a time, that of the one before
			at = m.At
		}
		return emit(sessions.Record{Messages: &sessions.MessagesRecord{Key: t.head.Key, Messages: said}})
	}
	if told {
		summary := sessions.Message{Role: sessions.RoleUser, Content: t.head.Summaries[0].Text, Synthetic: true, Summary: true}
		if err := stretch([]sessions.Message{summary}); err != nil {
			return err
		}
	}
	for i := range t.said.Len() {
		said, err := t.said.At(i)
		if err != nil {
			return fmt.Errorf("exchange: read %s: %w", t.head.Key, err)
		}
		if err := stretch(said); err != nil {
			return err
		}
	}
	if len(t.open) == 0 {
		return nil
	}
	return stretch(t.open)
}
