package agent

import (
	"context"
	"fmt"

	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// meter measures requests for recap: see [recap.Meter].
type meter struct{ a *Agent }

func (m meter) Window(s sessions.Settings) int { return m.a.usableWindow(m.a.nameFor(s)) }

func (m meter) Factor(s sessions.Settings) float64 {
	return m.a.calibration.factor(m.a.nameFor(s))
}

func (m meter) Frame(h *sessions.History, summary *sessions.Summary) (frame window.Frame, tools int) {
	r := m.a.usualRights()
	r.persona = m.a.personaOf(&h.Settings)
	frame, o := m.a.frameFor(m.a.latestKit(), m.a.nameFor(h.Settings), h, "", summary, r)
	return frame, o.tokens
}

func (m meter) Shown(h sessions.History) []sessions.Message {
	name := m.a.nameFor(h.Settings)
	frame, tools := m.Frame(&h, h.Summary)
	return m.a.opts.Prune.Apply(m.a.visible(name, h.Messages, nil), window.PruneTarget{
		Window: m.a.nominalWindow(name), Fixed: tools + frame.Tokens(m.a.opts.Count), Count: m.a.opts.Count,
	})
}

// summaryWriter calls the model that writes summaries: see [recap.Model].
type summaryWriter struct{ a *Agent }

func (w summaryWriter) Name() string    { return w.a.opts.Summarizer.Name() }
func (w summaryWriter) Window() int     { return w.a.learnedWindow(w.Name(), w.a.opts.SummarizerWindow) }
func (w summaryWriter) Factor() float64 { return w.a.calibration.factor(w.Name()) }

func (w summaryWriter) Learn(refused, passed int) {
	w.a.learnLimit(w.Name(), w.a.opts.SummarizerWindow, refused, passed)
}

// Ask makes one request, with the usual retries.
func (w summaryWriter) Ask(ctx context.Context, r recap.Request) (recap.Answer, error) {
	a := w.a
	req := Request{
		System: r.System, Messages: []sessions.Message{{Role: sessions.RoleUser, Content: r.Text}},
		MaxTokens: r.MaxTokens, Temperature: a.opts.Temperature, Effort: r.Effort, Format: r.Format,
	}
	if r.Temperature != nil {
		req.Temperature = new(float32(*r.Temperature))
	}
	resp, err := a.complete(ctx, a.opts.Summarizer, &req, func() func(Delta) { return nil })
	switch {
	case err != nil && tooLong(err):
		return recap.Answer{}, fmt.Errorf("agent: summarise: %w: %w", recap.ErrTooLong, err)
	case err != nil:
		return recap.Answer{}, fmt.Errorf("agent: summarise: %w", err)
	}
	a.learn(a.opts.Summarizer, &req, resp.Usage)
	return recap.Answer{
		Text: resp.Message.Content, Finish: resp.Finish, Refused: resp.Refused, Called: len(resp.Message.ToolCalls) > 0,
		Used: resp.Usage,
	}, nil
}
