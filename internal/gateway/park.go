package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/admission"
	"dragoman/sessions"
)

// A turn ends answered, failed or parked. A parked one waits for a time, or for somebody, in
// the store alone: it has no goroutine and no slot, goes on after a restart or on another
// node, and holds back what is written after it. /stop ends it.

// begun reports whether the model has read something of a turn with those steps. The rules
// let such a turn begin, before a restart.
func begun(steps []sessions.Step) bool {
	for _, s := range steps {
		if s.Kind.OfModel() {
			return true
		}
	}
	return false
}

// isParked reports whether a turn with those steps was parked when it was left.
func isParked(steps []sessions.Step) bool {
	parked := false
	for _, s := range steps {
		switch s.Kind {
		case sessions.StepParked:
			parked = true
		case sessions.StepResumed:
			parked = false
		}
	}
	return parked
}

// lastResumed is when a turn with those steps went on for the last time, zero if it was
// never parked.
func lastResumed(steps []sessions.Step) (at time.Time) {
	for _, s := range steps {
		if s.Kind == sessions.StepResumed {
			at = s.At
		}
	}
	return at
}

// park parks the turn as v says. The person is told why once, however often it is parked
// for the same reason.
func (r *run) park(ctx context.Context, v admission.Verdict) error {
	p := sessions.Parking{Turn: r.id, Answers: r.bound(), Until: v.Until, Why: v.Say}
	if !r.parked || r.rows[0].Why != v.Say {
		newest := r.newest()
		l := sessions.Label{Kind: channels.KindNotice, Turn: r.id}
		p.Replies = r.g.split(l, r.claim.Key, r.g.SpellCommands(r.claim.Key, v.Say), newest)
	}
	r.log().Info("the turn is parked", "turn", r.id, "until", v.Until, "why", v.Say)
	err := r.g.store.Park(ctx, r.claim, p)
	if err != nil {
		return fmt.Errorf("park %s: %w", r.id, err)
	}
	r.g.wakeWatchers(r.claim.Key)
	return nil
}

// parksFor returns what parks a turn that ended with err, nil if it does not wait for anything.
func (r *run) parksFor(err error) func(context.Context) error {
	var waiting *agent.Waiting
	var kept *parkError
	switch {
	case errors.As(err, &waiting) && r.job == nil && r.g.opts.Actions != nil:
		return func(ctx context.Context) error { return r.wait(ctx, waiting) }
	case errors.As(err, &kept):
		return func(ctx context.Context) error { return r.park(ctx, kept.v) }
	}
	return nil
}

// parkError ends a turn that a rule parks before its first call.
type parkError struct{ v admission.Verdict }

func (e *parkError) Error() string { return "a rule parks the turn: " + e.v.Say }

// resume notes that a parked turn goes on. The time that it was parked does not count
// against Options.GiveUpAfter.
func (r *run) resume(ctx context.Context) error {
	if !r.parked {
		return nil
	}
	step := sessions.Step{Kind: sessions.StepResumed, At: r.g.opts.Now()}
	err := r.g.store.AppendStep(ctx, r.claim, r.id, r.bound(), step)
	if err != nil {
		return r.asStoreError(err)
	}
	r.parked = false
	r.since = step.At
	return nil
}

// parkedFor is why a turn of k is parked, "" if none is, or if the store does not say.
func (g *Gateway) parkedFor(ctx context.Context, k channels.Key) string {
	items, err := g.store.QueueOf(ctx, k)
	for _, it := range items {
		if err == nil && it.State == sessions.QueueParked {
			return it.Error
		}
	}
	return ""
}

// parkedAt is what the chat k was told, since its message of that number, about a parked turn
// that the message waits for. It is not Parked if none is.
func (g *Gateway) parkedAt(ctx context.Context, k channels.Key, question int64) (a Answered, err error) {
	why := g.parkedFor(ctx, k)
	if why == "" {
		return a, nil
	}
	items, i, err := g.feedFrom(ctx, k, question)
	if err != nil {
		return a, fmt.Errorf("gateway: look why a turn waits in %s: %w", k, err)
	}
	var said []string
	for _, it := range items[max(i, 0):] {
		open, err := g.isOpen(ctx, &it)
		if err != nil {
			return a, err
		}
		if open {
			a.Turn = it.Turn
			said = append(said, g.plain(k, it.Text, it.Form))
		}
	}
	if len(said) == 0 {
		said = []string{why} // it was told before the message
	}
	a.Text = strings.ToValidUTF8(strings.Join(said, "\n\n"), "\uFFFD")
	a.Parked = true
	return a, nil
}

// isOpen reports whether it says what a turn waits for, and is no question that somebody has
// answered.
func (g *Gateway) isOpen(ctx context.Context, it *sessions.FeedItem) (bool, error) {
	switch it.Kind {
	case channels.KindForm, channels.KindNotice:
		return true, nil
	case channels.KindQuestion:
		id := QuestionOf(it.ID)
		if id == "" || g.opts.Actions == nil {
			return true, nil
		}
		q, found, err := g.opts.Actions.Find(ctx, id)
		return found && q.State == actions.Pending, err
	}
	return false, nil
}

// unpark makes all parked turns due, because the rules have changed.
func (g *Gateway) unpark(ctx context.Context) error {
	items, err := g.store.ListQueue(ctx, maxUnparked)
	if err != nil {
		return fmt.Errorf("gateway: list what is parked: %w", err)
	}
	for _, it := range items {
		if it.State != sessions.QueueParked {
			continue
		}
		one := g.store.RetryQueue(ctx, it.ID)
		if !errors.Is(one, sessions.ErrConflict) && !errors.Is(one, sessions.ErrNotFound) {
			err = errors.Join(err, one)
		}
	}
	return err
}

// maxUnparked is how many items of the queue are looked through. What is not among them
// goes on at its own time.
const maxUnparked = 100_000
