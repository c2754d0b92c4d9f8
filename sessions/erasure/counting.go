package erasure

import (
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// chat counts what is in one conversation.
type chat struct {
	mine   int // messages of the person
	others int // messages of others, waiting ones included
	asked  int // entries of the person in the inbox
	queued int // all entries of the queues
}

// count looks through the conversations of keys for what the person with ids has in
// them. A key of which the store knows nothing has no count.
func (e *Eraser) count(ctx context.Context, ids []string, keys []channels.Key) (map[channels.Key]*chat, error) {
	all := map[channels.Key]*chat{}
	in := func(k channels.Key) *chat {
		if all[k] == nil {
			all[k] = &chat{}
		}
		return all[k]
	}
	err := e.Store.Dump(ctx, keys, func(r sessions.Record) error {
		switch {
		case r.Conversation != nil:
			in(r.Conversation.Key)
		case r.Outbox != nil:
			in(r.Outbox.Key).queued++
		case r.Inbox != nil:
			c, from := in(r.Inbox.Inbound.Key), r.Inbox.Inbound.Sender.IDs
			c.queued++
			if slices.ContainsFunc(from, func(id string) bool { return slices.Contains(ids, id) }) {
				c.asked++
			} else if len(from) > 0 && r.Inbox.State == "waiting" {
				c.others++
			}
		case r.Messages != nil:
			c := in(r.Messages.Key)
			for _, m := range r.Messages.Messages {
				switch {
				case m.Role != sessions.RoleUser:
				case m.Sender != "" && slices.Contains(ids, m.Sender):
					c.mine++
				default:
					c.others++
				}
			}
		}
		return nil
	})
	return all, err
}
