package memory

import (
	"context"

	"dragoman/channels"
)

// Document is what there is of k, for a document of it: the newest messages,
// what is open, and the head. It calls taken while nothing can change.
func (s *Store) Document(k channels.Key, taken func()) (h Head, content Content, err error) {
	err = s.held(func() error {
		c := s.b.chats[k]
		if c == nil {
			c = &chat{Head: Head{Key: k}, loaded: true, whole: true}
		}
		used := c.used
		if err := s.b.load(c); err != nil {
			return err
		}
		c.used = used // this is no use of it
		taken()
		newest := c.copied()
		newest.trim()
		newest.Open = c.open()
		h, content = newest.Head, newest.Content
		return nil
	})
	return h, content, err
}

// Survey is what there is of everything else. It calls taken while nothing can
// change.
func (s *Store) Survey(taken func()) (all Common, err error) {
	err = s.held(func() error {
		taken()
		all = s.b.All()
		return nil
	})
	return all, err
}

// held runs f under the lock, also when the store is closed.
func (s *Store) held(f func() error) error {
	if err := s.b.wait(context.Background()); err != nil {
		return err
	}
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if s.b.broken {
		return errBroken
	}
	return f()
}
