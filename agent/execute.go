package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/sessions"
)

// execute runs c until it asks nothing more of the person. waits: it does, and there is no
// answer yet. Errors of the tool become text. An error ends the turn.
func (r *run) execute(ctx context.Context, c sessions.ToolCall) (o outcome, waits bool, err error) {
	for range maxForms {
		answer, waits, err := r.answerTo(ctx, c)
		if waits || err != nil {
			return o, waits, err
		}
		o, err = r.executeOnce(ctx, c, answer)
		if err != nil {
			return o, false, err
		}
		a := isAsking(o.err)
		if a == nil {
			return o, false, nil
		}
		if err := r.asks(ctx, c, a); err != nil {
			return o, false, err
		}
	}
	return outcome{err: errForms, text: "error: " + errForms.Error()}, false, nil
}

// executeOnce journals that c starts, and runs it.
func (r *run) executeOnce(ctx context.Context, c sessions.ToolCall, answer *Answer) (o outcome, err error) {
	if err := stopped(ctx); err != nil {
		return o, err
	}
	if err := r.record(ctx, sessions.Step{Kind: sessions.StepToolStart, CallID: c.ID, Tool: c.Name}); err != nil {
		return o, err
	}
	r.progress(Progress{Text: strings.Join(r.said, "\n\n"), Note: c.Name + " …"})
	begun := time.Now()
	patience := max(r.a.opts.ToolTimeout, r.kit.specs[c.Name].Patience)
	tctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	call := r.callOf(c)
	call.Answer = answer
	o = r.a.runTool(tctx, r.kit.tools[c.Name], call)
	if isAsking(o.err) != nil {
		return o, nil
	}
	r.logCall(tctx, c.Name, time.Since(begun), o)
	if end := r.taskEnded(c.ID); end != nil && end.err != nil && stopped(ctx) == nil && tctx.Err() == nil {
		return o, end.err
	}
	err = r.explain(ctx, tctx, patience, &o)
	return o, err
}

// explain makes text of what a tool ended with. An error ends the turn.
func (r *run) explain(ctx, tctx context.Context, patience time.Duration, o *outcome) error {
	if o.err == nil {
		o.text = clean(o.text)
		return nil
	}
	if err := stopped(ctx); err != nil {
		return err // the journal says that it started, so the next run knows the outcome is unknown
	}
	if tctx.Err() != nil {
		o.text = fmt.Sprintf("error: no answer within %s; it may or may not have happened", patience)
		return nil
	}
	o.failed = o.text == "" && !errors.Is(o.err, errPanic)
	text := "error: " + o.err.Error()
	if o.text != "" {
		text = o.text + "\n" + text // what it achieved before the error
	}
	o.text = clean(text)
	return nil
}
