package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// chatPlan is everything of one key. Messages have seqs without gaps.
type chatPlan struct {
	head         sessions.ConversationRecord
	conversation bool // there is a transcript or a setting, not only queues
	messages     int
	bytes        int            // about the size of the messages
	replacements int            // of messages by later ones
	usage        sessions.Usage // of the messages
	inbox        []rows.In
	outbox       []sessions.OutboxRecord
	steps        []rows.Step

	headed      bool      // head came in a record
	stretches   []int     // the messages, by their index in the spool
	began, last time.Time // of the first and the last message
	seq         int64     // of the last message
}

// number checks the seq of the next message of c, or sets it if it has none.
func (c *chatPlan) number(m *sessions.Message) error {
	if c.messages == 0 {
		c.began, c.seq = m.At, max(m.Seq-1, 0)
		if g := c.head.Generations; len(g) > 0 {
			c.seq = g[0].FirstSeq - 1
		}
	}
	c.messages++
	c.last = m.At
	c.seq++
	if m.Seq != 0 && m.Seq != c.seq {
		return fmt.Errorf("message %d is where message %d should be", m.Seq, c.seq)
	}
	m.Seq = c.seq
	if m.Replaces > 0 {
		c.replacements++
	}
	if m.Usage != nil {
		c.usage.Add(*m.Usage)
	}
	return nil
}

// finish completes a plan whose records left something out, as imports do, and
// refuses impossible numbers.
func (c *chatPlan) finish() error {
	h := &c.head
	c.conversation = h.Title != "" || !h.Created.IsZero() || !rules.IsZeroSettings(h.Settings) || len(h.Generations)+c.messages > 0
	if c.conversation {
		if err := c.finishTranscript(); err != nil {
			return err
		}
	}
	slices.SortFunc(c.inbox, func(a, b rows.In) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortFunc(c.outbox, func(a, b sessions.OutboxRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	seqs := map[int64]bool{}
	for _, r := range c.inbox {
		seqs[r.Seq], h.Seq = true, max(h.Seq, r.Seq)
	}
	for _, r := range c.outbox {
		seqs[r.Seq], h.Seq = true, max(h.Seq, r.Seq)
	}
	if len(seqs) != len(c.inbox)+len(c.outbox) || h.Seq < 0 || h.Seq >= 1<<31 || h.MessageSeq < 0 || h.MessageSeq >= 1<<31 {
		return errors.New("the sequence numbers of the queues repeat or are too large")
	}
	return nil
}

// finishTranscript fills in when the conversation and its generations began and
// ended, and refuses generations and summaries that do not fit the messages.
func (c *chatPlan) finishTranscript() error {
	h, last := &c.head, c.seq
	if c.messages > 0 {
		if h.Created.IsZero() {
			h.Created = c.began
		}
		if h.Updated.IsZero() {
			h.Updated = c.last
		}
		if len(h.Generations) == 0 {
			h.Generations = []sessions.Generation{{FirstSeq: last - int64(c.messages) + 1, Began: c.began}}
		}
	} else if len(h.Generations) > 0 {
		last = h.Generations[0].FirstSeq - 1
	}
	switch {
	case len(h.Generations) > 0:
	case len(h.Summaries) > 0:
		return errors.New("a summary of a conversation without messages")
	default:
		return nil // settings only: the next message continues from MessageSeq
	}
	if h.MessageSeq != 0 && h.MessageSeq != last {
		return fmt.Errorf("the last message is %d and should be %d", last, h.MessageSeq)
	}
	h.MessageSeq = last
	from := int64(0)
	for _, g := range h.Generations {
		if g.FirstSeq <= from || g.FirstSeq > last+1 {
			return fmt.Errorf("generation %q cannot begin with message %d", g.ID, g.FirstSeq)
		}
		from = g.FirstSeq - 1
	}
	for _, s := range h.Summaries {
		if s.CoversSeq <= from || s.CoversSeq > last {
			return fmt.Errorf("a summary cannot cover message %d", s.CoversSeq)
		}
		from = s.CoversSeq
	}
	return nil
}
