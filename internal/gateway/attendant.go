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
	holdTimeout    = 5 * time.Second // how long a command and the turn's commit wait for each other
	previewPauseOn = 5 * time.Second // after an error
	// previewSettle is how long new text waits to be shown. An answer that
	// comes all at once, or ends meanwhile, is not sent twice.
	previewSettle = 300 * time.Millisecond
)

// attendant serves the people who wait for a turn. It shows typing and the
// growing answer, and delivers the answers to commands and, where answers take
// turns, the deliveries that were left when the turn began. It belongs to one
// turn and ends with it.
type attendant struct {
	r       *run
	replyTo string    // the message that a preview answers
	since   time.Time // when the person last got anything
	quit    chan struct{}
	done    chan struct{}
}

// attend starts the turn's attendant. stop ends it and waits for it.
func (r *run) attend(ctx context.Context, replyTo string) (stop func()) {
	a := &attendant{r: r, replyTo: replyTo, since: r.live.began, quit: make(chan struct{}), done: make(chan struct{})}
	if r.rows[0].Attempts > 0 { // it was postponed
		a.since = r.rows[0].Accepted
	}
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
	wait := time.NewTimer(a.r.g.opts.TypingAfter)
	defer wait.Stop()
	silence := time.NewTimer(a.silence())
	defer silence.Stop()
	showing := false // the turn has lasted TypingAfter
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
			if !showing {
				showing = true
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
				a.r.sayWaiting(ctx, nil)
			}
		case <-a.r.live.kicked:
			if err := a.r.g.deliver(ctx, a.r.claim, a.turnOver); err != nil && ctx.Err() == nil {
				a.r.log().Warn("could not deliver while a turn runs", "err", err)
			}
		case <-a.r.live.news:
			if showing && previewDue == nil {
				previewDue = time.After(max(time.Until(nextPreview), previewSettle))
			}
		case <-previewDue:
			previewDue = nil
			nextPreview = time.Now().Add(a.preview(ctx))
		}
	}
}

// turnOver ends the attendant's deliveries: the remaining ones follow after the turn.
func (a *attendant) turnOver(int) bool {
	select {
	case <-a.quit:
		return true
	default:
		return false
	}
}

func (a *attendant) typing(ctx context.Context) {
	if a.r.b == nil {
		return
	}
	typer, ok := ability[channels.Typer](a.r.b)
	if !ok {
		return
	}
	if err := a.call(ctx, "typing", func(ctx context.Context) error { return typer.Typing(ctx, a.r.claim.Key) }); err != nil {
		a.r.log().Debug("typing indicator not shown", "err", err)
	}
}

// call calls the channel. It recovers from a panic of the adapter.
func (a *attendant) call(ctx context.Context, what string, f func(context.Context) error) (err error) {
	defer recoverTo(&err, what+" on "+a.r.claim.Key.Channel())
	ctx, cancel := context.WithTimeout(ctx, attendTimeout)
	defer cancel()
	return f(ctx)
}

// fades reports whether the shown answer disappears by itself.
func (a *attendant) fades() bool {
	if a.r.b == nil {
		return false
	}
	_, message := a.r.live.current()
	return message == "" && a.r.b.fades()
}

// preview shows the answer so far and returns how long to wait before the next
// one. The turn's end does not cut a preview short, because the final answer
// edits its message.
func (a *attendant) preview(ctx context.Context) time.Duration {
	if a.r.b == nil {
		return time.Hour
	}
	p, ok := ability[channels.Previewer](a.r.b)
	if !ok {
		return time.Hour
	}
	if waits, err := a.r.g.store.Unsent(ctx, a.r.claim, 1); err != nil || len(waits) > 0 {
		return p.PreviewEvery() // it would overtake an answer
	}
	now, ok := a.r.live.beginPreview()
	if !ok {
		a.removeNote(ctx)
		return p.PreviewEvery()
	}
	now.Turn, now.ReplyTo = a.r.id, a.replyTo
	var id string
	err := a.call(context.WithoutCancel(ctx), "preview", func(ctx context.Context) (err error) {
		id, err = p.Preview(ctx, now)
		return err
	})
	isNew := a.r.live.endPreview(id)
	if err != nil {
		a.r.log().Debug("preview not shown", "err", err)
		if retry, ok := errors.AsType[*channels.Retry](err); ok {
			return max(retry.After, p.PreviewEvery())
		}
		return max(previewPauseOn, p.PreviewEvery())
	}
	if isNew {
		step := sessions.Step{Kind: sessions.StepPreview, MessageID: id, At: a.r.g.opts.Now()}
		err := a.r.g.store.AppendStep(ctx, a.r.claim, a.r.id, a.r.bound(), step)
		if err != nil && ctx.Err() == nil {
			a.r.log().Debug("preview not journaled", "err", err)
		}
		if errors.Is(err, sessions.ErrConflict) {
			a.retract(ctx, id)
		}
	}
	return p.PreviewEvery()
}

// removeNote takes back a message with a note like "Organizing the conversation…" as soon as
// it is no longer true: the first word, which would edit it, may be minutes away.
func (a *attendant) removeNote(ctx context.Context) {
	from, able := ability[channels.Retractor](a.r.b)
	if !able {
		return
	}
	if id := a.r.live.beginNoteRemoval(); id != "" {
		defer a.r.live.endNoteRemoval()
		a.r.retractPreview(ctx, from, id)
	}
}

// retract removes a preview whose turn is over, because a message that it answers was
// deleted or edited meanwhile. The turn that runs instead does not know it.
func (a *attendant) retract(ctx context.Context, id string) {
	a.r.live.dropPreview()
	from, ok := ability[channels.Retractor](a.r.b)
	if !ok {
		return
	}
	if err := retract(ctx, from, a.r.claim.Key, id); err != nil {
		a.r.log().Warn("could not remove the preview of an unfinished answer", "err", err)
	}
}
