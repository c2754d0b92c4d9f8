package live

import (
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
)

// room is one chat and those who watch it.
type room struct {
	key   channels.Key
	users int // guarded by Hub.mu

	// door is held while a message of this room is handed to the intake, so
	// that they go in one after the other. Capacity 1.
	door chan struct{}
	// tail is held while the end of the feed is read and published, so that
	// items are published in their order. Capacity 1.
	tail chan struct{}

	mu       sync.Mutex
	viewers  map[*viewer]struct{}
	last     int64             // Seq of the newest published item
	waiting  []string          // ids of the messages without an answer
	preview  *Preview          // the answer that is being written
	thought  channels.Thoughts // the model's, for that answer
	thoughts int               // how many bytes of them there ever were
	typing   bool
	heard    time.Time // the last sign of a running turn
	over     string    // the turn whose preview ended last: late previews of it are ignored
	state    State     // as published last

	stale     bool      // other nodes do not know how far the answer is
	remote    bool      // the last sign came from another node
	elsewhere time.Time // when another node last said that somebody watches there
	renewed   time.Time // when other nodes were last told that somebody watches here
	read      time.Time // when the feed was last read
}

// Preview is how far an answer is.
type Preview struct {
	Turn string `json:"turn"`
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
	// Thoughts are more of the model's thoughts, also in a preview.
	Thoughts string `json:"thoughts,omitempty"`
}

// State says what a room is waiting for.
type State struct {
	// Busy: an answer is being prepared or written.
	Busy bool `json:"busy"`
	// Waiting are the ids of the messages that have no answer yet.
	Waiting []string `json:"waiting"`
}

func newRoom(k channels.Key) *room {
	return &room{
		key: k, door: make(chan struct{}, 1), tail: make(chan struct{}, 1),
		viewers: map[*viewer]struct{}{},
	}
}

// silent reports whether nothing would be lost by forgetting the room.
func (r *room) silent(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.viewers) == 0 && !r.awaited(now) && (r.preview == nil && !r.typing || now.Sub(r.heard) > signLife)
}

// watched reports whether anybody looks.
func (r *room) watched() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.viewers) > 0
}

// sign notes that a turn runs.
func (r *room) sign(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.typing, r.heard = true, now
	r.tell()
}

// show publishes how far an answer is: what was added if it only grew, the
// whole otherwise.
func (r *room) show(p channels.Preview, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Text, p.Note, p.Thoughts = clean(p.Text), clean(p.Note), clean(p.Thoughts)
	if p.Turn == r.over && p.Turn != "" {
		return
	}
	r.heard = now
	old := r.preview
	if old != nil && old.Turn != p.Turn {
		r.endPreview()
		old = nil
	}
	r.preview = &Preview{Turn: p.Turn, Text: p.Text, Note: p.Note}
	r.thought.Add(p.Thoughts)
	r.thoughts += len(p.Thoughts)
	if old == nil {
		r.tell()
	}
	grown := old != nil && strings.HasPrefix(p.Text, old.Text) && p.Note == old.Note
	switch {
	case grown && len(p.Text) == len(old.Text) && p.Thoughts == "": // nothing new
	case grown:
		r.publish(frame("delta", 0, Preview{Turn: p.Turn, Text: p.Text[len(old.Text):], Thoughts: p.Thoughts}))
	default:
		r.publish(frame("preview", 0, Preview{Turn: p.Turn, Text: p.Text, Note: p.Note, Thoughts: p.Thoughts}))
	}
}

// endPreview takes a preview away. r.mu is held.
func (r *room) endPreview() {
	if r.preview == nil {
		return
	}
	r.over = r.preview.Turn
	r.publish(frame("end", 0, Preview{Turn: r.over}))
	r.preview, r.thought, r.thoughts = nil, channels.Thoughts{}, 0
}

// retract takes the preview of a turn away before its time.
func (r *room) retract(turn string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.preview != nil && r.preview.Turn == turn {
		r.endPreview()
		r.tell()
	}
}

// soFar is the preview for a viewer who comes in the middle: with all thoughts
// that are kept. r.mu is held.
func (r *room) soFar() Preview {
	p := *r.preview
	p.Thoughts = r.thought.String()
	return p
}

// expire takes down signs that nobody has renewed.
func (r *room) expire(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetOld(now)
	r.tell()
}

// forgetOld is expire without telling. r.mu is held.
func (r *room) forgetOld(now time.Time) {
	if now.Sub(r.heard) <= signLife {
		return
	}
	r.typing = false
	r.endPreview()
	r.over = "" // another node may go on with that turn
}

// tell publishes the state if it changed. r.mu is held.
func (r *room) tell() {
	s := r.current()
	if s.Busy == r.state.Busy && slices.Equal(s.Waiting, r.state.Waiting) {
		return
	}
	r.state = s
	r.publish(frame("state", 0, s))
}

// current is the state of now. r.mu is held.
func (r *room) current() State {
	waiting := append([]string{}, r.waiting...)
	return State{Busy: len(waiting) > 0 || r.typing || r.preview != nil, Waiting: waiting}
}

// publish gives every viewer f. r.mu is held.
func (r *room) publish(f []byte) {
	for v := range r.viewers {
		v.put(f)
	}
}

// cut sends every viewer away, to come back and read the feed.
func (r *room) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for v := range r.viewers {
		v.cutOff()
	}
}
