package openai

import (
	"strings"
	"sync"
	"time"

	"dragoman/agent"
)

// progress is an answer as far as it has come.
type progress struct {
	text     string // all of it
	thoughts string // all of them
	note     string // what the turn is doing
}

// view is what a turn shows of its progress to the goroutine that writes. The turn never
// waits for it.
type view struct {
	beat    time.Duration // between two signs of life
	mu      sync.Mutex
	now     progress
	changed chan struct{} // capacity 1: there is more than was read
}

func newView(beat time.Duration) *view {
	return &view{beat: beat, changed: make(chan struct{}, 1)}
}

// show is agent.Turn.Progress.
func (v *view) show(p agent.Progress) {
	v.mu.Lock()
	v.now.text, v.now.note = p.Text, p.Note
	v.mu.Unlock()
	v.signal()
}

// set shows what another turn says of its progress.
func (v *view) set(text, note string) { v.show(agent.Progress{Text: text, Note: note}) }

// think is agent.Turn.Thoughts.
func (v *view) think(piece string) {
	v.mu.Lock()
	v.now.thoughts += piece
	v.mu.Unlock()
	v.signal()
}

func (v *view) signal() {
	select {
	case v.changed <- struct{}{}:
	default: // it will read this, too
	}
}

func (v *view) read() progress {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

func (v *view) thoughts() string { return v.read().thoughts }

// follow writes progress until the turn has ended.
func (v *view) follow(ended <-chan struct{}, to sink) {
	beat := time.NewTicker(v.beat)
	defer beat.Stop()
	for {
		select {
		case <-ended:
			return
		case <-v.changed:
			to.more(v.read())
		case <-beat.C:
			to.beat()
		}
	}
}

// sayAnew comes before an answer that the model began a second time, after the client had
// got a part of the first.
const sayAnew = "\n\n(The answer broke off here. It follows from its beginning.)\n\n"

// delta is what a growing text adds.
type delta struct{ sent string }

// next returns what to send of text, which is all of it so far. A text that does not begin
// with what was sent is held back: it may still become one that does.
func (d *delta) next(text string) string {
	added, grows := strings.CutPrefix(text, d.sent)
	if grows {
		d.sent = text
		return added
	}
	return ""
}

// end returns what is missing of the whole text.
func (d *delta) end(text string) string {
	if strings.HasPrefix(d.sent, text) {
		return "" // spaces at the end
	}
	if added := d.next(text); added != "" {
		return added
	}
	return sayAnew + text
}
