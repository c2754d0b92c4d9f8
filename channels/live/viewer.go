package live

import (
	"encoding/json"
	"fmt"
	"sync"
)

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
			v.cut, v.queue, v.queued = true, nil, 0
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
	frames, v.queue, v.queued = v.queue, nil, 0
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
