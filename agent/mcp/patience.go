package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// callGrace is how long the library may take to return from a call whose time is up.
const callGrace = time.Second

// patience is how long a call is waited for.
type patience struct {
	mu    sync.Mutex
	timer *time.Timer
	each  time.Duration
	last  time.Time         // the end, whatever happens
	show  func(note string) // nil: nobody sees how far it is
	shown time.Time
	held  time.Time // when its time was stopped last
}

// more prolongs the call, because there was progress.
func (p *patience) more() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if left := min(p.each, time.Until(p.last)); left > 0 && p.timer.Stop() {
		p.timer.Reset(left)
	}
}

// hold stops the time while a person is asked, or lets it go on.
func (p *patience) hold(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.timer.Stop()
		p.held = time.Now()
		return
	}
	p.last = p.last.Add(time.Since(p.held))
	p.timer.Reset(p.each)
}

// showEvery is how often the progress of a call is shown at most.
const showEvery = 5 * time.Second

// tell shows how far the call is, in the server's words. It may be called with whatever a
// server sends.
func (p *patience) tell(r *sdk.ProgressNotificationParams) {
	note := progressWords(r.Message, r.Progress, r.Total)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.show == nil || note == "" || !p.shown.IsZero() && time.Since(p.shown) < showEvery {
		return
	}
	p.shown = time.Now()
	p.show(note)
}

// maxProgress bounds the words of a server in the progress of a call.
const maxProgress = 80

// progressWords are foreign words in quotes, and how far it is if that makes sense.
func progressWords(message string, progress, total float64) string {
	words := cleanText(message, maxProgress)
	words = strings.TrimSpace(strings.NewReplacer("“", "'", "”", "'", "\"", "'").Replace(words))
	if words != "" {
		words = "“" + words + "”"
	}
	far := ""
	if total > 0 && progress >= 0 && progress <= total && total <= 1<<53 {
		far = fmt.Sprintf("%d %%", int(progress/total*100))
	}
	return strings.TrimPrefix(strings.TrimSuffix(words+", "+far, ", "), ", ")
}

// errPatience ends a call.
var errPatience = errors.New("its time is up")

// patient is ctx, which also ends when a call that is waited for under token is too slow.
func (l *link) patient(ctx context.Context, token string, show func(string)) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{each: l.pool.o.Call, last: time.Now().Add(l.pool.o.LongCall), show: show}
	p.timer = time.AfterFunc(p.each, func() { cancel(errPatience) })
	l.mu.Lock()
	l.calls[token] = p
	l.mu.Unlock()
	return ctx, func() {
		p.timer.Stop()
		cancel(nil)
		l.mu.Lock()
		delete(l.calls, token)
		l.mu.Unlock()
	}
}

// progressed is told of each note of progress.
func (l *link) progressed(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	l.mu.Lock()
	p := l.calls[token]
	l.mu.Unlock()
	if p != nil {
		p.more()
		p.tell(r.Params)
	}
}

// within runs f, and returns at most callGrace after ctx has ended: the library may be stuck
// in a write to a program that reads nothing. Then the connection ends.
func (l *link) within(ctx context.Context, c *live, f func(context.Context) error) error {
	done := make(chan error, 1)
	l.pool.wait.Go(func() { done <- guarded(func() error { return f(ctx) }) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(callGrace):
		if c.process != nil {
			_ = c.process.Close()
		}
		return context.Cause(ctx)
	}
}
