package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
)

// putRows puts the rows of the queues.
func (b *backend) putRows(c *chat, ch *rows.Chat, x *ChatChange, done *applied) {
	for _, p := range ch.In {
		r := c.row(p.Seq)
		if r == nil {
			r = &rows.In{}
			c.in = append(c.in, r)
		}
		was := r.Inbound
		*r = p.In
		if !p.Fresh {
			r.Inbound = was
		}
		if p.Fresh {
			b.seen.Put(Seen(r.Inbound), int32(r.Seq))
		}
		x.In = append(x.In, *r)
		done.items = append(done.items, dispatch.In(r))
	}
	for _, p := range ch.Out {
		o := c.delivery(p.Seq)
		if o == nil {
			o = &rows.Out{}
			c.out = append(c.out, o)
		}
		*o = *p
		o.Fresh = false
		if o.ID == "" {
			b.lastOut++
			o.ID = b.deliveryID(b.lastOut)
		}
		b.lastOut = max(b.lastOut, b.deliveryNumber(o.ID)) // none of these is given again
		b.sent.add(o.ID)
		x.Out = append(x.Out, o.OutboxRecord)
		done.items = append(done.items, dispatch.Out(o))
	}
}

// putTranscript puts what changes of the transcript.
func (b *backend) putTranscript(c *chat, ch *rows.Chat, x *ChatChange) {
	if ch.Conversation == nil {
		return
	}
	if c.conv == nil {
		c.conv = &conversation{}
	}
	v := c.conv
	v.Conversation = *ch.Conversation
	if ch.Anew {
		b.forgetGenerations(c)
		v.generations, v.summaries = nil, nil
	}
	for _, g := range ch.Begun {
		g.LastSeq = 0
		v.generations = append(slices.Clip(v.generations), g)
		b.begins[g.ID]++
	}
	if len(ch.Begun) > 0 {
		v.summaries = nil
	}
	if len(ch.Rewritten) > 0 {
		v.messages = slices.Clone(v.messages) // what is read now must not change
		for _, m := range ch.Rewritten {
			if i, found := find(v.messages, m.Seq); found {
				v.messages[i] = m
			}
		}
	}
	v.messages = append(v.messages, ch.Messages...)
	v.summaries = slices.DeleteFunc(slices.Clone(v.summaries), func(s sessions.Summary) bool { return slices.Contains(ch.Forget, s.CoversSeq) })
	v.summaries = append(v.summaries, ch.Summaries...)
	x.Messages = ch.Messages
	if len(ch.Begun)+len(ch.Summaries) > 0 {
		x.Summaries = list(v.summaries)
	}
}

func find(messages []sessions.Message, seq int64) (int, bool) {
	return slices.BinarySearchFunc(messages, seq, func(m sessions.Message, seq int64) int { return cmp.Compare(m.Seq, seq) })
}

// row finds an inbox row by its seq.
func (c *chat) row(seq int64) *rows.In {
	i, found := slices.BinarySearchFunc(c.in, seq, func(r *rows.In, seq int64) int { return cmp.Compare(r.Seq, seq) })
	if !found {
		return nil
	}
	return c.in[i]
}

// delivery finds a delivery by its seq.
func (c *chat) delivery(seq int64) *rows.Out {
	i, found := slices.BinarySearchFunc(c.out, seq, func(o *rows.Out, seq int64) int { return cmp.Compare(o.Seq, seq) })
	if !found {
		return nil
	}
	return c.out[i]
}

// deliveryID names a delivery to networks that deduplicate. Over a disk it has
// the store's random name in it, so that a store that was begun anew does not
// repeat the ids of the one before.
func (s *state) deliveryID(n int64) string { return fmt.Sprintf("out-%s%d", s.Prefix, n) }

// deliveryNumber is the n of deliveryID, 0 for ids of other stores.
func (s *state) deliveryNumber(id string) int64 {
	rest, _ := strings.CutPrefix(id, "out-"+s.Prefix)
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil || id != s.deliveryID(n) {
		return 0
	}
	return n
}
