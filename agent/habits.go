package agent

import (
	"cmp"
	"sync"

	"dragoman/agent/output"
)

// TextToolsOff is the value of [Options.TextTools] with which no text is a call.
const TextToolsOff = "off"

// habits are what is known of how models write, by their names. They are
// forgotten with the process, and safe for concurrent use.
type habits struct {
	mu     sync.Mutex
	models map[string]habit
}

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
	a.habits.mu.Lock()
	now := a.habits.models[model]
	a.habits.mu.Unlock()
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
	h := &a.habits
	h.mu.Lock()
	if h.models == nil {
		h.models = make(map[string]habit)
	}
	h.models[model] = now
	h.mu.Unlock()
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

func hasSpec(specs []Spec, name string) bool {
	for i := range specs {
		if specs[i].Name == name {
			return true
		}
	}
	return false
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
