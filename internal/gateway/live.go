package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// errInterrupted cancels a turn that a new message interrupts, or a change of one
// that it reads.
var errInterrupted = errors.New("gateway: interrupted by a new message")

// liveTurns knows the turns that run in this process. All of it is a
// convenience for the people waiting; nothing depends on it being complete.
type liveTurns struct {
	mu sync.Mutex
	m  map[channels.Key]*liveTurn
}

// liveTurn is one running turn: how far its answer is, and what came meanwhile.
type liveTurn struct {
	claim  sessions.Claim
	began  time.Time
	cancel context.CancelCauseFunc
	bound  func() []sessions.Answered // the inbox messages that it is about
	asker  string                     // see [Gateway.asker]
	news   chan struct{}              // capacity 1: progress to show
	kicked chan struct{}              // capacity 1: deliveries to make
	ending chan struct{}              // capacity 1: held by what ends the turn: its commit, or a command

	alive    atomic.Int64 // when its model last gave a sign of life, in Unix nanoseconds; 0: never
	mu       sync.Mutex
	progress agent.Progress
	thoughts channels.Thoughts // those that no preview has shown yet
	preview  string            // the network's id of the message that shows it
	showing  chan struct{}     // closed when the preview in flight has ended; nil: none
	muted    bool              // no more previews: a command ends the turn
	over     bool              // its answer is committed: nothing ends it any more
	more     bool              // messages came that it has not read
}

func (l *liveTurns) add(c sessions.Claim, began time.Time, bound func() []sessions.Answered, cancel context.CancelCauseFunc, asker string) *liveTurn {
	t := &liveTurn{
		claim: c, began: began, cancel: cancel, bound: bound, asker: asker,
		news: make(chan struct{}, 1), kicked: make(chan struct{}, 1), ending: make(chan struct{}, 1),
	}
	l.mu.Lock()
	l.m[c.Key] = t
	l.mu.Unlock()
	return t
}

func (l *liveTurns) remove(t *liveTurn) {
	l.mu.Lock()
	if l.m[t.claim.Key] == t {
		delete(l.m, t.claim.Key)
	}
	l.mu.Unlock()
}

func (l *liveTurns) get(k channels.Key) *liveTurn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.m[k]
}

// kick makes a running turn's attendant deliver what was answered meanwhile;
// without a running turn the store has woken the key already.
func (l *liveTurns) kick(k channels.Key) {
	if t := l.get(k); t != nil {
		signal(t.kicked)
	}
}

// arrived tells a running turn that a message was queued behind it.
func (l *liveTurns) arrived(k channels.Key, mode Mode) {
	if t := l.get(k); t != nil {
		t.hasMore(mode)
	}
}

func (t *liveTurn) hasMore(mode Mode) {
	t.mu.Lock()
	t.more = true
	t.mu.Unlock()
	if mode == Interrupt {
		t.cancel(errInterrupted)
	}
}

// outdated ends a running turn that reads a message which was edited or deleted.
// The store refuses whatever comes of it; this saves the time and the tokens, and
// the turn is run again on what there is now.
func (l *liveTurns) outdated(k channels.Key, seq int64) {
	if t := l.get(k); t != nil && slices.Contains(t.seqs(), seq) {
		t.cancel(errInterrupted)
	}
}

// seqs are those of the inbox messages that it is about.
func (t *liveTurn) seqs() []int64 {
	var all []int64
	for _, a := range t.bound() {
		all = append(all, a.Seq)
	}
	return all
}

// hold keeps the commit of a turn and the commands that end it apart: else the
// person is told twice what the turn wrote, as an answer and as a part of one.
// It waits for the other one, but not for ever.
func (t *liveTurn) hold(ctx context.Context) (release func()) {
	if t == nil {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, holdTimeout)
	defer cancel()
	select {
	case t.ending <- struct{}{}:
		return func() { <-t.ending }
	case <-ctx.Done():
		return func() {}
	}
}

// committed notes that nothing ends the turn any more.
func (t *liveTurn) committed() {
	if t != nil {
		t.mu.Lock()
		t.over = true
		t.mu.Unlock()
	}
}

// partial is how far the answer of k is, the message that shows it, and the
// seqs of those that it answers; none if no turn of k runs. No
// further preview is shown; one in flight is waited for, because its message
// is the one to be changed.
func (l *liveTurns) partial(ctx context.Context, k channels.Key) (text, preview string, seqs []int64) {
	t := l.get(k)
	if t == nil {
		return "", "", nil
	}
	t.mu.Lock()
	t.muted = true
	showing := t.showing
	t.mu.Unlock()
	if showing != nil {
		wait, cancel := context.WithTimeout(ctx, muteTimeout)
		defer cancel()
		select {
		case <-showing:
		case <-wait.Done():
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return "", "", nil
	}
	return t.progress.Text, t.preview, t.seqs()
}

func (l *liveTurns) age(k channels.Key, now time.Time) (time.Duration, bool) {
	t := l.get(k)
	if t == nil {
		return 0, false
	}
	return now.Sub(t.began), true
}

func (l *liveTurns) running(now time.Time) (n int, oldest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.m {
		oldest = max(oldest, now.Sub(t.began))
	}
	return len(l.m), oldest
}

// show takes the agent's progress. It never blocks.
func (t *liveTurn) show(p agent.Progress) {
	t.mu.Lock()
	t.progress = p
	t.mu.Unlock()
	signal(t.news)
}

// think takes a piece of the model's thoughts. It never blocks.
func (t *liveTurn) think(piece string) {
	t.mu.Lock()
	t.thoughts.Add(piece)
	t.mu.Unlock()
	signal(t.news)
}

func (t *liveTurn) current() (agent.Progress, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress, t.preview
}

// beginPreview reports what to show, and whether anything may be shown; then
// endPreview must be called.
func (t *liveTurn) beginPreview() (p channels.Preview, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p = channels.Preview{Key: t.claim.Key, MessageID: t.preview, Text: t.progress.Text, Note: t.progress.Note, Thoughts: t.thoughts.Take()}
	if t.muted || p.Text == "" && p.Note == "" && p.Thoughts == "" {
		return p, false
	}
	t.showing = make(chan struct{})
	return p, true
}

// endPreview takes the id of the message that shows the preview, "" if there
// is none, and reports whether it is a new one.
func (t *liveTurn) endPreview(id string) (isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.showing)
	t.showing = nil
	if id == "" || id == t.preview {
		return false
	}
	t.preview = id
	return true
}

// dropPreview forgets the message that shows the preview: no answer edits it.
func (t *liveTurn) dropPreview() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.preview = ""
}

// takeMore reports whether messages came that the turn has not read.
func (t *liveTurn) takeMore() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	more := t.more
	t.more = false
	return more
}

// signal wakes the reader of a channel of capacity 1; a wake-up that is
// already waiting is enough.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
