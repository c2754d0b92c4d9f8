package trace

import "sync"

// maxTurns is how many turns have parts that may begin after them: a delivery that waits
// longer has no parent. 30 KB of ids.
const maxTurns = 1024

// turns remembers the spans of the newest turns. Its zero value remembers none.
type turns struct {
	mu    sync.Mutex
	spans map[[16]byte][8]byte // the newest span of a trace
	order [][16]byte           // the traces in the map, as a ring
	next  int                  // where the oldest is in it, once it is full
}

// add notes the span of a turn.
func (t *turns) add(trace [16]byte, span [8]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spans == nil {
		t.spans = map[[16]byte][8]byte{}
	}
	_, again := t.spans[trace]
	t.spans[trace] = span
	switch {
	case again:
	case len(t.order) < maxTurns:
		t.order = append(t.order, trace)
	default:
		delete(t.spans, t.order[t.next])
		t.order[t.next] = trace
		t.next = (t.next + 1) % maxTurns
	}
}

// newest is the newest span of a trace; zero: it is not remembered.
func (t *turns) newest(trace [16]byte) [8]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spans[trace]
}
