package gateway

import (
	"context"
	"fmt"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/forms"
	"dragoman/sessions"
)

// A turn whose call needs a yes is parked until somebody has answered: see package actions.

// askedCalls are the calls of a turn with those steps that were open when it was parked.
// Somebody was asked about them in the same commit.
func askedCalls(steps []sessions.Step) map[string]bool {
	asked := map[string]bool{}
	open := map[string]bool{}
	for _, s := range steps {
		if s.Within != "" {
			continue // of a task, which asks nobody
		}
		switch s.Kind {
		case sessions.StepModel:
			clear(open)
			if s.Message == nil {
				continue
			}
			for _, c := range s.Message.ToolCalls {
				open[c.ID] = true
			}
		case sessions.StepToolDone:
			delete(open, s.CallID)
		case sessions.StepParked:
			for id := range open {
				asked[id] = true
			}
		}
	}
	return asked
}

// guard decides about the calls of r. h is the conversation.
func (r *run) guard(h sessions.History) agent.Guard {
	if r.g.opts.Actions == nil {
		return agent.Unguarded
	}
	newest := r.newest()
	t := actions.Turn{
		ID: r.id, Chat: r.claim.Key, Item: r.item(), Generation: h.Generation, Private: newest.Private,
		Asked: func(call string) bool { return r.askedAbout[call] },
	}
	if r.job != nil {
		t.Nobody = true
		t.Chat = r.job.target
	}
	return r.g.opts.Actions.Guard(t)
}

// item is the item of the queue that makes the turn due.
func (r *run) item() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%s/%s/%d", sessions.LaneIn, r.claim.Key, r.rows[0].Seq)
}

// wait parks a turn that waits for a yes, and asks what was not asked before.
func (r *run) wait(ctx context.Context, w *agent.Waiting) error {
	g := r.g
	list, err := g.opts.Actions.Questions(ctx, r.claim.Key, r.id)
	if err != nil {
		return err
	}
	p := sessions.Parking{Turn: r.id, Answers: r.bound(), Until: w.Until}
	var codes []string
	for _, q := range list {
		codes = append(codes, q.Code)
		if !r.askedAbout[q.Call] {
			p.Replies = append(p.Replies, r.question(q)...)
		}
		if q.Until.Before(p.Until) || p.Until.IsZero() {
			p.Until = q.Until
		}
	}
	form, err := r.formOf(ctx)
	if err != nil {
		return err
	}
	p.Why = "it waits for a yes: " + strings.Join(codes, ", ")
	if len(codes) == 0 && form == nil {
		p.Until = g.opts.Now() // all of them were answered meanwhile
	}
	r.askForm(&p, form)
	r.removePreview(ctx)
	err = g.store.Park(ctx, r.claim, p)
	if err != nil {
		return fmt.Errorf("park %s: %w", r.id, err)
	}
	r.log().Info("the turn is parked", "turn", r.id, "until", p.Until, "why", p.Why)
	g.wakeWatchers(r.claim.Key)
	return r.lookAgain(ctx, list, form)
}

// lookAgain makes the turn due if one of those questions, or a form, was answered before it was
// parked: then nothing could be made due.
func (r *run) lookAgain(ctx context.Context, before []actions.Question, form *forms.Waiting) error {
	now, err := r.g.opts.Actions.Questions(ctx, r.claim.Key, r.id)
	if err != nil {
		return err
	}
	formNow, err := r.formOf(ctx)
	if err != nil {
		return err
	}
	if len(now) < len(before) || form != nil && formNow == nil {
		r.g.makeDue(ctx, []string{r.item()})
	}
	return nil
}

// question is the message that asks q.
func (r *run) question(q actions.Question) []sessions.Reply {
	newest := r.newest()
	k := r.claim.Key
	l := sessions.Label{Kind: channels.KindQuestion, Turn: r.id}
	replies := r.g.split(l, k, r.g.SpellCommands(k, q.Text(newest.Private)), newest)
	if len(replies) > 1 {
		replies = r.g.split(l, k, r.g.SpellCommands(k, q.Line()), newest)
	}
	replies[len(replies)-1].ID = questionID(q)
	return replies
}
