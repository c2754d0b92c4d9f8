package memory

import (
	"context"

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
		c = &chat{Head: Head{Key: k}, loaded: true, whole: true}
	}
	used := c.used
	if err := s.load(c); err != nil {
		return h, content, err
	}
	c.used = used // this is no use of it
	taken()
	newest := c.copied()
	newest.trim()
	newest.Open = c.open()
	return newest.Head, newest.Content, nil
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
