package background

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"dragoman/sessions"
)

// Run reports the commands that an end of the daemon interrupted, and waits for those that
// run. When ctx ends it ends them: the next start reports them.
func (b *Book) Run(ctx context.Context) {
	look := time.NewTicker(grace)
	defer look.Stop()
	for {
		b.interrupted(ctx)
		select {
		case <-ctx.Done():
			b.mu.Lock()
			b.closed = true
			b.mu.Unlock()
			b.stop()
			b.all.Wait()
			return
		case <-look.C:
		}
	}
}

// interrupted reports what no process runs any more.
func (b *Book) interrupted(ctx context.Context) {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: kind})
	if err != nil {
		if ctx.Err() == nil {
			b.o.Log.Warn("it is not known which commands were interrupted", "err", err)
		}
		return
	}
	for _, n := range notes {
		r, is := read(n)
		if !is || b.runs(r.ID) || r.Node != b.o.Node && b.o.Now().Before(n.Due) {
			continue
		}
		if !b.noted(ctx, &r) { // it ended here while we looked
			continue
		}
		if r.Stop { // whoever stopped it was told
			_ = b.forget(ctx, &r) // or the next look does
			continue
		}
		const why = "interrupted: Dragoman was restarted while it ran. Nothing of it runs any more; what it did until then is done"
		b.o.Log.Info("a command was interrupted", "key", r.Key.String(), "command", r.name())
		b.report(ctx, r, why, lost)
	}
}

// noted reports whether the note of a command is still there. A command of this process runs
// until its note is gone, so one that does not run and is noted was interrupted.
func (b *Book) noted(ctx context.Context, r *record) bool {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: kind, Owner: sessions.ChatScope(r.Key), Name: r.ID})
	return err == nil && len(notes) > 0 // after an error the next look knows
}

// Start starts c, and returns what it left if that is known within wait; then it was never in
// the background. Otherwise name is what it is called. The end of ctx within wait ends it.
func (b *Book) Start(ctx context.Context, c Command, wait time.Duration) (name string, r Result, err error) {
	cmd := &command{record: record{
		ID: rand.Text(), Node: b.o.Node, Key: c.Key, Person: c.Person, Private: c.Private, Origins: c.Origins,
		Line: c.Line, Since: b.o.Now(),
	}}
	err = b.reserve(cmd)
	if err != nil {
		return "", Result{}, err
	}
	if wait <= 0 { // the note comes first, or a crash would leave no trace of it
		err = b.note(ctx, cmd, c.Most)
		if err != nil {
			b.done(cmd)
			return "", Result{}, err
		}
	}
	ended := b.begin(cmd, c)
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case o := <-ended:
			b.done(cmd)
			return "", o.r, o.err
		case <-ctx.Done():
			cmd.cancel(context.Cause(ctx))
			<-ended
			b.done(cmd)
			return "", Result{}, context.Cause(ctx)
		case <-timer.C:
		}
		err = b.note(ctx, cmd, c.Most)
		if err != nil {
			cmd.cancel(err)
			<-ended
			b.done(cmd)
			return "", Result{}, err
		}
	}
	go b.watch(cmd, ended)
	return cmd.name(), Result{}, nil
}

// outcome is what Command.Run returned.
type outcome struct {
	r   Result
	err error
}

// begin runs a command.
func (b *Book) begin(cmd *command, c Command) <-chan outcome {
	ended := make(chan outcome, 1) // so the command's goroutine never waits
	go func() {
		o := outcome{err: errors.New("it failed by an internal error")}
		defer func() {
			if v := recover(); v != nil {
				b.o.Log.Error("a command's runner panicked", "key", cmd.Key.String())
			}
			ended <- o
		}()
		o.r, o.err = c.Run(cmd.ctx, cmd.print)
	}()
	return ended
}
