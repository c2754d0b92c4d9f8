package erasure

import (
	"context"
	"maps"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// survey notes in i which conversations will be deleted, and the files of people's
// messages, whose names are lost with the messages. known: the store has something
// of the keys, perhaps only a name, which no erasure counts.
func (e *Eraser) survey(ctx context.Context, i *intention) (known bool, err error) {
	what := &i.Erasure
	keys, err := e.wroteIn(ctx, what.Senders)
	if err != nil {
		return false, err
	}
	if keys = append(keys, what.Keys...); len(keys) > 0 { // no keys would mean all of them
		err = e.Store.Dump(ctx, keys, func(r sessions.Record) error {
			if c := r.Conversation; c != nil && slices.Contains(what.Keys, c.Key) {
				known = true
				if !c.Created.IsZero() {
					i.Deletes = append(i.Deletes, c.Key)
				}
			}
			what.Files = append(what.Files, e.files(what, r)...)
			return nil
		})
	}
	slices.Sort(what.Files)
	what.Files = slices.Compact(what.Files)
	return known, err
}

// wroteIn are the conversations in which one of senders wrote something that is
// stored, in no order.
func (e *Eraser) wroteIn(ctx context.Context, senders []sessions.Sender) (keys []channels.Key, err error) {
	ids := map[string][]string{}
	for _, s := range senders {
		ids[s.Channel] = append(ids[s.Channel], s.ID)
	}
	found := map[channels.Key]bool{}
	for channel, mine := range ids {
		writers, err := e.Store.Writers(ctx, channel)
		if err != nil {
			return nil, err
		}
		for _, w := range writers {
			if slices.ContainsFunc(w.IDs, func(id string) bool { return slices.Contains(mine, id) }) {
				found[w.Key] = true
			}
		}
	}
	return slices.Collect(maps.Keys(found)), nil
}

// files are those of messages in r that senders of what wrote.
func (e *Eraser) files(what *sessions.Erasure, r sessions.Record) (files []string) {
	mine := func(k channels.Key, id string) bool {
		return slices.Contains(what.Senders, sessions.Sender{Channel: k.Channel(), ID: id})
	}
	if r.Inbox != nil && e.FileName != nil {
		m := r.Inbox.Inbound
		if slices.ContainsFunc(m.Sender.IDs, func(id string) bool { return mine(m.Key, id) }) {
			for i := range m.Attachments {
				files = append(files, e.FileName(m, i))
			}
		}
	}
	if r.Messages != nil {
		for _, m := range r.Messages.Messages {
			for _, a := range m.Attachments {
				if a.File != "" && mine(r.Messages.Key, m.Sender) {
					files = append(files, a.File)
				}
			}
		}
	}
	return files
}
