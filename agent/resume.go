package agent

import (
	"cmp"

	"dragoman/sessions"
)

// sayInterrupted answers a call whose outcome nobody knows.
const sayInterrupted = "interrupted: it may or may not have happened"

// replay brings r to where the journal of an earlier run ends. Calls of the
// newest model step that are still open are left to runCalls.
func (r *run) replay(steps []sessions.Step) {
	for _, s := range steps {
		switch {
		case s.Kind == sessions.StepToolStart:
			r.started[s.CallID] = true
		case s.Message == nil:
			// A preview's id; nothing that the model knows of.
		case s.Kind == sessions.StepToolDone:
			m := *s.Message
			m.Turn = cmp.Or(m.Turn, r.t.ID)
			r.done[s.CallID] = m
		case s.Kind == sessions.StepModel:
			r.closeGroup()
			m := *s.Message
			for _, c := range m.ToolCalls {
				r.ids[c.ID] = true // as its steps name it
			}
			r.add(m)
			r.steps++
			r.count(m.Usage)
		case s.Kind == sessions.StepSteer || s.Kind == sessions.StepNote:
			r.closeGroup()
			r.add(*s.Message)
		}
	}
}

// closeGroup answers the open calls with what the journal has. Something was
// journaled after them, so they all have a result, or the journal has a gap.
func (r *run) closeGroup() {
	for _, c := range r.openCalls() {
		m, found := r.done[c.ID]
		if !found {
			m = r.result(c, sayInterrupted)
			m.Synthetic = true
		}
		r.all = append(r.all, m)
	}
}

// openCalls are the calls that the last message makes, if it makes any.
func (r *run) openCalls() []sessions.ToolCall {
	if len(r.all) == r.fresh {
		return nil
	}
	return r.last().ToolCalls
}

// count adds what one model call took.
func (r *run) count(u *sessions.Usage) {
	if u != nil {
		r.usage.Input += u.Input
		r.usage.Output += u.Output
		r.usage.Cached += u.Cached
	}
}
