package file

import (
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/memory"
	"dragoman/sessions/rules"
)

// heard is who wrote in a conversation. It only grows: a change after which
// somebody is gone from a conversation has all of it, so what was known begins
// anew.
type heard struct {
	rules.Writers
	// known says that it has all of them. If not it has those of the commits
	// since then, and the files of the conversation have to be read once.
	known bool
}

func (h *heard) add(k channels.Key, in []memory.InRow, messages []sessions.Message) {
	for _, r := range in {
		h.Inbound(r.Inbound)
	}
	for _, m := range messages {
		h.Message(k, m)
	}
}

// hear takes in who wrote in a change. It comes before d.heads has the change.
// mu is held.
func (d *disk) hear(ch memory.ChatChange) {
	k := ch.Key
	if ch.Gone {
		delete(d.writers, k)
		return
	}
	h := d.writers[k]
	if ch.Anew {
		h = &heard{known: true}
	} else if h == nil {
		_, old := d.heads[k]
		h = &heard{known: !old}
	}
	d.writers[k] = h
	h.add(k, ch.In, ch.Messages)
}

// unheard forgets who wrote in k, because its files are not what they were.
func (d *disk) unheard(k channels.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writers[k] = &heard{}
}

// heardAll is who wrote where that is known, for the index. mu is held.
func (d *disk) heardAll() map[channels.Key][]sessions.Writer {
	all := make(map[channels.Key][]sessions.Writer, len(d.writers))
	for k, h := range d.writers {
		if h.known {
			all[k] = h.List()
		}
	}
	return all
}

// indexed is a list as it stands in the index, where it has the key already.
// It is not nil: nobody, and nobody knows, are two things.
func indexed(list []sessions.Writer) []sessions.Writer {
	list = append([]sessions.Writer{}, list...)
	for i := range list {
		list[i].Key = channels.Key{}
	}
	return list
}

// recall takes over what the index knows. mu is held.
func (d *disk) recall(k channels.Key, list []sessions.Writer) {
	if list == nil {
		return // of an index that was written before they stood there
	}
	h := &heard{known: true}
	for _, w := range list {
		w.Key = k
		h.Add(w)
	}
	d.writers[k] = h
}

// Writers is part of [memory.Disk]. Files are read only of conversations that
// the index did not know, and once.
func (d *disk) Writers(ctx context.Context, channel string) ([]sessions.Writer, error) {
	for {
		list, open := d.listWriters(channel)
		if len(open) == 0 {
			return rules.SortWriters(list), nil
		}
		for k, h := range open {
			// What is committed meanwhile is in h, or h is not the one any more.
			content, err := d.Content(k, true)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			d.mu.Lock()
			if d.writers[k] == h {
				h.add(k, content.In, content.Messages)
				h.known = true
			}
			d.mu.Unlock()
		}
	}
}

// listWriters lists who is known on channel, and of which conversations that
// is not known.
func (d *disk) listWriters(channel string) (list []sessions.Writer, open map[channels.Key]*heard) {
	d.mu.Lock()
	defer d.mu.Unlock()
	open = map[channels.Key]*heard{}
	for k := range d.heads {
		if k.Channel() != channel {
			continue
		}
		h := d.writers[k]
		if h == nil {
			h = &heard{}
			d.writers[k] = h
		}
		if h.known {
			list = append(list, h.List()...)
		} else {
			open[k] = h
		}
	}
	return slices.Clip(list), open
}
