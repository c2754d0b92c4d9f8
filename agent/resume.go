package agent

import (
	"cmp"

	"dragoman/sessions"
)

// sayInterrupted answers a call whose outcome is unknown.
const sayInterrupted = "interrupted: it may or may not have happened"

// replay brings r to where the journal of an earlier run ends. Open calls of the last
// model step are left to runCalls.
func (r *run) replay(steps []sessions.Step) {
	for _, s := range steps {
		switch {
		case s.Within != "":
			// A task's: its call replays it.
		case s.Kind == sessions.StepToolStart:
			r.started[s.CallID] = true
		case s.Kind == sessions.StepToolAsk:
			r.replayForm(s)
		case s.Message == nil:
			// The id of a preview; the model does not know of it.
		case s.Kind == sessions.StepToolDone:
			m := *s.Message
			m.Turn = cmp.Or(m.Turn, r.t.ID)
			r.done[s.CallID] = m
			r.sending.Add(int64(len(m.Attachments)))
		case s.Kind == sessions.StepModel:
			r.closeGroup()
			m := *s.Message
			for _, c := range m.ToolCalls {
				r.ids[c.ID] = true // the steps of the journal use this id
			}
			r.appendMessage(m)
			r.steps++
			r.taint = sessions.TaintOf(s.Taint...)
			r.everTaint.Add(s.Taint...)
		case s.Kind == sessions.StepSteer || s.Kind == sessions.StepNote:
			r.closeGroup()
			r.appendMessage(*s.Message)
		}
	}
}

// closeGroup answers the open calls from the journal. Something was journaled after
// them, so each has a result unless the journal has a gap.
func (r *run) closeGroup() {
	for _, c := range r.openCalls() {
		m, found := r.done[c.ID]
		if !found {
			m = r.toolResult(c, sayInterrupted)
			m.Synthetic = true
		}
		r.all = append(r.all, m)
	}
}

func (r *run) openCalls() []sessions.ToolCall {
	if len(r.all) == r.addedAt {
		return nil
	}
	return r.last().ToolCalls
}
