package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
)

// room is one conversation and the people who watch it. It exists as long as
// somebody uses it or something happens in it; everything here is lost with the
// process.
type room struct {
	key   channels.Key
	users int // guarded by Hub.mu

	// accepting is held while a message is handed to the intake, so that the room's
	// messages are accepted one at a time. Capacity 1.
	accepting chan struct{}
	// feedLock is held while the end of the feed is read and published, so that items
	// are published in order. Capacity 1.
	feedLock chan struct{}

	mu           sync.Mutex
	viewers      map[*viewer]struct{}
	lastSeq      int64             // Seq of the newest published item
	waiting      []string          // ids of the messages without an answer
	preview      *Preview          // the answer that is being written
	thoughts     channels.Thoughts // the model's thoughts for that answer, as far as kept
	thoughtBytes int               // length of all of them
	typing       bool
	lastSign     time.Time // when the preview or typing sign was last renewed
	endedTurn    string    // the turn whose preview ended last; late previews of it are ignored
	state        State     // as last published

	unsent         bool      // other nodes have not been sent the latest preview
	remote         bool      // the latest preview came from another node
	remoteViewerAt time.Time // when another node last announced a viewer
	announcedAt    time.Time // when we last announced our viewers
	feedReadAt     time.Time // when the feed was last read
}

// Preview is an answer that is being written.
type Preview struct {
	Turn string `json:"turn"`
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
	// Thoughts continue the earlier thoughts, even in a whole preview.
	Thoughts string `json:"thoughts,omitempty"`
}

// Tool is a call of a tool that has begun.
type Tool struct {
	Turn string `json:"turn"`
	Name string `json:"name"`
}

// State tells viewers what a room is waiting for.
type State struct {
	// Busy: an answer is being prepared or written.
	Busy bool `json:"busy"`
	// Waiting are the ids of the messages that have no answer yet.
	Waiting []string `json:"waiting"`
}

func newRoom(k channels.Key) *room {
	return &room{
		key: k, accepting: make(chan struct{}, 1), feedLock: make(chan struct{}, 1),
		viewers: map[*viewer]struct{}{},
	}
}

// idle reports whether the room can be forgotten.
func (r *room) idle(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.viewers) == 0 && !r.watchedRemotely(now) && (r.preview == nil && !r.typing || now.Sub(r.lastSign) > previewLife)
}

// watched reports whether the room has viewers on this node.
func (r *room) watched() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.viewers) > 0
}

func (r *room) showTyping(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.typing, r.lastSign = true, now
	r.publishState()
}

// show publishes a preview: only the addition if the text has grown, the whole
// preview otherwise.
func (r *room) show(p channels.Preview, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Text = clean(p.Text)
	p.Note = clean(p.Note)
	p.Thoughts = clean(p.Thoughts)
	if p.Turn == r.endedTurn && p.Turn != "" {
		return
	}
	r.lastSign = now
	old := r.preview
	if old != nil && old.Turn != p.Turn {
		r.endPreview()
		old = nil
	}
	r.preview = &Preview{Turn: p.Turn, Text: p.Text, Note: p.Note}
	r.thoughts.Add(p.Thoughts)
	r.thoughtBytes += len(p.Thoughts)
	if old == nil {
		r.publishState()
	}
	grown := old != nil && strings.HasPrefix(p.Text, old.Text) && p.Note == old.Note
	switch {
	case grown && len(p.Text) == len(old.Text) && p.Thoughts == "": // unchanged
	case grown:
		r.publish(frame("delta", 0, Preview{Turn: p.Turn, Text: p.Text[len(old.Text):], Thoughts: p.Thoughts}))
	default:
		r.publish(frame("preview", 0, Preview{Turn: p.Turn, Text: p.Text, Note: p.Note, Thoughts: p.Thoughts}))
	}
}

// endPreview removes the preview for viewers too. The caller holds r.mu.
func (r *room) endPreview() {
	if r.preview != nil {
		r.publish(frame("end", 0, Preview{Turn: r.preview.Turn}))
		r.clearPreview()
	}
}

