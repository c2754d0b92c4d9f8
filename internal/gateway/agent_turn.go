package gateway

import (
	"context"
	"slices"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// agentTurn builds the agent's input. It is not part of ask, whose stack stays
// while the turn waits for its model.
func (r *run) agentTurn(ctx context.Context, steps []sessions.Step) (*agent.Turn, error) {
	newest := &r.rows[len(r.rows)-1].Inbound
	t := &agent.Turn{
		ID: r.id, Key: r.claim.Key, Person: newest.Sender, Private: newest.Private,
		Steps: steps, Progress: r.show, Alive: r.noteAlive, MayBeSilent: r.job != nil,
		Until: time.Now().Add(r.g.opts.GiveUpAfter - r.age()),
		Record: func(ctx context.Context, s sessions.Step) error {
			if s.Kind == sessions.StepModel {
				r.modelRecovered(ctx)
			}
			err := r.asStoreError(r.g.store.AppendStep(ctx, r.claim, r.id, r.bound(), s))
			if err == nil {
				if wasPaid(s) {
					r.answered = append(r.answered, *s.Message)
				}
				r.meter.journaled(s)
				r.tellStep(s)
			}
			return err
		},
	}
	if r.meter != nil {
		t.Meter = r.meter
	}
	steered := steeredSeqs(steps)
	err := r.fetchAll(ctx)
	if err != nil {
		return nil, err
	}
	if r.speaks() && !r.mirrored() {
		r.live.mute() // a voice message cannot take the place of a preview
	}
	for _, m := range r.joined(steered) {
		t.Input = append(t.Input, userMessage(m, r.g.opts.Now()))
	}
	if r.job != nil {
		return t, r.asJob(ctx, t, newest)
	}
	t.History, err = r.g.history(ctx, r.claim.Key)
	if err != nil {
		return nil, &storeError{err}
	}
	t.History = r.withOwnModel(t.History)
	if r.b != nil {
		t.MayUseTools = r.mayUseTools
		t.Operator, err = r.g.opts.People.IsOperator(ctx, *newest)
		if err != nil {
			return nil, &storeError{err}
		}
		t.System = r.systemPrompt(newest)
		t.Known, t.KnownOrigins, err = r.known(ctx, newest, r.g.ownMemory(t.History.Settings))
		if err != nil {
			return nil, &storeError{err}
		}
		if c, ok := r.b.Channel.(channels.Thinker); ok && c.ShowsThoughts() {
			t.Thoughts = func(piece string) {
				r.live.addThought(piece)
				r.tellThought(piece)
			}
		}
	}
	t.Steer = r.steer
	t.Guard = r.guard(t.History)
	t.Asker = r.asker()
	t.Permit = r.permit(t.History.Settings)
	r.history = t.History
	notes, err := r.g.jobNotes(ctx, r.claim.Key, t.History, r.rows[len(r.rows)-1].Seq)
	if err != nil {
		return nil, &storeError{err}
	}
	t.Input = append(notes, t.Input...)
	t.Compact = r.compact
	return t, nil
}

// asJob completes the agent's input for a job, which has no history.
func (r *run) asJob(ctx context.Context, t *agent.Turn, newest *channels.Inbound) (err error) {
	t.System = jobSystem
	t.History.Settings, err = r.job.settings(ctx, r.g, r.claim.Key)
	if err != nil {
		return &storeError{err}
	}
	t.Guard = r.guard(sessions.History{})
	t.Permit = r.permit(t.History.Settings)
	t.Operator = true
	t.Job = true
	if r.job.reminder == "" {
		return nil
	}
	t.MayUseTools = r.mayUseTools // it may do what its maker may
	t.Operator, err = r.g.opts.People.IsOperator(ctx, *newest)
	if err != nil {
		return &storeError{err}
	}
	return nil
}

// systemPrompt is the channel's part of the prompt.
func (r *run) systemPrompt(newest *channels.Inbound) string {
	text := r.b.systemFor(r.claim.Key.Chat(), newest.Private)
	if newest.Instructions != "" {
		text = strings.TrimSpace(text + "\n\n" + newest.Instructions)
	}
	return text
}

// known is what was remembered about the person in a private chat, and whose words it has.
// own is the persona that has a memory of its own, or "".
func (r *run) known(ctx context.Context, newest *channels.Inbound, own string) (string, []sessions.Origin, error) {
	if !newest.Private || r.g.opts.Known == nil {
		return "", nil, nil
	}
	return r.g.opts.Known(ctx, r.claim.Key, newest.Sender, own)
}

// mayUseTools reports whether everybody whom the turn answers may still talk.
func (r *run) mayUseTools(ctx context.Context) (bool, error) {
	r.mu.Lock()
	rows := slices.Clone(r.rows)
	r.mu.Unlock()
	for _, w := range rows {
		if w.Inbound.Sender.ID() == people.OperatorID {
			continue
		}
		verdict, err := r.g.opts.Gate.Sender(ctx, w.Inbound)
		if err != nil {
			return false, &storeError{err}
		}
		if verdict != people.Welcome {
			r.log().Info("a turn loses its tools: its person is no longer allowed to talk", "turn", r.id, "sender", w.Inbound.Sender.ID())
			return false, nil
		}
	}
	return true, nil
}

func (r *run) compact(ctx context.Context, keep *window.Keep) (sessions.History, error) {
	h, err := r.g.summaries.ForTurn(ctx, r.claim.Key, r.history, keep)
	if err == nil {
		h = r.withOwnModel(h)
		r.history = h
	}
	return h, err
}

// withOwnModel returns h with the model that the newest of the messages names which name
// one. It is stored with them, so a turn that resumes has the same.
func (r *run) withOwnModel(h sessions.History) sessions.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range slices.Backward(r.rows) {
		if w.Inbound.Model != "" {
			h.Settings.Model = w.Inbound.Model
			break
		}
	}
	return h
}

// joined are the messages that the turn answers as the model reads them, without those
// that were steered into it. What a person's client cut in pieces is one message, with one
// time.
func (r *run) joined(steered map[int64]bool) (all []channels.Inbound) {
	var last *channels.Inbound // before it was joined with others
	for i := range r.rows {
		if steered[r.rows[i].Seq] {
			continue
		}
		m := &r.rows[i].Inbound
		if len(all) > 0 && r.continues(last, m) {
			all[len(all)-1].Text += "\n" + m.Text
		} else {
			all = append(all, *m)
		}
		last = m
	}
	return all
}

// continues reports whether next is more words of the person who wrote m just before.
func (r *run) continues(m, next *channels.Inbound) bool {
	words := func(m *channels.Inbound) bool {
		return len(m.Attachments) == 0 && m.Edits == "" && m.Forwarded == nil && !m.Again && m.Instructions == "" && m.Model == ""
	}
	if m.Album == "" || m.Album != next.Album || !m.Sender.Is(next.Sender) || next.Quote != nil || !words(m) || !words(next) {
		return false
	}
	pause := albumQuiet
	if r.b != nil { // nil: only another node has the channel
		pause, _ = r.b.albumPause(*m)
	}
	return next.At.Sub(m.At).Abs() <= pause
}

// userMessage is m as the model reads it, dated even if the network did not.
func userMessage(m channels.Inbound, now time.Time) sessions.Message {
	if m.At.IsZero() {
		m.At = now
	}
	return sessions.UserMessage(m)
}
