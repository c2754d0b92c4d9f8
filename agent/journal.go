package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// stamp says when, and in whose turn, m was written.
func (r *run) stamp(m *sessions.Message) {
	m.Turn = r.t.ID
	m.At = r.a.now()
	if m.Role == sessions.RoleAssistant {
		m.Model = cmp.Or(m.Model, r.model.Name()) // a fallback sets its own name
	}
}

func (r *run) acceptCalls(ctx context.Context, resp *Response) error {
	m := resp.Message
	if r.t.Given != nil {
		// The caller sends them back in another turn, which must not confuse them with
		// calls of its own. Some servers number the calls of each request from 0.
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for i := range m.ToolCalls {
			if r.t.Given.isTheirs(m.ToolCalls[i]) {
				m.ToolCalls[i].ID = ""
			}
		}
	}
	m.ToolCalls = window.UniqueIDs(m.ToolCalls, r.t.ID, r.ids)
	return r.appendStep(ctx, sessions.Step{Kind: sessions.StepModel, Message: &m, Taint: r.taint.List()})
}

// appendStep journals s and adds its message to the turn.
func (r *run) appendStep(ctx context.Context, s sessions.Step) error {
	if err := r.record(ctx, s); err != nil {
		return err
	}
	r.appendMessage(*s.Message)
	return nil
}

func (r *run) appendMessage(m sessions.Message) {
	m.Turn = cmp.Or(m.Turn, r.t.ID)
	r.all = append(r.all, m)
	switch {
	case m.Role == sessions.RoleAssistant && m.Content != "":
		r.said = append(r.said, m.Content)
	case m.Role == sessions.RoleUser && !m.Synthetic && m.Sender != r.person.ID():
		r.person = channels.Person{Name: m.Name}
		if m.Sender != "" {
			r.person.IDs = []string{m.Sender}
		}
	}
}

// addNote tells the model something that no person said. It becomes part of the
// transcript, marked as synthetic.
func (r *run) addNote(ctx context.Context, text string) error {
	m := sessions.Message{Role: sessions.RoleUser, Content: text, Synthetic: true}
	r.stamp(&m)
	return r.appendStep(ctx, sessions.Step{Kind: sessions.StepNote, Message: &m})
}

// steer appends messages that arrived while the turn ran. The caller has journaled
// them.
func (r *run) steer(ctx context.Context) error {
	if r.t.Steer == nil || r.steps == 0 {
		return nil
	}
	msgs, err := r.t.Steer(ctx)
	if err != nil {
		return fmt.Errorf("agent: steer: %w", err)
	}
	for _, m := range msgs {
		r.appendMessage(m)
	}
	return nil
}

func (r *run) record(ctx context.Context, s sessions.Step) error {
	if r.t.Record == nil {
		return nil
	}
	s.At = r.a.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.t.Record(ctx, s); err != nil {
		return fmt.Errorf("agent: journal %s: %w", s.Kind, err)
	}
	return nil
}
