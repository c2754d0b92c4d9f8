package gateway

import (
	"context"
	"time"

	"dragoman/agent"
)

// sayWaiting is what a person reads once when the model gives no sign of life
// for Options.SilentFor: its server cannot be reached, refuses for now, or
// takes very long.
const sayWaiting = "The model is not answering yet. I have kept your message and will keep trying; /stop ends that."

// sayWaiting tells the person that their answer takes long, once: the notice
// has an id of its own, and the store takes it only the first time, however
// often the turn is tried again and whoever tries it. It stands before the
// answer in the outbox. Jobs have nobody who waits. failed is how the last
// attempt did, or nil.
func (r *run) sayWaiting(ctx context.Context, failed *agent.ModelError) {
	if r.job != nil || r.b == nil {
		return
	}
	text := sayWaiting
	if failed != nil {
		text = r.g.owned(r.claim.Key, text, sentences[failed.Cause].forOwner(failed))
	}
	r.notice(ctx, "waiting:"+r.id, text)
}

// notice tells the person something beside the answer, once for its id.
func (r *run) notice(ctx context.Context, id, text string) {
	r.mu.Lock()
	newest := r.rows[len(r.rows)-1].Inbound
	r.mu.Unlock()
	if err := r.g.notify(ctx, newest, id, r.g.split(newest.Key, text, newest)); err != nil && ctx.Err() == nil {
		r.g.log(r.claim.Key).Warn("could not send a notice to the person", "turn", r.id, "notice", id, "err", err)
	}
}

// sayUnseen is what a person reads once in a conversation that has become too
// long to be read whole and cannot be summarised.
const sayUnseen = "This conversation is longer than I can read at once, and I could not summarise its older part, so I can no longer see it. Nothing is deleted; /new starts a new conversation."

// cureUnseen is what whoever runs Dragoman can do about that.
const cureUnseen = "The log says why the summary failed (\"summary failed\"). summary.model can name another model for summaries."

// sayUnseen tells the person so, once in a generation.
func (r *run) sayUnseen(ctx context.Context) {
	r.notice(ctx, "unseen:"+r.claim.Key.String()+"#"+r.history.Generation, r.g.owned(r.claim.Key, sayUnseen, cureUnseen))
}

// silentSince is from when on the model owes the person something: since the
// turn began, or, if it was postponed before, since they wrote.
func (r *run) silentSince() time.Time {
	if r.rows[0].Attempts > 0 {
		return r.rows[0].Accepted
	}
	return r.live.began
}

// show takes the agent's progress, and lives a sign of life that nobody is
// shown. That a first call begins is none.
func (r *run) show(p agent.Progress) {
	if p != (agent.Progress{}) || r.live.alive.Load() != 0 {
		r.lives()
	}
	r.live.show(p)
}

func (r *run) lives() { r.live.alive.Store(r.g.opts.Now().UnixNano()) }

// silence is how long the model may still be silent.
func (a *attendant) silence() time.Duration {
	since := max(a.since.UnixNano(), a.turn.alive.Load())
	return a.g.opts.SilentFor - time.Duration(a.g.opts.Now().UnixNano()-since)
}
