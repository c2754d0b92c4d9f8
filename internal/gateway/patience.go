package gateway

import (
	"context"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// sayWaiting is what a person reads once when the model gives no sign of life
// for Options.SilentFor: its server cannot be reached, refuses for now, or
// takes very long.
const sayWaiting = "The model does not answer yet; I keep your message and go on trying."

// sayWaiting tells the person that their answer takes long, once: the notice
// has an id of its own, and the store takes it only the first time, however
// often the turn is tried again and whoever tries it. It stands before the
// answer in the outbox. Jobs have nobody who waits.
func (r *run) sayWaiting(ctx context.Context) {
	if r.job != nil || r.b == nil {
		return
	}
	r.mu.Lock()
	newest := r.rows[len(r.rows)-1].Inbound
	r.mu.Unlock()
	_, err := r.g.store.Accept(ctx, sessions.Entry{
		Inbound: channels.Inbound{Key: r.claim.Key, ID: "waiting:" + r.id, At: r.g.opts.Now()},
		Origin:  sessions.OriginNotice, Answered: true, Replies: r.g.split(r.claim.Key, sayWaiting, newest),
	})
	if err != nil {
		if ctx.Err() == nil {
			r.g.log(r.claim.Key).Warn("the person is not told that the model does not answer", "turn", r.id, "err", err)
		}
		return
	}
	r.g.live.kick(r.claim.Key)
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
	if p != (agent.Progress{}) || r.live.alive.Load() != nil {
		r.lives()
	}
	r.live.show(p)
}

func (r *run) lives() {
	now := r.g.opts.Now()
	r.live.alive.Store(&now)
}

// silence is how long the model may still be silent.
func (a *attendant) silence() time.Duration {
	since := a.since
	if alive := a.turn.alive.Load(); alive != nil && alive.After(since) {
		since = *alive
	}
	return a.g.opts.SilentFor - a.g.opts.Now().Sub(since)
}
