package memory

import (
	"slices"
	"sort"

	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// Content is what is in memory of a key while it is used: in the order of the
// seqs. Messages and summaries are replaced and never changed, so that a list of
// them can be shared.
type Content struct {
	Messages  []sessions.Message         `json:"messages,omitempty"`
	Summaries []sessions.Summary         `json:"summaries,omitempty"`
	In        []rows.In                  `json:"inbox,omitempty"`
	Out       []sessions.OutboxRecord    `json:"outbox,omitempty"`
	Journals  map[string][]sessions.Step `json:"journals,omitempty"`
}

// Apply makes c what it is after ch. Messages that it has already are left out.
func (c *Content) Apply(ch *ChatChange) {
	if ch.Gone || ch.Anew {
		*c = Content{}
	}
	next := int64(0)
	if n := len(c.Messages); n > 0 {
		next = c.Messages[n-1].Seq + 1
	}
	i, _ := Find(ch.Messages, next)
	c.Messages = append(c.Messages, ch.Messages[i:]...)
	if ch.Summaries != nil {
		c.Summaries = *ch.Summaries
	}
	for i := range ch.In {
		c.PutIn(&ch.In[i])
	}
	for i := range ch.Out {
		c.PutOut(&ch.Out[i])
	}
	for _, turn := range ch.Ended {
		delete(c.Journals, turn)
	}
	for _, s := range ch.Steps {
		if c.Journals == nil {
			c.Journals = map[string][]sessions.Step{}
		}
		c.Journals[s.Turn] = append(c.Journals[s.Turn], s.Step)
	}
}

// PutIn puts r in the place of the row with its seq, or adds it.
func (c *Content) PutIn(r *rows.In) { c.In = put(c.In, r, inSeq, r.Seq) }

// PutOut puts o in the place of the delivery with its seq, or adds it.
func (c *Content) PutOut(o *sessions.OutboxRecord) { c.Out = put(c.Out, o, outSeq, o.Seq) }

func put[T any](list []T, row *T, seqOf func(*T) int64, seq int64) []T {
	i, found := place(list, seqOf, seq)
	if found {
		list[i] = *row
		return list
	}
	return slices.Insert(list, i, *row)
}

func inSeq(r *rows.In) int64                { return r.Seq }
func outSeq(o *sessions.OutboxRecord) int64 { return o.Seq }

// place is where the row seq is in a list, or would be.
func place[T any](list []T, seqOf func(*T) int64, seq int64) (i int, found bool) {
	i = sort.Search(len(list), func(i int) bool { return seqOf(&list[i]) >= seq })
	return i, i < len(list) && seqOf(&list[i]) == seq
}

// Find is where the message seq is among messages, or would be.
func Find(messages []sessions.Message, seq int64) (i int, found bool) {
	return place(messages, func(m *sessions.Message) int64 { return m.Seq }, seq)
}

// Over is c, in which the newest of a conversation is as it is now, with the
// rest from all. It takes all over.
func (c *Content) Over(all Content) Content {
	if len(c.Messages) > 0 {
		i, _ := Find(all.Messages, c.Messages[0].Seq)
		all.Messages = all.Messages[:i]
	}
	all.Journals = c.Journals
	all.Apply(&ChatChange{Messages: c.Messages, Summaries: &c.Summaries, In: c.In, Out: c.Out})
	return all
}

// Newest is the part of all that a turn starts from, as [Store.Document] has
// it: what is open and the newest messages.
func Newest(h Head, all Content) Content {
	c := chat{Head: h, Content: all}
	c.trim()
	return c.Content
}
