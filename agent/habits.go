package agent

import (
	"cmp"

	"dragoman/agent/output"
)

// TextToolsOff is the value of [Options.TextTools] that never takes text for a call.
const TextToolsOff = "off"

// habit is how a model writes, as far as it is known.
type habit struct {
	// calls: its server reports its tool calls, so no text is one.
	calls bool
	// thinks: its last answer began with thoughts that have an end mark only.
	thinks bool
	// known: thinks was observed on a complete answer.
	known bool
}

func (a *Agent) habit(model string) habit {
	now, _ := a.habits.get(model)
	if !now.known && a.opts.UnmarkedThoughts != nil {
		now.thinks, now.known = a.opts.UnmarkedThoughts(model)
	}
	return now
}

func (a *Agent) noteHabit(model string, now habit) {
	before := a.habit(model)
	now.calls = now.calls || before.calls
	if !now.known {
		now.thinks, now.known = before.thinks, before.known
	}
	if now == before {
		return
	}
	a.habits.set(model, now)
	if a.opts.OnUnmarkedThoughts != nil && now.known && (!before.known || now.thinks != before.thinks) {
		a.opts.OnUnmarkedThoughts(model, now.thinks)
	}
}

func (r *run) answerer() string { return cmp.Or(r.pin.Model, r.model.Name()) }

// reader returns a reader for the model's answer. It takes text for calls if the model
// was offered tools and its server was never seen to report calls.
func (r *run) reader() output.Reader {
	known := r.a.habit(r.answerer())
	rd := output.Reader{ExpectThoughts: known.thinks}
	if len(r.offer.specs) > 0 && !known.calls && r.a.opts.TextTools != TextToolsOff {
		rd.Tool = r.offer.has
	}
	return rd
}

// readAnswer cleans resp: thoughts and template marks go, and calls that were written
// as text become calls.
func (r *run) readAnswer(resp *Response) {
	m := &resp.Message
	rd := r.reader()
	if len(m.ToolCalls) > 0 {
		rd.Tool = nil
	}
	thinks := rd.ExpectThoughts
	rd.Add(m.Content)
	a := rd.End()
	cut := resp.Finish == finishLength && !a.UnmarkedThoughts
	if cut && thinks && !resp.Thought {
		a = output.Answer{Thought: true} // its thoughts were cut before their end mark
	}
	r.a.noteHabit(r.answerer(), habit{calls: len(m.ToolCalls) > 0, thinks: a.UnmarkedThoughts, known: !cut})
	m.Content = a.Text
	resp.Thought = resp.Thought || a.Thought
	if len(a.Calls) > 0 {
		m.ToolCalls = a.Calls
	}
	if resp.Finish == finishLength {
		m.ToolCalls = nil // the last call may be incomplete
	}
	if len(m.ToolCalls) > keptCalls {
		m.ToolCalls, m.Attached = m.ToolCalls[:keptCalls], nil
	}
	m.ToolCalls = r.offer.mendCalls(m.ToolCalls)
}
