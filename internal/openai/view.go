package openai

import (
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/agent"
)

// progress is an answer as far as it has come.
type progress struct {
	id       string // of the answer, without the prefix of its API
	at       time.Time
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
	repeats []*view       // of requests that repeat this one: they show the same
	changed chan struct{} // capacity 1: there is more than was read
}

// newView is a view of an answer that nobody has begun. id and at are the answer's.
func newView(beat time.Duration, id string, at time.Time) *view {
	return &view{beat: beat, now: progress{id: id, at: at}, changed: make(chan struct{}, 1)}
}

// repeat is a view that shows what v shows, from now on until end is called.
func (v *view) repeat() (one *view, end func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one = newView(v.beat, v.now.id, v.now.at)
	one.take(v.now)
	v.repeats = append(v.repeats, one)
	return one, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.repeats = slices.DeleteFunc(v.repeats, func(other *view) bool { return other == one })
	}
}

// change changes what v and its repeats show.
func (v *view) change(f func(*progress)) {
	v.mu.Lock()
	f(&v.now)
	for _, one := range v.repeats {
		one.take(v.now)
	}
	v.mu.Unlock()
	v.signal()
}

// take shows what another view shows.
func (v *view) take(p progress) {
	v.mu.Lock()
	v.now = p
	v.mu.Unlock()
	v.signal()
}

// show is agent.Turn.Progress.
func (v *view) show(p agent.Progress) {
	v.change(func(now *progress) {
		now.text = p.Text
		now.note = p.Note
	})
}

// set shows what another turn says of its progress.
func (v *view) set(text, note string) { v.show(agent.Progress{Text: text, Note: note}) }

// think is agent.Turn.Thoughts.
func (v *view) think(piece string) {
	v.change(func(now *progress) { now.thoughts += piece })
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
