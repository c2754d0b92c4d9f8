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
	mine := newSubject(*what)
	keys, err := e.wroteIn(ctx, what.Senders)
	if err != nil {
		return err
	}
	people, err := e.Store.Pairings(ctx, time.Time{}) // expired requests, too
	if err != nil {
		return err
	}
	for _, p := range people {
		i.Logged = i.Logged || mine.people[sessions.Sender{Channel: p.Channel, ID: p.PersonID}]
	}
	if keys = append(keys, what.Keys...); len(keys) > 0 { // no keys would mean all of them
		err = e.Store.Dump(ctx, keys, func(r sessions.Record) error {
			known, files := mine.in(r, e.FileName)
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

// subject recognizes what belongs to an erasure.
type subject struct {
	keys   map[channels.Key]bool
	people map[sessions.Sender]bool
}

func newSubject(e sessions.Erasure) subject {
	s := subject{map[channels.Key]bool{}, map[sessions.Sender]bool{}}
	for _, k := range e.Keys {
		s.keys[k] = true
	}
	for _, p := range e.Senders {
		s.people[p] = true
	}
	return s
}

// in reports whether r has something of the subject, and names the files of
// people's messages in it.
func (s subject) in(r sessions.Record, name func(channels.Inbound, int) string) (found bool, files []string) {
	switch {
	case r.Conversation != nil:
		return s.keys[r.Conversation.Key], nil
	case r.Outbox != nil:
		return s.keys[r.Outbox.Key], nil
	case r.Inbox != nil:
		m := r.Inbox.Inbound
		wrote := slices.ContainsFunc(m.Sender.IDs, func(id string) bool { return s.people[sessions.Sender{Channel: m.Key.Channel(), ID: id}] })
		if wrote && name != nil {
			for i := range m.Attachments {
				files = append(files, name(m, i))
			}
		}
		return wrote || s.keys[m.Key], files
	case r.Messages != nil:
		k := r.Messages.Key
		for _, m := range r.Messages.Messages {
			if !s.people[sessions.Sender{Channel: k.Channel(), ID: m.Sender}] {
				continue
			}
			found = true
			for _, a := range m.Attachments {
				if a.File != "" {
					files = append(files, a.File)
				}
			}
		}
		return found || s.keys[k], files
	}
	return false, nil
}
