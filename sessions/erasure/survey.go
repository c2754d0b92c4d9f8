package erasure

import (
	"context"
	"maps"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// survey notes in i whether the store knows anything of what is to be erased,
// which conversations will be deleted, and the files of people's messages, whose
// names are lost with the messages.
func (e *Eraser) survey(ctx context.Context, i *intention) error {
	what := &i.Erasure
	keys, err := e.wroteIn(ctx, what.Senders)
	if err != nil {
		return err
	}
	people, err := e.Store.Pairings(ctx, time.Time{}) // expired requests, too
	if err != nil {
		return err
	}
	for _, p := range people {
		i.Logged = i.Logged || slices.Contains(what.Senders, sessions.Sender{Channel: p.Channel, ID: p.PersonID})
	}
	if keys = append(keys, what.Keys...); len(keys) > 0 { // no keys would mean all of them
		err = e.Store.Dump(ctx, keys, func(r sessions.Record) error {
			known, files := e.in(what, r)
			i.Logged, what.Files = i.Logged || known, append(what.Files, files...)
			if c := r.Conversation; c != nil && known && !c.Created.IsZero() {
				i.Deletes = append(i.Deletes, c.Key)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(what.Files)
	what.Files = slices.Compact(what.Files)
	if !i.Logged {
		facts, err := e.countFacts(ctx, what.Scopes...)
		if err != nil {
			return err
		}
		i.Logged = facts > 0
	}
	return nil
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

// in reports whether r has something of what, and names the files of people's
// messages in it.
func (e *Eraser) in(what *sessions.Erasure, r sessions.Record) (found bool, files []string) {
	switch {
	case r.Conversation != nil:
		return slices.Contains(what.Keys, r.Conversation.Key), nil
	case r.Outbox != nil:
		return slices.Contains(what.Keys, r.Outbox.Key), nil
	case r.Inbox != nil:
		m := r.Inbox.Inbound
		wrote := slices.ContainsFunc(m.Sender.IDs, func(id string) bool {
			return slices.Contains(what.Senders, sessions.Sender{Channel: m.Key.Channel(), ID: id})
		})
		if wrote && e.FileName != nil {
			for i := range m.Attachments {
				files = append(files, e.FileName(m, i))
			}
		}
		return wrote || slices.Contains(what.Keys, m.Key), files
	case r.Messages != nil:
		k := r.Messages.Key
		for _, m := range r.Messages.Messages {
			if !slices.Contains(what.Senders, sessions.Sender{Channel: k.Channel(), ID: m.Sender}) {
				continue
			}
			found = true
			for _, a := range m.Attachments {
				if a.File != "" {
					files = append(files, a.File)
				}
			}
		}
		return found || slices.Contains(what.Keys, k), files
	}
	return false, nil
}
