package memory

import (
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

const (
	// tailMessages and tailBytes bound what stays in memory of a transcript,
	// and what a document of it shows: more than most turns start from.
	tailMessages = 200
	tailBytes    = 1 << 20
)

// trim leaves of c what is open and the newest messages.
func (c *chat) trim() {
	c.In = slices.DeleteFunc(slices.Clone(c.In), func(r rows.In) bool { return !waits(&r) })
	c.Out = slices.DeleteFunc(slices.Clone(c.Out), func(o sessions.OutboxRecord) bool { return !isOpen(&o) })
	c.Messages = slices.Clone(c.Messages[c.tail():])
	c.whole, c.read = false, false
}

// tail is where the messages begin that stay in memory: the newest of those
// that a turn starts from, which are after what the newest summary covers, and
// after the generations before.
func (c *chat) tail() (from int) {
	if c.Conversation == nil {
		return 0
	}
	after, all := max(c.Conversation.From, c.covered()), c.Messages
	from = len(all)
	for bytes := 0; from > 0 && all[from-1].Seq > after; from-- {
		bytes += rules.Bytes(all[from-1])
		if len(all)-from == tailMessages || bytes > tailBytes {
			break
		}
	}
	return from
}

// release leaves the head of c.
func (c *chat) release() {
	c.Content = Content{}
	c.loaded, c.whole, c.read = false, false, false
}

// Release drops from memory what is on disk as well and was not used since
// before: contents of conversations in which nothing is open, and of the
// others what is done. It returns how many conversations are left in memory.
func (s *Store) Release(before time.Time) (left int) {
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.chats {
		if !c.loaded || b.broken {
			continue
		}
		if c.used.Before(before) {
			if c.open() {
				c.trim()
			} else {
				c.release()
			}
		}
		if c.loaded {
			left++
		}
	}
	return left
}

// Trim drops from memory what is done in k and not needed for its next turn,
// unless somebody read all of it lately.
func (s *Store) Trim(k channels.Key) {
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.chats[k]; c != nil && c.loaded && !c.read && !b.broken {
		c.trim()
	}
}
