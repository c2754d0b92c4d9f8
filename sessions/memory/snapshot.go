package memory

import (
	"context"

	"dragoman/channels"
)

// Document is what there is of k, for a document of it: the newest messages,
// what is open, and the head. It calls taken while nothing can change.
func (d *documents) Document(k channels.Key, taken func()) (h Head, content Content, err error) {
	err = d.held(func() error {
		c := d.b.chats[k]
		if c == nil {
			c = &chat{Head: Head{Key: k}, loaded: true, whole: true}
		}
		used := c.used
		if err := d.b.load(c); err != nil {
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
func (d *documents) Survey(taken func()) (all Common, err error) {
	err = d.held(func() error {
		taken()
		all = d.b.All()
		return nil
	})
	return all, err
}

// held runs f under the lock, also when the store is closed.
func (d *documents) held(f func() error) error {
	if err := d.b.wait(context.Background()); err != nil {
		return err
	}
	d.b.mu.Lock()
	defer d.b.mu.Unlock()
	if d.b.broken {
		return errBroken
	}
	return f()
}
