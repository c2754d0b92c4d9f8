package memory

import (
	"maps"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// state is everything that is stored.
type state struct {
	*Shared
	chats  map[channels.Key]*chat
	seen   *SeenIDs       // the seq of what was accepted
	sent   idFilter       // ids of deliveries; nil until a restore asks for them
	begins map[string]int // how often each id of a generation is there
	last   *chat          // of a frozen state: the one whose content is here
}

func newState() state {
	return state{Shared: NewShared(), chats: map[channels.Key]*chat{}, seen: &SeenIDs{}, begins: map[string]int{}}
}

// count adds to how often the ids of v's generations are there.
func (s *state) count(v *ConvHead, by int) {
	if v == nil {
		return
	}
	for _, g := range v.Generations {
		if s.begins[g.ID] += by; s.begins[g.ID] <= 0 {
			delete(s.begins, g.ID)
		}
	}
}

// freeze is a copy of s that stays as it is. With a disk, what is on it is left
// out.
func (s *state) freeze(disk bool) state {
	f := newState()
	f.Shared, f.seen = s.clone(), s.seen
	for k, c := range s.chats {
		own := &chat{Head: c.Head}
		if !disk {
			own = c.copied()
		}
		f.chats[k] = own
	}
	return f
}

// chat is all that is known of one key.
type chat struct {
	Head // without Open
	Content

	// What is here of it. Over a disk, one that was not used for a while has
	// neither rows nor messages, and of one in use those that are done and on
	// disk may be missing.
	loaded, whole bool
	read          bool // somebody asked for all of it
	used          time.Time
	touched       int64 // how often it changed
}

// copied is a copy of c that stays as it is.
func (c *chat) copied() *chat {
	own := *c
	own.In, own.Out, own.Journals = slices.Clone(c.In), slices.Clone(c.Out), maps.Clone(c.Journals)
	return &own
}

func waits(r *rows.In) bool { return r.State == rules.InWaiting }

func isOpen(o *sessions.OutboxRecord) bool {
	return rules.Unsent(o.State) || o.State == sessions.DeliveryDead
}

// open reports whether something in c waits, is to be sent, or is dead, which
// the operator is shown. Of a chat that is not loaded nothing is open.
func (c *chat) open() bool {
	return c.waiting() > 0 || slices.ContainsFunc(c.Out, func(o sessions.OutboxRecord) bool { return isOpen(&o) })
}

// waiting counts the messages of c that have no answer.
func (c *chat) waiting() (n int) {
	for i := range c.In {
		if waits(&c.In[i]) {
			n++
		}
	}
	return n
}

// covered is up to where summaries stand for messages.
func (c *chat) covered() int64 {
	if n := len(c.Summaries); n > 0 {
		return c.Summaries[n-1].CoversSeq
	}
	return 0
}

// reading is the head of c for who reads.
func (c *chat) reading() rows.Head {
	h := rows.Head{Key: c.Key, Seq: c.Seq, MessageSeq: c.MessageSeq, Waiting: c.waiting()}
	if v := c.Conversation; v != nil {
		own := v.Conversation
		own.Covers = c.covered()
		if n := len(v.Generations); n > 0 {
			own.Generation = v.Generations[n-1].ID
		}
		h.Conversation = &own
	}
	return h
}

// items tells the dispatcher what c has to do, or that it is gone.
func (c *chat) items(gone bool) (items []dispatch.Item) {
	add := func(it dispatch.Item) {
		if !it.Gone {
			it.Gone = gone
			items = append(items, it)
		}
	}
	for i := range c.In {
		add(dispatch.In(&c.In[i]))
	}
	for i := range c.Out {
		add(dispatch.Out(&c.Out[i]))
	}
	return items
}
