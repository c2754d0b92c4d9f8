package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

const (
	// attemptMost is the longest pause between two attempts at a turn while the
	// model does not answer: whoever mends its server does not wait long.
	attemptMost = 10 * time.Second
	// lookEvery is the same while the server wants to be left alone for longer.
	// Many name hours, and are well in minutes.
	lookEvery = time.Minute
	// sameMost is how often in a row a turn may fail in the same way.
	sameMost = 3
	// sameFor is how long it must have failed so where the server reports an
	// error of its own, which may pass.
	sameFor = time.Minute
)

// resting knows which models do not answer, and whose turns wait for them. It
// is memory only: after a start every turn is tried again when its time comes.
type resting struct {
	mu sync.Mutex
	// until is when each model, by name, may be asked again, as its server says.
	until map[string]time.Time
	// waits are the postponed turns, one a conversation at most.
	waits map[channels.Key]*waiting
}

// waiting is a turn that was postponed because its model did not answer.
type waiting struct {
	turn, model string
	words       string    // of its last failure
	times       int       // that it failed so in a row
	since       time.Time // when it first did
	woken       bool      // its model answers again: it was told to go on, wherever that is
}

// failed notes that turn of k failed with words, and returns how often it has
// done so in a row. An outage has no words and does not count: with a fallback
// it comes between the failures of another model.
func (r *resting) failed(k channels.Key, turn, model, words string, now time.Time) waiting {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waits == nil {
		r.waits = map[channels.Key]*waiting{}
	}
	if len(r.waits) > peopleKept { // turns that ended on other nodes stay
		clear(r.waits)
	}
	w := r.waits[k]
	if w == nil || w.turn != turn || words != "" && w.words != words {
		w = &waiting{turn: turn, words: words, since: now}
		r.waits[k] = w
	}
	w.model, w.woken = model, false
	if words != "" {
		w.times++
	}
	return *w
}

// rest notes until when a model wants to be left alone.
func (r *resting) rest(model string, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	r.until[model] = until
}

// restsFor is how long the model is still to be left alone; 0: it is not.
func (r *resting) restsFor(model string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.until[model].Sub(now), 0)
}

// over forgets the turn of k that waited, if one did.
func (r *resting) over(k channels.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waits, k)
}

// well notes that model answers, and returns the other conversations that wait
// for it.
func (r *resting) well(model string, k channels.Key) (others []channels.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, model)
	for other, w := range r.waits {
		if w.model == model && other != k && !w.woken {
			w.woken = true
			others = append(others, other)
		}
	}
	return others
}

// wakeMost bounds how many items of the queue are looked at.
const wakeMost = 10_000

// postponed are the ids of what waits in keys for its time, oldest first.
func (g *Gateway) postponed(ctx context.Context, keys ...channels.Key) (ids []string, err error) {
	items, err := g.store.ListQueue(ctx, wakeMost)
	for _, it := range items {
		if it.Kind == "in" && it.State == "postponed" && slices.ContainsFunc(keys, func(k channels.Key) bool { return k.String() == it.Key }) {
			ids = append(ids, it.ID)
		}
	}
	return ids, err
}

// modelWell has every turn go on that waits for the model of r, which answers.
func (r *run) modelWell(ctx context.Context) {
	others := r.g.resting.well(r.model(), r.claim.Key)
	if len(others) == 0 {
		return
	}
	ids, err := r.g.postponed(ctx, others...)
	// The newest first: its conversation goes on with the oldest, and then finds
	// all that it answers together.
	for _, id := range slices.Backward(ids) {
		if one := r.g.store.RetryQueue(ctx, id); !errors.Is(one, sessions.ErrConflict) && !errors.Is(one, sessions.ErrNotFound) {
			err = errors.Join(err, one)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.g.log(r.claim.Key).Warn("could not retry the waiting turns at once; each is retried when it is due", "model", r.model(), "err", err)
		return
	}
	r.g.log(r.claim.Key).Info("the model answers again; the waiting turns continue", "model", r.model(), "conversations", len(others))
}

// model is the name of the one that answers r.
func (r *run) model() string { return r.g.modelOf(r.history) }

// pause is how long r waits after a call that failed, never past the time when
// it gives up, and notes how long the model is to be left alone.
func (r *run) pause(failed *agent.ModelError) (wait, rest time.Duration) {
	left := r.g.opts.GiveUpAfter - r.age()
	wait = delay(2*time.Second, attemptMost*4/5, r.rows[0].Attempts) // and its jitter
	if failed.After > 0 {
		rest = min(failed.After, left)
		r.g.resting.rest(r.model(), r.g.opts.Now().Add(rest))
		wait = max(wait, min(failed.After, lookEvery))
	}
	return min(wait, left), rest
}

// hopeless notes that the turn failed for a while, and reports whether it will
// go on to: it failed too often in the same way.
func (r *run) hopeless(failed *agent.ModelError) bool {
	now, away, words := r.g.opts.Now(), outage(failed), ""
	if !away {
		words = wordsOf(failed)
	}
	w := r.g.resting.failed(r.claim.Key, r.id, r.model(), words, now)
	return !away && w.times >= sameMost && (failed.Status < 500 || now.Sub(w.since) >= sameFor)
}

// odd is a word that differs from one error to the next: it has a digit.
var odd = lazily.Compile(`\S*[0-9]\S*`)

// wordsOf are the kind and the words of a failure.
func wordsOf(failed *agent.ModelError) string {
	return odd.Regexp().ReplaceAllString(failed.Error(), "#")
}

// connections are the words of a network that fails.
var connections = lazily.Compile(`\bdial |connection (?:refused|reset|closed)|broken pipe|no such host|\bEOF\b|time ?out|\b(?:GOAWAY|RST_STREAM)`)

// outage reports whether a failure says that the server is away or has too
// much to do: that passes, however often it comes.
func outage(failed *agent.ModelError) bool {
	switch {
	case failed.Cause == agent.CauseUnreachable, failed.Cause == agent.CauseBusy, failed.After > 0, failed.Status > 500:
		return true
	case failed.Status >= 400 && failed.Status < 500: // 408, 409, 425, 429
		return true
	}
	return failed.Status == 0 && connections.Regexp().MatchString(failed.Error())
}
