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
// Below it answers are handed on as pointers: a turn spends its life waiting
// for the model, and every copy in a function that waits makes the stack of
// every waiting turn larger. A thousand of them were 32 MB.
func (r *run) step(ctx context.Context, final bool) (*Response, error) {
	r.progress(Progress{Text: strings.Join(r.said, "\n\n")})
	resp, err := r.call(ctx, final)
	if err != nil {
		return nil, err
	}
	r.asked = Asked{}
	r.steps++
	m := &resp.Message
	m.Role = sessions.RoleAssistant
	if m.Usage == nil {
		m.Usage = resp.Usage
	}
	r.count(m.Usage)
	r.stamp(m)
	r.finished, r.thought = resp.Finish, resp.Thought
	return resp, nil
}

// call builds a request that fits and sends it. When the server finds it too
// long all the same, it is tried again with less, by one means after another.
func (r *run) call(ctx context.Context, final bool) (*Response, error) {
	if err := r.within(ctx); err != nil {
		return nil, err
	}
	if r.tight(final) {
		r.forced = true
	}
	if keep := r.keepNow(final); keep != nil {
		if err := r.compact(ctx, keep); err != nil {
			return nil, err
		}
	}
	var tried rescue
	resp, err := r.tries(ctx, &tried, final)
	// Not before, so that it changes nothing about what is tried until then.
	name := r.model.Name()
	r.a.noteLength(name, r.a.sizeOf(name), tried.refused, tried.passed)
	return resp, err
}

// tries sends a request, and a smaller one while the server finds it too long.
func (r *run) tries(ctx context.Context, tried *rescue, final bool) (*Response, error) {
	for {
		req, lacks := r.request(final)
		r.lacks = lack{max(r.lacks.all, lacks.all), max(r.lacks.silent, lacks.silent)}
		r.noteCut(ctx)
		resp, err := r.send(ctx, &req)
		if err == nil {
			r.readAnswer(resp)
			if tried.refused > 0 { // else there is nothing to learn from it
				tried.passed = r.requestTokens(&req)
			}
			if !r.silentCut(&req, resp) {
				r.a.learn(r.model, req, resp.Usage)
			}
			return resp, nil
		}
		if !tooLong(err) {
			return nil, err
		}
		if !errors.Is(err, errOverWindow) {
			tried.refused = r.requestTokens(&req)
		}
		means, stop := r.rescue(ctx, req, tried, final)
		switch {
		case stop != nil:
			return nil, stop
		case means == "":
			return nil, fmt.Errorf("agent: the turn does not fit the model's window, even without older messages: %w", err)
		}
		r.a.log.Warn("request too long for the model, trying with less",
			"key", r.t.Key.String(), "means", means, "err", err)
	}
}

// requestTokens is how many tokens req takes, as we count them.
func (r *run) requestTokens(req *Request) int { return r.fixed + r.a.messageTokens(req.Messages) }

// tooLong reports whether err says that a request does not fit the window.
func tooLong(err error) bool {
	var me *ModelError
	return errors.As(err, &me) && me.Kind == ErrorContext
}

// errOverWindow is a request that is not sent, because it has more tokens than
// its model takes.
var errOverWindow = errors.New("agent: the request has more tokens than the model takes")

// send makes a call, unless req is larger than the window. What was learned of
// the window is a guess: it makes views shorter and keeps nothing from being
// sent, or a wrong one would leave everybody without answers until it is over.
func (r *run) send(ctx context.Context, req *Request) (*Response, error) {
	name := r.model.Name()
	most := r.a.room(name, r.a.sizeOf(name))
	if window.Bound(req.Messages)+r.fixed > most && r.a.messageTokens(req.Messages)+r.fixed > most {
		return nil, &ModelError{Kind: ErrorContext, Err: errOverWindow}
	}
	req.Asked = &r.asked
	return r.a.complete(ctx, r.model, req, r.stream)
}

// stream returns what turns the deltas of one try into progress.
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
	shown, apart := 0, AbilitiesOf(r.model).Apart
	alive, think := r.t.Alive, r.thoughts()
	return func(d Delta) {
		if alive != nil {
			alive()
		}
		if think != nil && d.Reasoning != "" {
			r.asked.Shown = true
			think(d.Reasoning)
		}
		apart = apart || d.Reasoning != ""
		if d.Text == "" {
			return
		}
		if !read { // not before: now it is known which model answers
			read, u, waits = true, r.reader(), !r.a.habit(r.answerer()).known
		}
		text := u.Add(d.Text)
		if waits && !apart && !u.Thought() {
			return // all of it may turn out to be thoughts
		}
		if len(text) != shown { // less, where thoughts are taken back
			shown = len(text)
			r.asked.Shown = r.asked.Shown || r.t.Progress != nil
			r.progress(Progress{Text: before + text})
		}
	}
}

// thoughts returns what takes the thoughts of one try, or nil.
func (r *run) thoughts() func(string) {
	tell, begun := r.t.Thoughts, false
	if tell == nil {
		return nil
	}
	return func(piece string) {
		if !begun && r.toldThoughts {
			piece = "\n\n" + piece
		}
		begun, r.toldThoughts = true, true
		tell(piece)
	}
}

// errResting is a call that is not made, because the model's server has asked
// to be left alone.
var errResting = errors.New("its server asked for a pause")

const (
	// mostPause bounds a pause. Servers that name a day are often well in minutes,
	// and nobody would learn that without asking again.
	mostPause = time.Minute
	// retryDelay is the wait before the second try. It doubles with every further
	// one.
	retryDelay = 500 * time.Millisecond
	// longestWait is how long one model call waits between its tries, all in all.
	// Where a server says to come back later than that, or said so to another
	// turn, Run returns a *ModelError that says when.
	longestWait = 20 * time.Second
)

// complete makes one model call and tries again while that may help. stream
// returns what the deltas of one try go to. Every request passes here, those for
// summaries too, so this is where the validator stands.
func (a *Agent) complete(ctx context.Context, model Model, req *Request, stream func() func(Delta)) (*Response, error) {
	if err := window.Validate(req.Messages); err != nil {
		return nil, fmt.Errorf("agent: build request: %w", err)
	}
	delay, left := retryDelay, longestWait
	for try := 1; ; try++ {
		until, _ := a.pauses.get(model.Name())
		rest := max(time.Until(until), 0)
		if rest > left {
			return nil, fmt.Errorf("agent: model call: %w", &ModelError{Kind: ErrorTemporary, Cause: CauseBusy, After: rest, Err: errResting})
		}
		if left -= rest; rest > 0 {
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
			a.pauses.set(model.Name(), time.Now().Add(min(named, mostPause)))
		}
		// Jitter, so that many conversations do not come back in step.
		wait := max(named, delay/2+rand.N(delay/2+1))
		if !again || try >= a.opts.Tries || wait > left {
			return nil, err
		}
		left -= wait
		delay = min(2*delay, longestWait)
		a.log.LogAttrs(ctx, slog.LevelWarn, "model call failed, trying again",
			slog.Int("attempt", try), slog.Duration("wait", wait), slog.Any("err", err))
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// once makes one call. Inlined, its copies of the answer would lie on the
// stack of every turn that waits, once for each way out of complete.
//
//go:noinline
func once(ctx context.Context, model Model, req *Request, onDelta func(Delta)) (*Response, error) {
	resp, err := model.Complete(ctx, *req, onDelta)
	return &resp, err
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
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return stopped(ctx)
	}
}
