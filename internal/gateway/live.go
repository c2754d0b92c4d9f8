package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// errInterrupted cancels a turn that a new message interrupts.
var errInterrupted = errors.New("gateway: interrupted by a new message")

// liveTurns knows the turns that run in this process. All of it is a
// convenience for the people waiting; nothing depends on it being complete.
type liveTurns struct {
	mu sync.Mutex
	m  map[channels.Key]*liveTurn
}

// liveTurn is one running turn: how far its answer is, and what came meanwhile.
type liveTurn struct {
	key    channels.Key
	began  time.Time
	cancel context.CancelCauseFunc
	news   chan struct{} // capacity 1: progress to show
	kicked chan struct{} // capacity 1: deliveries to make

	mu       sync.Mutex
	progress agent.Progress
	preview  string        // the network's id of the message that shows it
	showing  chan struct{} // closed when the preview in flight has ended; nil: none
	hushed   bool          // no more previews: a command ends the turn
	arrived  []arrival
}

type arrival struct {
	seq int64
	in  channels.Inbound
}

func (l *liveTurns) add(k channels.Key, began time.Time, cancel context.CancelCauseFunc) *liveTurn {
	t := &liveTurn{
		key: k, began: began, cancel: cancel,
		news: make(chan struct{}, 1), kicked: make(chan struct{}, 1),
	}
	l.mu.Lock()
	l.m[k] = t
	l.mu.Unlock()
	return t
}

func (l *liveTurns) remove(t *liveTurn) {
	l.mu.Lock()
	if l.m[t.key] == t {
		delete(l.m, t.key)
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

// arrived tells a running turn about a message that was queued behind it.
func (l *liveTurns) arrived(k channels.Key, seq int64, in channels.Inbound, mode Mode) {
	if mode != Steer && mode != Interrupt {
		return
	}
	t := l.get(k)
	if t == nil {
		return
	}
	t.mu.Lock()
	t.arrived = append(t.arrived, arrival{seq, in})
	t.mu.Unlock()
	if mode == Interrupt {
		t.cancel(errInterrupted)
	}
}

// partial is how far the answer of k is, and the message that shows it. No
// further preview is shown; one in flight is waited for, because its message
// is the one to be changed.
func (l *liveTurns) partial(ctx context.Context, k channels.Key) (text, preview string, running bool) {
	t := l.get(k)
	if t == nil {
		return "", "", false
	}
	t.mu.Lock()
	t.hushed = true
	showing := t.showing
	t.mu.Unlock()
	if showing != nil {
		wait, cancel := context.WithTimeout(ctx, hushTimeout)
		defer cancel()
		select {
		case <-showing:
		case <-wait.Done():
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress.Text, t.preview, true
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

func (t *liveTurn) current() (agent.Progress, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress, t.preview
}

// beginPreview reports what to show, and whether anything may be shown; then
// endPreview must be called.
func (t *liveTurn) beginPreview() (p agent.Progress, shown string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hushed || t.progress == (agent.Progress{}) {
		return p, "", false
	}
	t.showing = make(chan struct{})
	return t.progress, t.preview, true
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

// take empties the list of what arrived.
func (t *liveTurn) take() []arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.arrived
	t.arrived = nil
	return a
}

// signal wakes the reader of a channel of capacity 1; a wake-up that is
// already waiting is enough.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

const (
	typingEvery    = 4 * time.Second
	attendTimeout  = 10 * time.Second
	hushTimeout    = 3 * time.Second // how long a command waits for a preview in flight
	previewPauseOn = 5 * time.Second // after an error
	// previewSettle is how long news waits to be shown: an answer that comes
	// all at once, or ends with it, is not sent twice.
	previewSettle = 300 * time.Millisecond
)

// attendant serves the people who wait for a turn: it shows that an answer is
// being written, shows it growing, and delivers what commands answered
// meanwhile. It belongs to one turn and ends with it.
type attendant struct {
	g       *Gateway
	b       *binding // nil: nobody watches (heartbeats)
	claim   sessions.Claim
	turn    *liveTurn
	id      string
	answers func() []sessions.Answered // that a journaled preview binds
	quit    chan struct{}
	done    chan struct{}
}

func (g *Gateway) attend(ctx context.Context, a *attendant) (stop func()) {
	a.g, a.quit, a.done = g, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(a.done)
		a.run(ctx)
	}()
	return func() {
		close(a.quit)
		<-a.done
	}
}

func (a *attendant) run(ctx context.Context) {
	wait := time.NewTimer(a.g.opts.TypingAfter)
	defer wait.Stop()
	patient := false // the turn has lasted long enough to show something
	var nextPreview time.Time
	var previewDue <-chan time.Time
	for {
		select {
		case <-a.quit:
			return
		case <-ctx.Done():
			<-a.quit
			return
		case <-wait.C:
			if !patient {
				patient = true
				previewDue = time.After(0)
			}
			a.typing(ctx)
			wait.Reset(typingEvery)
		case <-a.turn.kicked:
			if err := a.g.deliver(ctx, a.claim); err != nil && ctx.Err() == nil {
				a.g.log(a.claim.Key).Warn("could not deliver beside a running turn", "err", err)
			}
		case <-a.turn.news:
			if patient && previewDue == nil {
				previewDue = time.After(max(time.Until(nextPreview), previewSettle))
			}
		case <-previewDue:
			previewDue = nil
			nextPreview = time.Now().Add(a.preview(ctx))
		}
	}
}

func (a *attendant) typing(ctx context.Context) {
	if a.b == nil {
		return
	}
	typer, ok := a.b.Channel.(channels.Typer)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, attendTimeout)
	defer cancel()
	if err := typer.Typing(ctx, a.claim.Key); err != nil {
		a.g.log(a.claim.Key).Debug("typing sign not shown", "err", err)
	}
}

// preview shows the answer so far and returns how long to wait before the
// next one. A preview in flight is not cut short by the turn's end: its
// message id is what the final answer edits.
func (a *attendant) preview(ctx context.Context) time.Duration {
	if a.b == nil {
		return time.Hour
	}
	p, ok := a.b.Channel.(channels.Previewer)
	if !ok {
		return time.Hour
	}
	now, shown, ok := a.turn.beginPreview()
	if !ok {
		return p.PreviewEvery()
	}
	id, err := a.show(ctx, p, channels.Preview{
		Key: a.claim.Key, Turn: a.id, MessageID: shown, Text: now.Text, Note: now.Note,
	})
	isNew := a.turn.endPreview(id)
	if err != nil {
		a.g.log(a.claim.Key).Debug("preview not shown", "err", err)
		var retry *channels.Retry
		if errors.As(err, &retry) {
			return max(retry.After, p.PreviewEvery())
		}
		return max(previewPauseOn, p.PreviewEvery())
	}
	if isNew {
		step := sessions.Step{Kind: sessions.StepPreview, MessageID: id, At: a.g.opts.Now()}
		if err := a.g.store.AppendStep(ctx, a.claim, a.id, a.answers(), step); err != nil && ctx.Err() == nil {
			a.g.log(a.claim.Key).Debug("preview not journaled", "err", err)
		}
	}
	return p.PreviewEvery()
}

// show makes one preview. A panic in it must not end the daemon.
func (a *attendant) show(ctx context.Context, p channels.Previewer, what channels.Preview) (id string, err error) {
	defer recoverTo(&err, "preview on "+what.Key.Channel())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attendTimeout)
	defer cancel()
	return p.Preview(ctx, what)
}
