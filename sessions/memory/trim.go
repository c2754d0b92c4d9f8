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
	c.in = slices.DeleteFunc(slices.Clone(c.in), func(r *rows.In) bool { return !waits(r) })
	c.out = slices.DeleteFunc(slices.Clone(c.out), func(o *rows.Out) bool { return !isOpen(o) })
	if c.conv != nil {
		c.conv.messages = slices.Clone(c.conv.messages[c.tail():])
	}
	c.whole, c.read = false, false
}

// tail is where the messages begin that stay in memory.
func (c *chat) tail() int {
	return c.newest(c.summarised(), sessions.HistoryLimit{Messages: tailMessages, Bytes: tailBytes})
}

// release leaves the head of c.
func (c *chat) release() {
	c.in, c.out, c.steps = nil, nil, map[string][]sessions.Step{}
	if c.conv != nil {
		c.conv.messages, c.conv.summaries = nil, nil
	}
	c.loaded, c.whole, c.read = false, false, false
}

// Release drops from memory what is on disk as well and was not used since
// before: contents of conversations in which nothing is open, and of the
// others what is done. It returns how many conversations are left in memory.
func (d *documents) Release(before time.Time) (left int) {
	s := d.b
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.chats {
		if !c.loaded || s.broken {
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
func (d *documents) Trim(k channels.Key) {
	s := d.b
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[k]; c != nil && c.loaded && !c.read && !s.broken {
		c.trim()
	}
}

// summarised is the last Seq before those messages that a turn starts from:
// what the newest summary covers, or the generations before.
func (c *chat) summarised() int64 { return max(c.conv.From, c.conv.Covers) }

// newest finds where the newest messages begin that have a Seq above after and
// fit the limit.
func (c *chat) newest(after int64, limit sessions.HistoryLimit) (from int) {
	all := c.conv.messages
	from = len(all)
	for bytes := 0; from > 0 && all[from-1].Seq > after; from-- {
		bytes += rules.Bytes(all[from-1])
		if len(all)-from == limit.Messages || bytes > limit.Bytes {
			break
		}
	}
	return from
}
