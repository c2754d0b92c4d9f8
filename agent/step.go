package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// maxSqueezes is how often a request that the server found too long is tried
// again with less in it.
const maxSqueezes = 2

// step makes one model call and returns its answer, cleaned: reasoning is out
// of the content, and the message is stamped.
func (r *run) step(ctx context.Context, final bool) (Response, error) {
	r.progress(Progress{Text: strings.Join(r.said, "\n\n")})
	var resp Response
	for squeezes := 0; ; squeezes++ {
		req, err := r.request(final)
		if err != nil {
			return Response{}, err
		}
		resp, err = r.a.complete(ctx, req, r.stream)
		if err == nil {
			break
		}
		var me *ModelError
		if !errors.As(err, &me) || me.Kind != ErrorContext {
			return Response{}, err
		}
		if squeezes == maxSqueezes || !r.squeeze(req, final) {
			return Response{}, fmt.Errorf("agent: the turn does not fit the model's window, even without older messages: %w", err)
		}
		r.a.log.Warn("request too long for the model, trying with less",
			"key", r.t.Key.String(), "attempt", squeezes+1, "err", err)
	}
	r.steps++
	m := resp.Message
	m.Role = sessions.RoleAssistant
	m.Content = visibleText(m.Content)
	if m.Usage == nil {
		m.Usage = resp.Usage
	}
	r.count(m.Usage)
	r.stamp(&m)
	resp.Message = m
	return resp, nil
}

// request builds what the model sees now. The order of its steps matters: the
// window is fitted on repaired messages, and nothing follows the validator.
func (r *run) request(final bool) (Request, error) {
	req := Request{
		System: r.system, Tools: r.a.sorted,
		MaxTokens: r.a.opts.MaxTokens, Temperature: r.a.opts.Temperature,
	}
	view := window.Repair(r.all)
	users := 0
	for _, m := range r.all[r.own:] {
		if m.Role == sessions.RoleUser {
			users++
		}
	}
	if final {
		req.Tools = nil
		if r.steps > 0 {
			// Only in this request: it says nothing about the conversation.
			view = append(view, sessions.Message{Role: sessions.RoleUser, Content: noteLastStep, Synthetic: true})
			users++
		}
	}
	view = window.Fit(view, users, r.budget())
	if err := window.Validate(view); err != nil {
		return Request{}, fmt.Errorf("agent: build request: %w", err)
	}
	req.Messages = view
	return req, nil
}

// budget is how many tokens of messages the next request may have. It is never
// nothing: then the server decides.
func (r *run) budget() int {
	a := r.a
	n := a.opts.ContextWindow - a.answerReserve() - a.toolTokens - window.EstimateText(r.system)
	n = max(n, a.opts.ContextWindow/8)
	if r.most > 0 {
		n = min(n, r.most)
	}
	return n
}

// squeeze lowers the budget for the rest of the turn after the server refused
// req as too long. It reports whether that makes any difference: the same
// request again would only be refused again.
func (r *run) squeeze(req Request, final bool) bool {
	size := window.Estimate(req.Messages)
	r.most = max(size*6/10, 1)
	next, err := r.request(final)
	return err == nil && window.Estimate(next.Messages) < size
}

// stream returns what turns the deltas of one try into progress.
func (r *run) stream() func(Delta) {
	if r.t.Progress == nil {
		return nil
	}
	var u unthink
	before := strings.Join(r.said, "\n\n")
	if before != "" {
		before += "\n\n"
	}
	shown := 0
	return func(d Delta) {
		if d.Text == "" {
			return
		}
		text := u.add(d.Text)
		if len(text) > shown {
			shown = len(text)
			r.progress(Progress{Text: before + text})
		}
	}
}

// complete makes one model call and tries again while that may help. stream
// returns what the deltas of one try go to.
func (a *Agent) complete(ctx context.Context, req Request, stream func() func(Delta)) (Response, error) {
	delay := a.opts.RetryDelay
	for try := 1; ; try++ {
		resp, err := a.model.Complete(ctx, req, stream())
		if err == nil {
			return resp, nil
		}
		if stop := stopped(ctx); stop != nil {
			return Response{}, stop
		}
		err = fmt.Errorf("agent: model call: %w", err)
		wait, again := retryAfter(err)
		if !again || try >= a.opts.Tries || wait > a.opts.LongestWait {
			return Response{}, err
		}
		// Jitter, so that many conversations do not come back in step.
		wait = max(wait, delay/2+rand.N(delay/2+1))
		delay = min(2*delay, a.opts.LongestWait)
		a.log.LogAttrs(ctx, slog.LevelWarn, "model call failed, trying again",
			slog.Int("attempt", try), slog.Duration("wait", wait), slog.Any("err", err))
		if err := sleep(ctx, wait); err != nil {
			return Response{}, err
		}
	}
}

// retryAfter reports whether a failed call may be tried again, and how long
// the server wants to be left alone before. What has no type is temporary.
func retryAfter(err error) (time.Duration, bool) {
	var me *ModelError
	if !errors.As(err, &me) {
		return 0, true
	}
	return me.After, me.Kind == ErrorTemporary
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return stopped(ctx)
	}
}
