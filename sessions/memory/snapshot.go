package memory

import (
	"context"
	"slices"

	"dragoman/channels"
)

// Document is what there is of k, for a document of it: the newest messages,
// what is open, and the head. It calls taken while nothing can change.
func (d *documents) Document(k channels.Key, taken func()) (h Head, content Content, err error) {
	s := d.b
	if err := s.wait(context.Background()); err != nil {
		return h, content, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return h, content, errBroken
	}
	c := s.chats[k]
	if c == nil {
		c = &chat{key: k, loaded: true, whole: true}
	}
	used := c.used
	if err := s.load(c); err != nil {
		return h, content, err
	}
	c.used = used // this is no use of it
	taken()
	newest := *c
	if c.conv != nil {
		conv := *c.conv
		newest.conv = &conv
	}
	newest.trim()
	return newest.head(), newest.content(), nil
}

// Survey is what there is of everything else. It calls taken while nothing can
// change.
func (d *documents) Survey(taken func()) (Common, error) {
	s := d.b
	if err := s.wait(context.Background()); err != nil {
		return Common{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return Common{}, errBroken
	}
	taken()
	return s.All(), nil
}

// Newest is the part of all that a turn starts from, as [Store.Document] has
// it: what is open and the newest messages.
func Newest(h Head, all Content) Content {
	c := newChat(h)
	newest := Content{Summaries: all.Summaries, Journals: all.Journals}
	for _, r := range all.In {
		if waits(&r) {
			newest.In = append(newest.In, r)
		}
	}
	for _, o := range all.Out {
		if openOut(o.State) {
			newest.Out = append(newest.Out, o)
		}
	}
	if c.conv != nil {
		c.conv.messages, c.conv.summaries = all.Messages, all.Summaries
		c.conv.Covers = covered(all.Summaries)
		newest.Messages = slices.Clone(all.Messages[c.tail():])
	}
	return newest
}
