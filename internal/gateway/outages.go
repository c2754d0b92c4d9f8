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
	// maxAttemptPause is the longest pause between two attempts at a turn while
	// the model does not answer. Whoever repairs its server does not wait long.
	maxAttemptPause = 10 * time.Second
	// restAttemptEvery is the same while the server asks for a longer pause.
	// Many ask for hours and work again in minutes.
	restAttemptEvery = time.Minute
	// maxSameFailures is how often in a row a turn may fail in the same way.
	maxSameFailures = 3
	// sameFailureFor is for how long it must have failed so if the server
	// reports an internal error, which may pass.
	sameFailureFor = time.Minute
)

// resting is when each model, by name, may be asked again, according to its server. It is
// memory only: after a restart every turn is tried again when it is due.
type resting struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (r *resting) rest(model string, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until[model] = until
}

func (r *resting) left(model string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.until[model].Sub(now), 0)
}

func (r *resting) over(model string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, model)
}

// postponedTurn is a turn that failed, with its failures of the same kind in a
// row. The zero value has not failed.
type postponedTurn struct {
	turn, model string
	words       string    // kind and text of its last failure, without odd words
	times       int       // how often in a row it failed with that text
	since       time.Time // the first of these failures
	woken       bool      // the model answers again, and the turn was made due
}

// failed notes that turn of k failed with this text, and returns the failures
// in a row with it. Outages have no text and do not count: with a fallback they
// come between the failures of another model.
func (s *chats) failed(k channels.Key, turn, model, words string, now time.Time) postponedTurn {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.at(k)
	if c.failed == nil {
		s.failing++
	}
	if w := c.failed; w == nil || w.turn != turn || words != "" && w.words != words {
		c.failed = &postponedTurn{turn: turn, words: words, since: now}
	}
	c.failed.model = model
	c.failed.woken = false
	if words != "" {
		c.failed.times++
	}
	return *c.failed
}

// goesOn forgets that the turn of k has failed.
func (s *chats) goesOn(k channels.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.m[k]
	if c == nil || c.failed == nil {
		return
	}
	c.failed = nil
	s.failing--
	s.tidy(k)
}

// waitingFor returns the chats but k that wait for model and have not been woken yet, and
// notes that they are.
func (s *chats) waitingFor(model string, k channels.Key) (others []channels.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing == 0 {
		return nil
	}
	for other, c := range s.m {
		if w := c.failed; w != nil && w.model == model && other != k && !w.woken {
			w.woken = true
			others = append(others, other)
		}
	}
	return others
}

// postponed returns the ids of the postponed messages of keys, those of each key oldest
// first.
func (g *Gateway) postponed(ctx context.Context, keys ...channels.Key) (ids []string, err error) {
	for _, k := range keys {
		items, failed := g.store.QueueOf(ctx, k)
		err = errors.Join(err, failed)
		for _, it := range items {
			if it.Lane == sessions.LaneIn && it.State == sessions.QueuePostponed {
				ids = append(ids, it.ID)
			}
		}
	}
	return ids, err
}

// modelRecovered makes every turn due that waits for r's model, because it answers.
func (r *run) modelRecovered(ctx context.Context) {
	r.g.resting.over(r.model())
	others := r.g.chats.waitingFor(r.model(), r.claim.Key)
	if len(others) == 0 {
		return
	}
	ids, err := r.g.postponed(ctx, others...)
	// The oldest message goes last: it wakes its conversation, which then finds
	// all messages due and answers them together.
	for _, id := range slices.Backward(ids) {
		if one := r.g.store.RetryQueue(ctx, id); !errors.Is(one, sessions.ErrConflict) && !errors.Is(one, sessions.ErrNotFound) {
			err = errors.Join(err, one)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.log().Warn("could not retry the waiting turns at once; each is retried when it is due", "model", r.model(), "err", err)
		return
	}
	r.log().Info("the model answers again; the waiting turns continue", "model", r.model(), "conversations", len(others))
}

func (r *run) model() string { return r.g.modelOf(r.history) }

// pause returns how long r waits after a failed call, never past the time when
// it gives up, and notes how long the model's server asks to rest.
func (r *run) pause(failed *agent.ModelError) (wait, rest time.Duration) {
	left := r.g.opts.GiveUpAfter - r.age()
	wait = delay(2*time.Second, maxAttemptPause*4/5, r.rows[0].Attempts) // the rest is jitter
	if failed.After > 0 {
		rest = min(failed.After, left)
		r.g.resting.rest(r.model(), r.g.opts.Now().Add(rest))
		wait = max(wait, min(failed.After, restAttemptEvery))
	}
	return min(wait, left), rest
}

// hopeless counts the failure and reports whether the turn failed too often in
// the same way.
func (r *run) hopeless(failed *agent.ModelError) bool {
	now := r.g.opts.Now()
	away := isOutage(failed)
	words := ""
	if !away {
		words = oddWord.Regexp().ReplaceAllString(failed.Error(), "#")
	}
	w := r.g.chats.failed(r.claim.Key, r.id, r.model(), words, now)
	return !away && w.times >= maxSameFailures && (failed.Status < 500 || now.Sub(w.since) >= sameFailureFor)
}

// oddWord is a word that differs from one error to the next: it has a digit.
var oddWord = lazily.Compile(`\S*[0-9]\S*`)

// connectionError matches network errors by their text, because a
// [agent.ModelError] has nothing else of them.
var connectionError = lazily.Compile(`\bdial |connection (?:refused|reset|closed)|broken pipe|no such host|\bEOF\b|time ?out|\b(?:GOAWAY|RST_STREAM)`)

// isOutage reports whether the server is away or overloaded. That passes,
// however often it comes.
func isOutage(failed *agent.ModelError) bool {
	switch {
	case failed.Cause == agent.CauseUnreachable, failed.Cause == agent.CauseBusy, failed.Cause == agent.CauseSlow, failed.After > 0, failed.Status > 500:
		return true
	case failed.Status >= 400 && failed.Status < 500: // 408, 409, 425, 429
		return true
	}
	return failed.Status == 0 && connectionError.Regexp().MatchString(failed.Error())
}
