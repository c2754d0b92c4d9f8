package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/sessions"
)

// finish commits what the agent came to, or says why there is no answer.
func (r *run) finish(ctx context.Context, res agent.Result, err error) (outcome string, _ error) {
	if err == nil {
		r.g.resting.over(r.claim.Key)
		err := r.commit(ctx, res, "ran", "")
		r.modelWell(ctx)
		return "answered", err
	}
	if ctx.Err() != nil {
		return "cancelled", ctx.Err()
	}
	var broken *storeError
	var model *agent.ModelError
	why := agent.Cause("")
	switch {
	case errors.Is(err, sessions.ErrFenced), errors.Is(err, sessions.ErrConflict), errors.As(err, &broken):
		return "refused", err
	case errors.As(err, &model) && model.Kind == agent.ErrorTemporary && r.age() < r.g.opts.GiveUpAfter:
		if r.hopeless(model) {
			why = whySame
			break
		}
		wait, rest := r.pause(model)
		err := r.postpone(ctx, wait, model)
		if err == nil && r.age()+max(wait, rest) >= r.g.opts.SilentFor {
			r.sayWaiting(ctx, model)
		}
		return "postponed", err
	}
	r.g.resting.over(r.claim.Key)
	id := errorID()
	why = cmp.Or(why, causeOf(model))
	r.g.log(r.claim.Key).Error("turn failed", "turn", r.id, "error_id", id, "err", err, "cause", string(why), "cure", sentences[why].cure)
	return "failed", r.commit(ctx, r.apology(id, why, model), "failed", "error "+id)
}

// postpone puts the turn off for a while.
func (r *run) postpone(ctx context.Context, wait time.Duration, cause error) error {
	seqs := make([]int64, 0, len(r.rows))
	for _, w := range r.rows {
		seqs = append(seqs, w.Seq)
	}
	r.g.log(r.claim.Key).Warn("the turn is postponed", "turn", r.id, "attempt", r.rows[0].Attempts+1, "in", wait, "err", cause)
	if err := r.g.store.Postpone(ctx, r.claim, seqs, r.g.opts.Now().Add(wait), cause.Error()); err != nil {
		return fmt.Errorf("postpone %s: %w", r.id, err)
	}
	return nil
}

// apology is the answer of a turn that failed for good, and why.
func (r *run) apology(id string, why agent.Cause, model *agent.ModelError) agent.Result {
	said := sentences[why]
	switch {
	case model == nil || why == whySame:
	case model.Kind == agent.ErrorContext:
		said.person, said.cure = r.tooLong(), ""
	case model.Limit > 0:
		said.person = fmt.Sprintf("the provider's rate limit is smaller than this conversation (limit %d tokens, requested %d), so waiting does not help. "+
			"/new starts a new conversation; whoever runs me can set a smaller context_window or get a higher limit", model.Limit, model.Asked)
		said.cure = ""
	}
	text := r.g.spell(r.claim.Key, fmt.Sprintf("Sorry, %s (error %s).", said.person, id))
	res := agent.Result{Text: r.owned(text, said.forOwner(model))}
	for _, w := range r.rows {
		res.Messages = append(res.Messages, userMessage(w.Inbound, r.g.opts.Now()))
	}
	res.Messages = append(res.Messages, sessions.Message{
		Role: sessions.RoleAssistant, Content: text, At: r.g.opts.Now(), Synthetic: true,
	})
	return res
}

// worded is the answer to send for res. Of a model that said nothing the
// transcript holds what the person is told, as the agent's last message: two
// messages of people in a row are refused by the templates of some models.
func (r *run) worded(res *agent.Result) string {
	last := &sessions.Message{}
	if n := len(res.Messages); n > 0 {
		last = &res.Messages[n-1]
	}
	cut := res.Finish == "length" && last.Synthetic && last.Content == res.Text
	if strings.TrimSpace(res.Text) != "" && !cut {
		return res.Text
	}
	said := sentences[wordless(*res)]
	text := "(" + said.person + ")"
	if last.Role == sessions.RoleAssistant && last.Synthetic {
		last.Content = text
	}
	return r.owned(text, said.cure)
}