// clearPreview forgets the preview, which exists. The caller holds r.mu.
func (r *room) clearPreview() {
	r.endedTurn = r.preview.Turn
	r.preview = nil
	r.thoughts = channels.Thoughts{}
	r.thoughtBytes = 0
}

// retract removes the preview of a turn that will have no answer.
func (r *room) retract(turn string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.preview != nil && r.preview.Turn == turn {
		r.endPreview()
		r.publishState()
	}
}

// fullPreview is the preview with all kept thoughts, for a viewer who attaches in the
// middle. The caller holds r.mu.
func (r *room) fullPreview() Preview {
	p := *r.preview
	p.Thoughts = r.thoughts.String()
	return p
}

// expire removes a preview or typing sign that was not renewed.
func (r *room) expire(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetOld(now)
	r.publishState()
}

// forgetOld is expire without publishing the state. The caller holds r.mu.
func (r *room) forgetOld(now time.Time) {
	if now.Sub(r.lastSign) <= previewLife {
		return
	}
	r.typing = false
	r.endPreview()
	r.endedTurn = "" // another node may continue that turn
}

// publishState publishes the state if it changed. The caller holds r.mu.
func (r *room) publishState() {
	s := r.current()
	if s.Busy == r.state.Busy && slices.Equal(s.Waiting, r.state.Waiting) {
		return
	}
	r.state = s
	r.publish(frame("state", 0, s))
}

// current computes the state. The caller holds r.mu.
func (r *room) current() State {
	waiting := append([]string{}, r.waiting...)
	return State{Busy: len(waiting) > 0 || r.typing || r.preview != nil, Waiting: waiting}
}

// publish queues f for every viewer. The caller holds r.mu.
func (r *room) publish(f []byte) {
	for v := range r.viewers {
		v.put(f)
	}
}

// cut disconnects every viewer, to return and read the feed.
func (r *room) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for v := range r.viewers {
		v.cutOff()
	}
}

// How far a viewer may lag before it is cut off. One event always fits, or a single
// long answer could never be shown.
const (
	maxQueued      = 512
	maxQueuedBytes = 4 << 20
)

// viewer is an attached reader with a bounded queue of encoded events. Writers to the
// queue never wait.
type viewer struct {
	wake chan struct{} // capacity 1: the queue is not empty, or the viewer was cut off

	mu     sync.Mutex
	queue  [][]byte
	queued int // bytes
	cut    bool
}

func newViewer(first ...[]byte) *viewer {
	v := &viewer{wake: make(chan struct{}, 1), queue: first}
	for _, f := range first {
		v.queued += len(f)
	}
	v.ring()
	return v
}

// put queues f, or cuts the viewer off if it lags too far.
func (v *viewer) put(f []byte) {
	v.mu.Lock()
	if !v.cut {
		full := len(v.queue) >= maxQueued || v.queued+len(f) > maxQueuedBytes
		if full && len(v.queue) > 0 {
			v.cut = true
			v.queue = nil
			v.queued = 0
		} else {
			v.queue = append(v.queue, f)
			v.queued += len(f)
		}
	}
	v.mu.Unlock()
	v.ring()
}

// cutOff ends the viewer once it has read its queue.
func (v *viewer) cutOff() {
	v.mu.Lock()
	v.cut = true
	v.mu.Unlock()
	v.ring()
}

// take empties the queue. cut: nothing will follow.
func (v *viewer) take() (frames [][]byte, cut bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	frames = v.queue
	v.queue = nil
	v.queued = 0
	return frames, v.cut
}

func (v *viewer) ring() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// frame encodes one server-sent event. JSON has no raw line breaks, so one data line is
// enough. seq, if not 0, becomes the id that a browser sends as Last-Event-ID.
func frame(event string, seq int64, data any) []byte {
	body, err := json.Marshal(data)
	if err != nil {
		panic("live: an event that is not JSON: " + err.Error()) // our own types only
	}
	if seq > 0 {
		return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", seq, event, body)
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, body)
}
