package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"dragoman/agent/output"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// step makes one model call and returns its answer, cleaned and stamped: see
// [run.readAnswer].
//
// The functions below pass answers as pointers. A turn spends most of its life
// waiting for the model, and every copy in a waiting function makes the stack of
// every waiting turn larger: 32 MB for a thousand turns.
func (r *run) step(ctx context.Context, final bool) (*Response, error) {
	r.progress(Progress{Text: strings.Join(r.said, "\n\n")})
	resp, err := r.callModel(ctx, final)
	if err == nil && r.saysNothing(resp) {
		resp, err = r.askAgain(ctx, final, resp)
	}
	if err != nil {
		return nil, err
	}
	r.pin = Pin{}
	r.steps++
	r.everTaint.Merge(r.taint)
	m := &resp.Message
	m.Role = sessions.RoleAssistant
	if m.Usage == nil {
		m.Usage = resp.Usage
	}
	r.stamp(m)
	r.finished, r.thought = resp.Finish, resp.Thought
	return resp, nil
}

// callModel builds a request that fits and sends it. If the server still finds it too
// long, it is made smaller in several ways, one after another.
func (r *run) callModel(ctx context.Context, final bool) (*Response, error) {
	if err := r.enforceMessageLimit(ctx); err != nil {
		return nil, err
	}
	name := r.model.Name()
	if !r.fit.forcePrune && r.a.usableWindow(name) != r.a.nominalWindow(name) {
		// If the request is too long for the learned window, tool results are pruned
		// first, as they were when the window was learned.
		view, _, _ := r.view(final)
		r.fit.forcePrune = !r.fits(view)
	}
	if keep := r.keepIfTooLong(final); keep != nil {
		if err := r.compact(ctx, keep); err != nil {
			return nil, err
		}
	}
	var tried attempts
	resp, err := r.sendUntilItFits(ctx, &tried, final)
	// Not earlier, so that it does not change what is tried above.
	r.a.learnLimit(name, r.a.nominalWindow(name), tried.refused, tried.passed)
	return resp, err
}

// sendUntilItFits sends a request, and smaller ones while the server finds it too
// long.
func (r *run) sendUntilItFits(ctx context.Context, tried *attempts, final bool) (*Response, error) {
	for {
		req, lacks := r.request(final)
		r.fit.lacks = lack{max(r.fit.lacks.all, lacks.all), max(r.fit.lacks.silent, lacks.silent)}
		r.logCut(ctx)
		resp, err := r.send(ctx, req)
		if err == nil {
			r.readAnswer(resp)
			if tried.refused > 0 { // otherwise there is nothing to learn
				tried.passed = r.requestTokens(req)
			}
			if !r.silentCut(req, resp) {
				r.a.learn(r.model, req, resp.Usage)
			}
			r.a.noteLength(r.model.Name(), req)
			return resp, nil
		}
		if !tooLong(err) {
			if r.halve(req, err, tried, final) {
				continue
			}
			return nil, tried.reason(err)
		}
		if !errors.Is(err, errOverWindow) {
			tried.refused = r.requestTokens(req)
		}
		means, stop := r.shrink(ctx, req, tried, final)
		switch {
		case stop != nil:
			return nil, stop
		case means == "":
			return nil, fmt.Errorf("agent: the turn does not fit the model's window, even without older messages: %w", err)
		}
		r.a.log.Warn("request too long for the model; trying a smaller one",
			"key", r.t.Key.String(), "means", means, "err", err)
	}
}

func (r *run) requestTokens(req *Request) int { return r.fit.fixed + r.a.messageTokens(req.Messages) }

func tooLong(err error) bool {
	var me *ModelError
	return errors.As(err, &me) && me.Kind == ErrorContext
}

// errOverWindow: the request was not sent, because it has more tokens than its model
// takes.
var errOverWindow = errors.New("agent: the request has more tokens than the model takes")

// send makes a call, unless req is larger than the nominal window. A learned window
// only makes requests shorter and never keeps one from being sent: a wrongly learned
// one would leave everybody without answers until it expires.
func (r *run) send(ctx context.Context, req *Request) (*Response, error) {
	name := r.model.Name()
	most := r.a.room(name, r.a.nominalWindow(name))
	if window.UpperBound(req.Messages)+r.fit.fixed > most && r.a.messageTokens(req.Messages)+r.fit.fixed > most {
		return nil, &ModelError{Kind: ErrorContext, Err: errOverWindow}
	}
	req.Pin = &r.pin
	return r.a.complete(ctx, r.model, req, r.stream)
}