// owned is [Gateway.owned] in the turn's chat. Where the chat is not told more,
// whoever asked from outside may be.
func (r *run) owned(text, more string) string {
	out := r.g.owned(r.claim.Key, text, more)
	if out == text && more != "" && r.asked() {
		r.g.cures.keep(r.id, more)
	}
	return out
}

// tooLong says what the model could not read, even alone: /new helps only
// where there is a conversation that it ends.
func (r *run) tooLong() string {
	input := sessions.History{Messages: make([]sessions.Message, 0, len(r.rows))}
	for _, w := range r.rows {
		input.Messages = append(input.Messages, userMessage(w.Inbound, r.g.opts.Now()))
	}
	fixed, limit := r.g.agent.Fill(sessions.History{Settings: r.history.Settings})
	said := r.g.agent.Tokens(input)
	empty := len(r.history.Messages) == 0 && r.history.Summary == nil
	switch {
	case fixed >= limit, empty && said <= fixed:
		return "my instructions and tools alone are too long for the model, so I cannot answer anything here. Whoever runs me must shorten them or give me a model with a larger context window"
	case empty:
		return "this message is too long for the model to read. Please send less at once"
	default:
		return "this conversation has become too long for the model to read. /new starts a new conversation"
	}
}

// commit ends the turn in one step. While the store cannot write, the answer
// waits here: the model's work is not thrown away for a full disk.
func (r *run) commit(ctx context.Context, res agent.Result, outcome, why string) error {
	t := sessions.Turn{ID: r.id, Answers: r.bound()}
	if r.job != nil {
		outcome = r.job.settle(r.g, &t, res, outcome, why)
		defer func() { r.g.opts.Observer.Heartbeat(r.job.name, outcome) }()
	} else {
		text := r.worded(&res)
		t.Messages = res.Messages
		for i := range t.Messages {
			t.Messages[i].Turn = r.id
		}
		t.Replies = r.g.split(r.claim.Key, text, r.rows[len(r.rows)-1].Inbound)
		if r.live != nil {
			_, t.Replies[0].Edit = r.live.current()
		}
		r.name(t.Replies)
		r.g.underway.finishes(r.claim.Key, t.Replies)
		if say := r.g.summaries.Choice(r.history, r.historyAfter(t)); say != "" {
			t.Replies = append(t.Replies, r.g.split(r.claim.Key, r.g.spell(r.claim.Key, say), r.rows[len(r.rows)-1].Inbound)...)
		}
	}
	wait := backoff{base: 200 * time.Millisecond, most: 30 * time.Second}
	for {
		err := r.store(ctx, t)
		switch {
		case err == nil:
			r.settled(ctx, t)
			return nil
		case errors.Is(err, sessions.ErrFenced), errors.Is(err, sessions.ErrConflict), ctx.Err() != nil:
			return err
		}
		r.g.log(r.claim.Key).Error("the store refused an answer; trying again", "turn", r.id, "err", err)
		if !sleep(ctx, wait.next()) {
			return err
		}
	}
}

// store commits the turn, unless a command ends it first.
func (r *run) store(ctx context.Context, t sessions.Turn) error {
	defer r.live.hold(ctx)()
	err := r.g.store.CommitTurn(ctx, r.claim, t)
	if err == nil {
		r.live.committed()
	}
	return err
}

// historyAfter is what the conversation is with t in it. The turn is over: nobody
// else adds to its history.
func (r *run) historyAfter(t sessions.Turn) sessions.History {
	h := r.history
	h.Messages = append(h.Messages, t.Messages...)
	return h
}

// settled follows a commit: wake whoever delivers, and see whether the
// conversation needs a summary.
func (r *run) settled(ctx context.Context, t sessions.Turn) {
	if r.job == nil {
		r.named(ctx)
		r.saved(t)
		r.g.summaries.AfterTurn(r.claim.Key, r.historyAfter(t))
		return
	}
	for _, reply := range t.Replies {
		r.g.live.kick(reply.Key)
	}
}
