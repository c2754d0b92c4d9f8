package memory

import (
	"context"

	"dragoman/channels"
)

// chat returns what is known of k, loaded, making it if nothing is known.
func (b *backend) chat(k channels.Key) (*chat, error) {
	c := b.chats[k]
	if c == nil {
		c = &chat{Head: Head{Key: k}, loaded: true, whole: true}
		b.chats[k] = c
	}
	return c, b.load(c)
}

// load makes sure that what is open in c and its newest messages are here.
func (b *backend) load(c *chat) error {
	if b.disk == nil {
		return nil
	}
	c.used = b.now()
	if c.loaded {
		return nil
	}
	content, err := b.disk.Content(c.Key, false)
	if err != nil {
		return err
	}
	if _, frozen := b.disk.(frozenDisk); frozen {
		if b.last != nil {
			b.last.release()
		}
		b.last, c.whole = c, true
	}
	c.Content, c.loaded = content, true
	return nil
}

// fill makes sure that everything of c is here.
func (b *backend) fill(c *chat) error {
	if err := b.load(c); err != nil || b.disk == nil {
		return err
	}
	c.read = true
	if c.whole {
		return nil
	}
	all, err := b.look(c)
	if err == nil {
		c.Content, c.whole = all.Content, true
	}
	return err
}

// look is all of c, without keeping it in memory.
func (b *backend) look(c *chat) (*chat, error) {
	if b.disk == nil || c.whole {
		return c, nil
	}
	content, err := b.disk.Content(c.Key, true)
	if err != nil {
		return nil, err
	}
	all := *c
	all.Content = c.Over(content)
	return &all, nil
}

// fillTries is how often something may come between before all of a
// conversation is read under the lock.
const fillTries = 3

// gathered runs f under the lock of r, with all of k unless enough is content
// with what is in memory. What is missing is read without the lock, which in a
// long conversation takes a while, and kept in memory unless once is set. Without
// a transcript f is not run.
func (r reader) gathered(ctx context.Context, k channels.Key, once bool, enough func(*chat) bool, f func(*chat)) error {
	for try := 0; ; try++ {
		var c *chat
		var touched int64
		done := true
		err := r.do(ctx, func() (err error) {
			if c = r.b.chats[k]; c == nil || c.Conversation == nil {
				return nil
			}
			if err = r.b.load(c); err != nil {
				return err
			}
			if done = r.b.disk == nil || c.whole || enough(c); done {
				f(c)
				return nil
			}
			if done = try == fillTries || r.inside; done {
				all, err := r.b.look(c)
				if err == nil {
					f(all)
				}
				return err
			}
			touched = c.touched
			r.b.outside.Add(1)
			return nil
		})
		if err != nil || done {
			return err
		}
		if done, err = r.b.gather(k, c, touched, once, f); err != nil || done {
			return err
		}
	}
}

// gather is the part of gathered without the lock. It reports whether f was
// run: not if something changed meanwhile. A store that is closed meanwhile
// waits for it.
func (b *backend) gather(k channels.Key, c *chat, touched int64, once bool, f func(*chat)) (done bool, err error) {
	defer b.outside.Done()
	content, err := b.disk.Content(k, true)
	if err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken || b.chats[k] != c || c.touched != touched || !c.loaded {
		return false, nil
	}
	all := *c
	if !c.whole {
		all.Content = c.Over(content)
	}
	if !once {
		c.Content, c.whole, c.read, c.used = all.Content, true, true, b.now()
	}
	f(&all)
	return true, nil
}
