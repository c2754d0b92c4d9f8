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

// chat is all that is known of one key.
type chat struct {
	key    channels.Key
	seq    int64 // last of inbox and outbox
	msgSeq int64 // last of the transcript; it survives a deletion
	in     []*rows.In
	out    []*rows.Out
	steps  map[string][]sessions.Step
	conv   *conversation // nil without a transcript

	// What is here of it. Over a disk, one that was not used for a while has
	// neither rows nor messages, and of one in use those that are done and on
	// disk may be missing.
	loaded, whole bool
	read          bool // somebody asked for all of it
	used          time.Time
	touched       int64 // how often it changed
}

// conversation is the transcript of a key.
type conversation struct {
	rows.Conversation
	messages    []sessions.Message    // all of them, or the newest if the chat is not whole
	summaries   []sessions.Summary    // of the current generation
	generations []sessions.Generation // without LastSeq
}

func waits(r *rows.In) bool { return r.State == rules.InWaiting }

func openOut(state sessions.DeliveryState) bool {
	return rules.Unsent(state) || state == sessions.DeliveryDead
}

func isOpen(o *rows.Out) bool { return openOut(o.State) }

// open reports whether something in c waits, is to be sent, or is dead, which
// the operator is shown. Of a chat that is not loaded nothing is open.
func (c *chat) open() bool {
	return slices.ContainsFunc(c.in, waits) || slices.ContainsFunc(c.out, isOpen)
}

// waiting counts the messages of c that have no answer.
func (c *chat) waiting() (n int) {
	for _, r := range c.in {
		if waits(r) {
			n++
		}
	}
	return n
}

// openItems tells the dispatcher what c has to do, or that it is gone.
func (c *chat) openItems(gone bool) (items []dispatch.Item) {
	add := func(it dispatch.Item) {
		if !it.Gone {
			it.Gone = gone
			items = append(items, it)
		}
	}
	for _, r := range c.in {
		add(dispatch.In(r))
	}
	for _, o := range c.out {
		add(dispatch.Out(o))
	}
	return items
}

// freeze is a copy of s that stays as it is. With a disk, what is on it is left
// out.
func (s *state) freeze(disk bool) state {
	f := newState()
	f.Shared, f.seen = s.clone(), s.seen
	for k, c := range s.chats {
		f.chats[k] = c.freeze(disk)
	}
	return f
}

func (c *chat) freeze(disk bool) *chat {
	if disk {
		return newChat(c.head())
	}
	f := *c
	f.in, f.out, f.steps = make([]*rows.In, len(c.in)), make([]*rows.Out, len(c.out)), maps.Clone(c.steps)
	for i, r := range c.in {
		own := *r
		f.in[i] = &own
	}
	for i, o := range c.out {
		own := *o
		f.out[i] = &own
	}
	if c.conv != nil {
		own := *c.conv
		own.generations, own.summaries = slices.Clone(own.generations), slices.Clone(own.summaries)
		f.conv = &own
	}
	return &f
}
