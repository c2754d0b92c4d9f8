package agent

import (
	"cmp"

	"dragoman/agent/output"
)

// TextToolsOff is the value of [Options.TextTools] with which no text is a call.
const TextToolsOff = "off"

// habit is what is known of how a model writes.
type habit struct {
	// calls: its server tells its calls from text, so that no text is one.
	calls bool
	// thinks: its last answer began with thoughts that only their end marked.
	thinks bool
	// known: an answer of it has ended, so that thinks is more than a guess.
	known bool
}

// habit is what is known of how the model of that name writes.
func (a *Agent) habit(model string) habit {
	now, _ := a.habits.get(model)
	if !now.known && a.opts.Begins != nil {
		now.thinks, now.known = a.opts.Begins(model)
	}
	return now
}

// noteHabit learns from an answer of the model of that name.
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
	if a.opts.OnBegins != nil && now.known && (!before.known || now.thinks != before.thinks) {
		a.opts.OnBegins(model, now.thinks)
	}
}

// answerer is the name of the model that gives the answer.
func (r *run) answerer() string { return cmp.Or(r.asked.Model, r.model.Name()) }

// reader reads an answer in which text may call a tool: where the model was
// offered some, and its server was never seen to tell calls from text.
func (r *run) reader() output.Reader {
	known := r.a.habit(r.answerer())
	rd := output.Reader{Thinks: known.thinks}
	if len(r.offer.specs) > 0 && !known.calls && r.a.opts.TextTools != TextToolsOff {
		rd.Tool = r.offer.has
	}
	return rd
}

// readAnswer makes of an answer what is to be kept of it: thoughts and
// marks of templates are out of its text, and calls that were written as text
// are calls.
func (r *run) readAnswer(resp *Response) {
	m := &resp.Message
	rd := r.reader()
	if len(m.ToolCalls) > 0 {
		rd.Tool = nil
	}
	thinks := rd.Thinks
	rd.Add(m.Content)
	a := rd.End()
	cut := resp.Finish == finishLength && !a.Lone
	if cut && thinks && !resp.Thought {
		a = output.Answer{Thought: true} // the end of its thoughts did not come
	}
	r.a.noteHabit(r.answerer(), habit{calls: len(m.ToolCalls) > 0, thinks: a.Lone, known: !cut})
	m.Content = a.Text
	resp.Thought = resp.Thought || a.Thought
	if len(a.Calls) > 0 {
		m.ToolCalls = a.Calls
	}
	if resp.Finish == finishLength {
		m.ToolCalls = nil // the last one may lack its end
	}
	if len(m.ToolCalls) > mostCalls {
		m.ToolCalls, m.Attached = m.ToolCalls[:mostCalls], nil
	}
}
