package gateway

import (
	"cmp"
	"context"
	"sync"

	"dragoman/agent"
	"dragoman/internal/admission"
	"dragoman/sessions"
)

// meter asks the rules that limit what a running turn uses, and tells the other nodes which
// call it makes.
type meter struct {
	t     admission.Turn
	rules []admission.Meter
	g     *Gateway
	// counted: what the turn used was stored.
	counted bool

	mu    sync.Mutex
	tasks map[string]*meter // by id
	// call is the ID of the call that runs, "" if none does, and calls are those that ran.
	call  string
	calls []string
	// steps are the answers of the model in the journal.
	steps int
	// of and within say whose task it is; "": it is the turn.
	of, within string
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
		m.tasks[id] = &meter{t: t, rules: m.rules, g: m.g, of: m.t.ID, within: id}
	}
	return m.tasks[id]
}

// meterOf returns the meter of t, with that journal, nil if no rule limits what turns use.
func (g *Gateway) meterOf(t admission.Turn, steps ...sessions.Step) *meter {
	var rules []admission.Meter
	for _, rule := range *g.rules.Load() {
		if able, is := rule.(admission.Meter); is {
			rules = append(rules, able)
		}
	}
	if rules == nil {
		return nil
	}
	m := &meter{t: t, rules: rules, g: g}
	for _, s := range steps {
		m.journaled(s)
	}
	return m
}

// journaled notes a step of the turn's journal. m may be nil.
func (m *meter) journaled(s sessions.Step) {
	if m == nil || s.Kind != sessions.StepModel {
		return
	}
	if s.Within != "" && m.within == "" {
		task, _ := m.OfTask(s.Within).(*meter)
		task.journaled(s)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps++
}

// Begin implements [agent.Meter].
func (m *meter) Begin(ctx context.Context, model string, input int) (string, error) {
	call := admission.Call{Model: model, Input: input, First: m.isFirst()}
	for _, rule := range m.rules {
		v, err := rule.Begin(ctx, m.t, call)
		if ctx.Err() != nil {
			return "", err
		}
		if err != nil {
			return "", &storeError{err}
		}
		if !v.IsZero() {
			m.Used(nil) // what the rules before have reserved
			if !v.Until.IsZero() && call.First && m.t.Parks {
				return "", &parkError{v}
			}
			return v.Say, nil
		}
	}
	m.begun(model, input)
	return "", nil
}

// isFirst reports whether the model has not answered yet. A task never is: its turn has begun.
func (m *meter) isFirst() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.steps == 0 && m.within == ""
}

// begun notes a call that begins.
func (m *meter) begun(model string, input int) {
	if m.g.opts.Calls == nil {
		return
	}
	u := admission.Underway{
		Turn: cmp.Or(m.of, m.t.ID), Within: m.within, Call: admission.Call{Model: model, Input: input},
		Key: m.t.Key, Owner: m.t.Owner, Job: m.t.Job,
	}
	if m.g.opts.Price != nil {
		u.Cost = m.g.opts.Price(model, input, 0)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	u.Steps = m.steps
	m.call = m.g.opts.Calls.Begin(u)
	m.calls = append(m.calls, m.call)
}

// ended notes that the call has ended.
func (m *meter) ended() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.call != "" {
		m.g.opts.Calls.End(m.call)
		m.call = ""
	}
}

// Used implements [agent.Meter].
func (m *meter) Used(u *sessions.Usage) {
	m.ended()
	var used sessions.Usage
	if u != nil {
		used = *u
	}
	for _, rule := range m.rules {
		rule.Used(m.t, used)
	}
}

// end says that the turn runs no longer. m may be nil.
func (m *meter) end(ctx context.Context) {
	if m == nil {
		return
	}
	calls := m.endAll()
	if len(calls) == 0 || m.counted || ctx.Err() != nil {
		return // it does not run again, or whoever goes on with it must know of the call
	}
	err := m.g.opts.Calls.Leave(ctx, calls)
	if err != nil && ctx.Err() == nil {
		m.g.log(m.t.Key).Warn("a call of the model that has ended may be counted once more", "turn", m.t.ID, "err", err)
	}
}

// endAll is end for the turn and its tasks, without what is noted. It returns their calls.
func (m *meter) endAll() (calls []string) {
	for _, rule := range m.rules {
		rule.End(m.t, m.counted)
	}
	m.ended()
	m.mu.Lock()
	defer m.mu.Unlock()
	calls = m.calls
	for _, task := range m.tasks {
		task.counted = m.counted
		calls = append(calls, task.endAll()...)
	}
	return calls
}
