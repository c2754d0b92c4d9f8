package rules

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/sessions"
)

// ChatPlan is all of one key. The Seq of messages and of the head are set; the
// messages have no gaps.
type ChatPlan struct {
	Head         sessions.ConversationRecord
	Conversation bool // there is one, and not only queues
	Messages     int
	Bytes        int                    // of the messages, about
	Usage        sessions.Usage         // that they say
	Inbox        []sessions.InboxRecord // by Seq, like Outbox
	Outbox       []sessions.OutboxRecord

	headed      bool
	stretches   []int     // of messages, in the spool
	began, last time.Time // of the messages
	seq         int64     // of the last one
}

// number gives the next message of c its seq, if it has none.
func (c *ChatPlan) number(m *sessions.Message) error {
	if c.Messages == 0 {
		c.began, c.seq = m.At, max(m.Seq-1, 0)
		if g := c.Head.Generations; len(g) > 0 {
			c.seq = g[0].FirstSeq - 1
		}
	}
	c.Messages, c.last, c.seq = c.Messages+1, m.At, c.seq+1
	if m.Seq != 0 && m.Seq != c.seq {
		return fmt.Errorf("message %d stands where message %d should", m.Seq, c.seq)
	}
	m.Seq = c.seq
	if m.Usage != nil {
		c.Usage.Add(*m.Usage)
	}
	return nil
}

// finish fills in what an import leaves out and refuses what cannot be.
func (c *ChatPlan) finish() error {
	h := &c.Head
	c.Conversation = h.Title != "" || !h.Created.IsZero() || !IsZeroSettings(h.Settings) || len(h.Generations)+c.Messages > 0
	if c.Conversation {
		if err := c.border(); err != nil {
			return err
		}
	}
	slices.SortFunc(c.Inbox, func(a, b sessions.InboxRecord) int { return int(a.Seq - b.Seq) })
	slices.SortFunc(c.Outbox, func(a, b sessions.OutboxRecord) int { return int(a.Seq - b.Seq) })
	seqs := map[int64]bool{}
	for _, r := range c.Inbox {
		seqs[r.Seq], h.Seq = true, max(h.Seq, r.Seq)
	}
	for _, r := range c.Outbox {
		seqs[r.Seq], h.Seq = true, max(h.Seq, r.Seq)
	}
	if len(seqs) != len(c.Inbox)+len(c.Outbox) || h.Seq < 0 || h.Seq >= 1<<31 || h.MessageSeq < 0 || h.MessageSeq >= 1<<31 {
		return errors.New("the sequence numbers of the queues repeat or are too large")
	}
	return nil
}

// border fills in when the conversation and its generations began and ended,
// and refuses borders where no message is.
func (c *ChatPlan) border() error {
	h, last := &c.Head, c.seq
	if c.Messages > 0 {
		if h.Created.IsZero() {
			h.Created = c.began
		}
		if h.Updated.IsZero() {
			h.Updated = c.last
		}
		if len(h.Generations) == 0 {
			h.Generations = []sessions.Generation{{FirstSeq: last - int64(c.Messages) + 1, Began: c.began}}
		}
	} else if len(h.Generations) > 0 {
		last = h.Generations[0].FirstSeq - 1
	}
	switch {
	case len(h.Generations) > 0:
	case len(h.Summaries) > 0:
		return errors.New("a summary of a conversation without messages")
	default:
		return nil // settings only: the seqs go on from MessageSeq
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
