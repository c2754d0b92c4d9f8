package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// sayWaiting is shown once when the model gives no sign of life for
// Options.SilentFor: its server cannot be reached, refuses for now, or is very
// slow.
const sayWaiting = "The model is not answering yet. I have kept your message and will keep trying; /stop ends that."

// worthWaiting is how long I must still be going to try for sayWaiting to be true. With
// less, an apology would follow at once and contradict it.
const worthWaiting = 15 * time.Second

// sayWaiting tells the person, once, that their answer takes long. The notice has
// its own id, and the store accepts it only the first time, however often and on
// whatever node the turn is tried. It comes before the answer in the outbox. Nobody
// waits for a job. failed is the error of the last attempt, or nil.
func (r *run) sayWaiting(ctx context.Context, failed *agent.ModelError) {
	if r.job != nil || r.b == nil || r.g.opts.GiveUpAfter-r.age() < worthWaiting {
		return
	}
	text := sayWaiting
	if failed != nil {
		text = r.g.withCure(r.claim.Key, text, sentences[failed.Cause].forOwner(failed))
	}
	if r.notice(ctx, "waiting", r.id, formerWaiting, text) {
		r.removePreview(ctx)
	}
}

// removePreview takes back the beginning of the answer that is shown above a notice. The
// answer would edit it, and so come above the notice, without a sound on the phone.
func (r *run) removePreview(ctx context.Context) {
	_, shown := r.live.current()
	retractor, able := ability[channels.Retractor](r.b)
	if shown == "" || !able {
		return
	}
	r.live.dropPreview()
	r.retractPreview(ctx, retractor, shown)
}

// retractPreview removes the message of a preview, which the answer no longer edits.
func (r *run) retractPreview(ctx context.Context, retractor channels.Retractor, shown string) {
	// First the journal: after a crash the answer is a new message, too.
	none := sessions.Step{Kind: sessions.StepPreview, At: r.g.opts.Now()}
	err := r.g.store.AppendStep(ctx, r.claim, r.id, r.bound(), none)
	if err == nil {
		err = retract(ctx, retractor, r.claim.Key, shown)
	}
	if err != nil && ctx.Err() == nil {
		r.log().Warn("could not remove the preview of an unfinished answer", "turn", r.id, "err", err)
	}
}

// retract removes a message that the network shows. It recovers from a panic of the
// adapter.
func retract(ctx context.Context, from channels.Retractor, k channels.Key, id string) (err error) {
	defer recoverTo(&err, "retract on "+k.Channel())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attendTimeout)
	defer cancel()
	return from.Retract(ctx, k, id)
}

// notice sends the notice called name about something, once, and reports whether this is
// the time. former is the prefix of its id in former versions.
func (r *run) notice(ctx context.Context, name, about, former, text string) (first bool) {
	newest := r.newest()
	replies := r.g.split(sessions.Label{Kind: channels.KindNotice, Turn: r.id}, newest.Key, text, newest)
	first, err := r.g.notify(ctx, newest, onceID(name, about), former+about, replies)
	if err != nil && ctx.Err() == nil {
		r.log().Warn("could not send a notice to the person", "turn", r.id, "notice", name, "err", err)
	}
	return first
}

// sayUnseen is shown once in a conversation that is too long to be read whole
// and cannot be summarised.
const sayUnseen = "This conversation is longer than I can read at once, and I could not summarise its older part, so I can no longer see it. Nothing is deleted; /new starts a new conversation."

const cureUnseen = "The log says why the summary failed (\"summary failed\"). summary.model can name another model for summaries."

// sayUnseen tells the person, once in a generation.
func (r *run) sayUnseen(ctx context.Context) {
	generation := r.claim.Key.String() + "#" + r.history.Generation
	r.notice(ctx, "unseen", generation, formerUnseen, r.g.withCure(r.claim.Key, sayUnseen, cureUnseen))
}

// show receives the agent's progress. The beginning of the first call is no
// sign of life.
func (r *run) show(p agent.Progress) {
	if p != (agent.Progress{}) || r.live.alive.Load() != 0 {
		r.noteAlive()
	}
	r.live.show(p)
	r.tellProgress(p)
	r.showWatchers(p)
}

// noteAlive notes a sign of life that is not shown.
func (r *run) noteAlive() { r.live.alive.Store(r.g.opts.Now().UnixNano()) }

// silence is how long the model may still be silent.
func (a *attendant) silence() time.Duration {
	since := max(a.since.UnixNano(), a.r.live.alive.Load())
	return a.r.g.opts.SilentFor - time.Duration(a.r.g.opts.Now().UnixNano()-since)
}

// Tell sends text to a conversation, which need not exist. It uses the outbox,
// so the text survives a crash and is retried until it arrives; only if the
// store cannot write, Tell sends it at once. After an error the caller repeats
// the call with the same id: nothing was sent, or only to a [channels.Mirror],
// which shows an id once. Conversations are told one by one: the same id in
// another one is another text.
func (g *Gateway) Tell(ctx context.Context, to channels.Key, id, text string) error {
	b := g.bindings[to.Channel()]
	if b == nil {
		return fmt.Errorf("gateway: tell %s: there is no such channel", to)
	}
	replies := g.split(sessions.Label{Kind: channels.KindNotice}, to, text, channels.Inbound{})
	for i := range replies {
		replies[i].ID = onceID("tell", to.String(), id, strconv.Itoa(i))
	}
	_, err := g.notify(ctx, channels.Inbound{Key: to}, onceID("tell", to.String(), id), formerTell+id, replies)
	if err == nil {
		return nil
	}
	g.log(to).Warn("the store cannot write; sending a notice without saving it first", "err", err)
	for _, r := range replies {
		o := channels.Outbound{ID: r.ID, Key: to, Kind: r.Kind, Text: r.Text, Form: r.Form, Attempt: 1}
		b.asFile(&o, r.Label)
		if _, sent := g.send(ctx, b, o); sent != nil {
			return fmt.Errorf("gateway: tell %s: %w", to, errors.Join(err, sent))
		}
	}
	if _, mirror := b.Channel.(channels.Mirror); mirror {
		return fmt.Errorf("gateway: tell %s: not stored yet: %w", to, err)
	}
	return nil
}

// notify stores replies as a notice in the chat of to: once for its id, however
// often it is called. It reports whether this was the first time.
func (g *Gateway) notify(ctx context.Context, to channels.Inbound, id, formerID string, replies []sessions.Reply) (first bool, err error) {
	got, err := g.store.Accept(ctx, sessions.Entry{
		Inbound: channels.Inbound{Key: to.Key, ID: id, At: g.opts.Now()},
		Source:  sessions.SourceNotice, Answered: true, FormerID: formerID, Replies: replies,
	})
	if err == nil {
		g.chats.kick(to.Key)
	}
	return err == nil && got.Outcome != sessions.Duplicate, err
}
