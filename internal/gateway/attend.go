package gateway

import (
	"context"
	"errors"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

const (
	typingEvery    = 4 * time.Second
	attendTimeout  = 10 * time.Second
	muteTimeout    = 3 * time.Second // how long a command waits for a preview in flight
	holdTimeout    = 5 * time.Second // how long what ends a turn waits for what else does
	previewPauseOn = 5 * time.Second // after an error
	// previewSettle is how long news waits to be shown: an answer that comes
	// all at once, or ends with it, is not sent twice.
	previewSettle = 300 * time.Millisecond
)

// attendant serves the people who wait for a turn: it shows that an answer is
// being written, shows it growing, and delivers what commands answered
// meanwhile and, where answers take turns, what was not out when it began. It belongs to one turn and ends with it.
type attendant struct {
	g       *Gateway
	b       *binding // nil: nobody watches (heartbeats)
	claim   sessions.Claim
	turn    *liveTurn
	id      string
	replyTo string                     // the message that a preview answers
	answers func() []sessions.Answered // that a journaled preview binds
	// since is when the person was last given anything, sayWaiting tells them that
	// nothing comes.
	since      time.Time
	sayWaiting func(context.Context)
	quit       chan struct{}
	done       chan struct{}
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
	silence := time.NewTimer(a.silence())
	defer silence.Stop()
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
			if previewDue == nil && a.fades() {
				previewDue = time.After(max(0, time.Until(nextPreview)))
			}
		case <-silence.C:
			if left := a.silence(); left > 0 {
				silence.Reset(left)
			} else {
				a.sayWaiting(ctx)
			}
		case <-a.turn.kicked:
			if err := a.g.deliver(ctx, a.claim, a.ends); err != nil && ctx.Err() == nil {
				a.g.log(a.claim.Key).Warn("could not deliver while a turn runs", "err", err)
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

// ends reports whether the turn is over: what is left to deliver goes out after
// it.
func (a *attendant) ends(int) bool {
	select {
	case <-a.quit:
		return true
	default:
		return false
	}
}

func (a *attendant) typing(ctx context.Context) {
	if a.b == nil {
		return
	}
	typer, ok := able[channels.Typer](a.b)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, attendTimeout)
	defer cancel()
	err := func() (err error) {
		defer recoverTo(&err, "typing on "+a.claim.Key.Channel())
		return typer.Typing(ctx, a.claim.Key)
	}()
	if err != nil {
		a.g.log(a.claim.Key).Debug("typing indicator not shown", "err", err)
	}
}

// fades reports whether what shows the answer now goes by itself.
func (a *attendant) fades() bool {
	if a.b == nil {
		return false
	}
	_, message := a.turn.current()
	return message == "" && a.b.fades()
}

// preview shows the answer so far and returns how long to wait before the
// next one. A preview in flight is not cut short by the turn's end: its
// message id is what the final answer edits.
func (a *attendant) preview(ctx context.Context) time.Duration {
	if a.b == nil {
		return time.Hour
	}
	p, ok := able[channels.Previewer](a.b)
	if !ok {
		return time.Hour
	}
	if waits, err := a.g.store.Unsent(ctx, a.claim, 1); err != nil || len(waits) > 0 {
		return p.PreviewEvery() // the preview would overtake an answer
	}
	now, ok := a.turn.beginPreview()
	if !ok {
		return p.PreviewEvery()
	}
	now.Turn, now.ReplyTo = a.id, a.replyTo
	id, err := a.show(ctx, p, now)
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
		err := a.g.store.AppendStep(ctx, a.claim, a.id, a.answers(), step)
		if err != nil && ctx.Err() == nil {
			a.g.log(a.claim.Key).Debug("preview not journaled", "err", err)
		}
		if errors.Is(err, sessions.ErrConflict) {
			a.retract(ctx, id)
		}
	}
	return p.PreviewEvery()
}

// retract takes a preview back whose turn is over: what it answers was deleted
// or changed while the preview was on its way. The turn that runs instead, if
// any, knows nothing of it.
func (a *attendant) retract(ctx context.Context, id string) {
	a.turn.dropPreview()
	r, ok := able[channels.Retractor](a.b)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attendTimeout)
	defer cancel()
	err := func() (err error) {
		defer recoverTo(&err, "retract on "+a.claim.Key.Channel())
		return r.Retract(ctx, a.claim.Key, id)
	}()
	if err != nil {
		a.g.log(a.claim.Key).Warn("could not remove the preview of an unfinished answer", "err", err)
	}
}

// show makes one preview. A panic in it must not end the daemon.
func (a *attendant) show(ctx context.Context, p channels.Previewer, what channels.Preview) (id string, err error) {
	defer recoverTo(&err, "preview on "+what.Key.Channel())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attendTimeout)
	defer cancel()
	return p.Preview(ctx, what)
}
