package gateway

import (
	"context"
	"sync"

	"dragoman/agent"
	"dragoman/internal/admission"
	"dragoman/sessions"
)

// meter asks the rules that limit what a running turn uses.
type meter struct {
	t     admission.Turn
	rules []admission.Meter
	// counted: what the turn used was stored.
	counted bool

	mu    sync.Mutex
	tasks map[string]*meter // by id
}

var (
	_ agent.Meter     = (*meter)(nil)
	_ agent.TaskMeter = (*meter)(nil)
)

// OfTask implements [agent.TaskMeter]: rules know a task as a turn of its own, which is
// counted with this one.
func (m *meter) OfTask(id string) agent.Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tasks[id] == nil {
		t := m.t
		t.ID += "/" + id
		if m.tasks == nil {
			m.tasks = map[string]*meter{}
		}
		m.tasks[id] = &meter{t: t, rules: m.rules}
	}
	return m.tasks[id]
}

// meterOf returns the meter of t, nil if no rule limits what turns use.
func (g *Gateway) meterOf(t admission.Turn) *meter {
	var rules []admission.Meter
	for _, rule := range *g.rules.Load() {
		if able, is := rule.(admission.Meter); is {
			rules = append(rules, able)
		}
	}
	if rules == nil {
		return nil
	}
	return &meter{t: t, rules: rules}
}

// Begin implements [agent.Meter].
func (m *meter) Begin(ctx context.Context, model string, input int) (string, error) {
	for _, rule := range m.rules {
		v, err := rule.Begin(ctx, m.t, admission.Call{Model: model, Input: input})
		if ctx.Err() != nil {
			return "", err
		}
		if err != nil {
			return "", &storeError{err}
		}
		if !v.IsZero() {
			m.Used(nil) // what the rules before have reserved
			return v.Say, nil
		}
	}
	return "", nil
}

// Used implements [agent.Meter].
func (m *meter) Used(u *sessions.Usage) {
	var used sessions.Usage
	if u != nil {
		used = *u
	}
	for _, rule := range m.rules {
		rule.Used(m.t, used)
	}
}

// end says that the turn runs no longer. m may be nil.
func (m *meter) end() {
	if m == nil {
		return
	}
	for _, rule := range m.rules {
		rule.End(m.t, m.counted)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, task := range m.tasks {
		task.counted = m.counted
		task.end()
	}
}
