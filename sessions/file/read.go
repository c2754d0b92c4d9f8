package file

import (
	"context"
	"iter"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// tailMessages and tailBytes bound the transcript in a document. Most turns start from
// less.
const (
	tailMessages = 200
	tailBytes    = 1 << 20
)

// keyReader reads the rows of a key for its document, up to the first error.
type keyReader struct {
	ctx context.Context
	r   rows.Reader
	k   channels.Key
	err error
}

func collect[T any](r *keyReader, list iter.Seq2[T, error]) (all []T) {
	for v, err := range list {
		if r.err == nil {
			r.err = err
		}
		if r.err != nil {
			return nil
		}
		all = append(all, v)
	}
	return all
}

// readKey reads the rows that the document of k shows. If k is gone, the head has no
// key.
func readKey(ctx context.Context, rs rows.Reader, k channels.Key) (h head, c content, err error) {
	row, known, err := rs.Head(ctx, k)
	if err != nil || !known {
		return h, c, err
	}
	r := &keyReader{ctx: ctx, r: rs, k: k}
	h = head{Key: k, Seq: row.Seq, MessageSeq: row.MessageSeq}
	r.queues(&c)
	if row.Conversation != nil {
		h.Conversation = &conversation{Conversation: *row.Conversation}
		for _, rec := range collect(r, rs.Records(ctx, rows.Record{Generation: &rows.Generation{Key: k}})) {
			h.Conversation.Generations = append(h.Conversation.Generations, rec.Generation.Generation)
		}
		for _, rec := range collect(r, rs.Records(ctx, rows.Record{Summary: &rows.Summary{Key: k}})) {
			c.Summaries = append(c.Summaries, rec.Summary.Summary)
		}
		c.Messages = r.tail(max(row.Conversation.From, row.Conversation.Covers))
	}
	return h, c, r.err
}

// queues reads the open rows, with the journals of running turns.
func (r *keyReader) queues(c *content) {
	open := rows.QueueFilter{Open: true}
	c.In = collect(r, r.r.Inbox(r.ctx, r.k, open))
	for _, o := range collect(r, r.r.Outbox(r.ctx, r.k, open)) {
		c.Out = append(c.Out, o.OutboxRecord)
	}
	for _, in := range c.In {
		if in.Turn == "" || c.Journals[in.Turn] != nil || r.err != nil {
			continue
		}
		var steps []sessions.Step
		steps, r.err = r.r.Journal(r.ctx, r.k, in.Turn)
		if len(steps) > 0 {
			if c.Journals == nil {
				c.Journals = map[string][]sessions.Step{}
			}
			c.Journals[in.Turn] = steps
		}
	}
}

// tail reads the newest messages after a seq, those that a turn starts from.
func (r *keyReader) tail(after int64) (list []sessions.Message) {
	bytes := 0
	for m, err := range r.r.Messages(r.ctx, r.k, rows.MessageFilter{After: after, Newest: true}) {
		if err != nil {
			r.err = err
			return nil
		}
		list = append(list, m)
		bytes += rules.Bytes(m)
		if len(list) == tailMessages || bytes > tailBytes {
			break
		}
	}
	slices.Reverse(list)
	return list
}