// stream returns the function that turns the deltas of one try into progress.
func (r *run) stream() func(Delta) {
	if r.t.Progress == nil && r.t.Alive == nil && r.t.Thoughts == nil {
		return nil
	}
	var u output.Reader
	read, waits := false, false
	before := strings.Join(r.said, "\n\n")
	if before != "" {
		before += "\n\n"
	}
	shown, apart := 0, AbilitiesOf(r.model).SeparatesThoughts
	alive, think := r.t.Alive, r.thoughtSink()
	return func(d Delta) {
		if alive != nil {
			alive()
		}
		if think != nil && d.Reasoning != "" {
			r.pin.Shown = true
			think(d.Reasoning)
		}
		apart = apart || d.Reasoning != ""
		if d.Text == "" {
			return
		}
		if !read { // only now is it known which model answers
			read = true
			u = r.reader()
			waits = !r.a.habit(r.answerer()).known
		}
		text := u.Add(d.Text)
		if waits && !apart && !u.Thought() {
			return // all of it may still turn out to be thoughts
		}
		if len(text) != shown { // shorter, if text turned out to be thoughts
			shown = len(text)
			r.pin.Shown = r.pin.Shown || r.t.Progress != nil
			r.progress(Progress{Text: before + text})
		}
	}
}

func (r *run) thoughtSink() func(string) {
	tell, begun := r.t.Thoughts, false
	if tell == nil {
		return nil
	}
	return func(piece string) {
		if !begun && r.sentThoughts {
			piece = "\n\n" + piece
		}
		begun, r.sentThoughts = true, true
		tell(piece)
	}
}

// errPaused: no call was made, because the model's server asked us to wait.
var errPaused = errors.New("its server asked for a pause")

const (
	// maxPause limits a pause. Servers that ask for a day often recover within
	// minutes, and only a new call shows that.
	maxPause = time.Minute
	// retryDelay is the wait before the second try. It doubles with each further one.
	retryDelay = 500 * time.Millisecond
	// maxWait limits the waits of one model call, all together. If a server asks for
	// more, or asked another turn for more, Run returns a *ModelError that says when
	// to come back.
	maxWait = 20 * time.Second
)

// complete makes one model call and retries while that may help. stream returns the
// function that gets the deltas of one try. Every request passes through here, those
// for summaries too, so it is validated here.
func (a *Agent) complete(ctx context.Context, model Model, req *Request, stream func() func(Delta)) (*Response, error) {
	if err := window.Validate(req.Messages); err != nil {
		return nil, fmt.Errorf("agent: build request: %w", err)
	}
	delay, left := retryDelay, maxWait
	for try := 1; ; try++ {
		until, _ := a.pauses.get(model.Name())
		rest := max(time.Until(until), 0)
		if rest > left {
			return nil, fmt.Errorf("agent: model call: %w", &ModelError{Kind: ErrorTemporary, Cause: CauseBusy, After: rest, Err: errPaused})
		}
		left -= rest
		if rest > 0 {
			if err := sleep(ctx, rest); err != nil {
				return nil, err
			}
		}
		resp, err := once(ctx, model, req, stream())
		if err == nil {
			return resp, nil
		}
		if stop := stopped(ctx); stop != nil {
			return nil, stop
		}
		err = fmt.Errorf("agent: model call: %w", err)
		named, again := retryAfter(err)
		if named > 0 {
			a.pauses.set(model.Name(), time.Now().Add(min(named, maxPause)))
		}
		// Jitter keeps many conversations from retrying at the same moment.
		wait := max(named, delay/2+rand.N(delay/2+1))
		late := !req.Until.IsZero() && time.Now().Add(wait).After(req.Until)
		if !again || try >= a.opts.Tries || wait > left || late {
			return nil, err
		}
		left -= wait
		delay = min(2*delay, maxWait)
		a.log.LogAttrs(ctx, slog.LevelWarn, "model call failed; trying again",
			slog.Int("attempt", try), slog.Duration("wait", wait), slog.Any("err", err))
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// once makes one call. If it were inlined, its copies of the answer would be on the
// stack of every waiting turn, once for each return of complete.
//
//go:noinline
func once(ctx context.Context, model Model, req *Request, onDelta func(Delta)) (*Response, error) {
	resp, err := model.Complete(ctx, *req, onDelta)
	return &resp, err
}

// retryAfter reports whether to retry a failed call, and how long the server asked us
// to wait. Errors of unknown type count as temporary.
func retryAfter(err error) (time.Duration, bool) {
	var me *ModelError
	if !errors.As(err, &me) {
		return 0, true
	}
	return me.After, me.Kind == ErrorTemporary
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return stopped(ctx)
	}
}
