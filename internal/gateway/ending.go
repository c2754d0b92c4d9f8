package gateway

import (
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
		return "answered", r.commit(ctx, res, "ran", "")
	}
	if ctx.Err() != nil {
		return "cancelled", ctx.Err()
	}
	var broken *storeError
	var model *agent.ModelError
	switch {
	case errors.Is(err, sessions.ErrFenced), errors.Is(err, sessions.ErrConflict), errors.As(err, &broken):
		return "refused", err
	case errors.As(err, &model) && model.Kind == agent.ErrorTemporary && r.age() < r.g.opts.GiveUpAfter:
		wait := max(model.After, delay(2*time.Second, time.Minute, r.rows[0].Attempts))
		err := r.postpone(ctx, wait, model)
		if err == nil && r.age()+wait >= r.g.opts.SilentFor {
			r.sayWaiting(ctx)
		}
		return "postponed", err
	}
	id := errorID()
	r.g.log(r.claim.Key).Error("turn failed", "turn", r.id, "error_id", id, "err", err)
	return "failed", r.commit(ctx, r.apology(id, err, model), "failed", "error "+id)
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

// apology is the answer of a turn that failed for good.
func (r *run) apology(id string, err error, model *agent.ModelError) agent.Result {
	text := "Sorry, something went wrong on my side and I could not answer this"
	switch {
	case model == nil:
	case model.Kind == agent.ErrorContext:
		text = r.tooLong()
	case model.Kind == agent.ErrorTemporary:
		text = "Sorry, I could not reach the model for a while, so I give up on this message. Please ask again later"
	case model.Limit > 0:
		text = fmt.Sprintf("Sorry, the provider's rate limit is smaller than this conversation (limit %d tokens, requested %d), so waiting is no use. "+
			"/new starts a new conversation; whoever runs me can set a smaller context_window or get a higher limit", model.Limit, model.Asked)
	case model.Kind == agent.ErrorRefused:
		text = "Sorry, the model's server refuses my requests, so I cannot answer now"
	}
	text = fmt.Sprintf("%s (error %s).", text, id)
	res := agent.Result{Text: text}
	for _, w := range r.rows {
		res.Messages = append(res.Messages, userMessage(w.Inbound, r.g.opts.Now()))
	}
	res.Messages = append(res.Messages, sessions.Message{
		Role: sessions.RoleAssistant, Content: text, At: r.g.opts.Now(), Synthetic: true,
	})
	return res
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
		return "Sorry, my instructions and tools alone are too long for the model, so I cannot answer anything here. Whoever runs me must shorten them or give me a model that reads more"
	case empty:
		return "Sorry, this message is too long for the model to read. Please send less at once"
	default:
		return "Sorry, this has become too long for the model to read. /new starts a new conversation"
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
		text := res.Text
		if strings.TrimSpace(text) == "" {
			text = "(The model gave an empty answer.)"
		}
		t.Messages = res.Messages
		for i := range t.Messages {
			t.Messages[i].Turn = r.id
		}
		t.Replies = r.g.split(r.claim.Key, text, r.rows[len(r.rows)-1].Inbound)
		if r.live != nil {
			_, t.Replies[0].Edit = r.live.current()
		}
		t.Replies = append(t.Replies, r.choice(t)...)
	}
	wait := backoff{base: 200 * time.Millisecond, most: 30 * time.Second}
	for {
		err := r.g.store.CommitTurn(ctx, r.claim, t)
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

// settled follows a commit: wake whoever delivers, and see whether the
// conversation needs a summary.
func (r *run) settled(ctx context.Context, t sessions.Turn) {
	if r.job == nil {
		r.named(ctx)
		r.saved(t)
		h := r.history
		h.Messages = append(h.Messages, t.Messages...)
		r.g.considerSummary(r.claim.Key, h)
		return
	}
	for _, reply := range t.Replies {
		r.g.live.kick(reply.Key)
	}
}
