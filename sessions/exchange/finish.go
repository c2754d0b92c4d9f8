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

// finish emits the conversation, its own record before its messages. number counts the
// conversations of the input, from 1.
func (t *conversation) finish(o Options, number int, emit Emit) (err error) {
	h := &t.head
	if h.Key, err = t.chooseKey(o, number); err != nil {
		return fmt.Errorf("exchange: %w", err)
	}
	// A conversation from a store of ours has generations.
	foreign := len(h.Generations)+len(h.Summaries) == 0
	if !foreign && t.notOurs != nil {
		return fmt.Errorf("exchange: read %s: %w", h.Key, t.notOurs)
	}
	h.MessageSeq = max(h.MessageSeq, t.lastSeq)
	prepend := foreign && t.placeSummary()
	for _, s := range h.Summaries {
		if s.CoversSeq < 1 || s.CoversSeq > h.MessageSeq {
			return fmt.Errorf("exchange: read %s: %w: a summary covers up to message %d, the last is %d", h.Key, ErrFormat, s.CoversSeq, h.MessageSeq)
		}
	}
	t.setTimes(o.Now, foreign)
	slices.Sort(h.Settings.Tags)
	h.Settings.Tags = slices.Compact(h.Settings.Tags)
	if err := emit(sessions.Record{Conversation: h}); err != nil {
		return err
	}
	return t.emitMessages(foreign, prepend, emit)
}

// chooseKey returns the key of the options, else that of the input, else one made of
// the input's name.
func (t *conversation) chooseKey(o Options, number int) (k channels.Key, err error) {
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
	if strings.HasPrefix(name, opaqueKey) {
		return k, errOpaque
	}
	if t.name == "" && number > 1 {
		name += "-" + strconv.Itoa(number)
	}
	if k, err = channels.NewKey("import", name); err != nil {
		err = fmt.Errorf("%w: the file's name makes none: %w", ErrNoKey, err)
	}
	return k, err
}

// placeSummary places the prompt and the summary of a conversation without
// generations. prepend: the summary also becomes the first message.
func (t *conversation) placeSummary() (prepend bool) {
	h := &t.head
	if h.Settings.System == "" {
		h.Settings.System = strings.Join(t.system, "\n\n")
	} else if len(t.system) > 0 {
		t.note("the system messages at the start were left out, because the conversation has its own prompt")
	}
	h.MessageSeq = int64(t.kept)
	text, covers := t.summary, t.covered
	if strings.TrimSpace(text) == "" {
		text, covers = t.inline, t.inlineCovers
	}
	if strings.TrimSpace(text) == "" {
		return false
	}
	prepend = covers == 0
	if prepend {
		// The summarised messages are gone, but a summary has to cover something: it
		// covers itself as a message.
		covers = 1
		h.MessageSeq++
	}
	h.Summaries = []sessions.Summary{{Text: text, CoversSeq: int64(covers), At: h.Updated}} // nobody knows its origins
	return prepend
}

// imported are the origins of what another program wrote: nobody knows whose words it is.
var imported = []sessions.Origin{sessions.OriginOthers}

// setTimes sets the times that the input lacks.
func (t *conversation) setTimes(now func() time.Time, foreign bool) {
	h := &t.head
	// Documents of ours have both times, and they count: a message can be a little
	// older than its conversation.
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

// emitMessages emits the messages. Those of other programs get their seqs here, and a
// message without a time gets that of the one before.
func (t *conversation) emitMessages(foreign, prepend bool, emit Emit) error {
	seq, at := int64(0), t.head.Created
	emitChunk := func(chunk []sessions.Message) error {
		for i := range chunk {
			m := &chunk[i]
			seq++
			if foreign {
				m.Seq = seq
				m.Origins = imported
			}
			m.At = cmp.Or(m.At, at).UTC()
			at = m.At
		}
		return emit(sessions.Record{Messages: &sessions.MessagesRecord{Key: t.head.Key, Messages: chunk}})
	}
	if prepend {
		summary := sessions.Message{Role: sessions.RoleUser, Content: t.head.Summaries[0].Text, Synthetic: true, Summary: true}
		if err := emitChunk([]sessions.Message{summary}); err != nil {
			return err
		}
	}
	for i := range t.chunks.Len() {
		chunk, err := t.chunks.At(i)
		if err != nil {
			return fmt.Errorf("exchange: read %s: %w", t.head.Key, err)
		}
		if err := emitChunk(chunk); err != nil {
			return err
		}
	}
	if len(t.open) == 0 {
		return nil
	}
	return emitChunk(t.open)
}
