package agent

import (
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
}

func (h *habits) of(model string) habit {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.models[model]
}

// note learns from an answer.
func (h *habits) note(model string, called, thought bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := habit{calls: called || h.models[model].calls, thinks: thought}
	if h.models[model] == now {
		return
	}
	if h.models == nil {
		h.models = make(map[string]habit)
	}
	h.models[model] = now
}

// reader reads an answer in which text may call a tool: where the model was
// offered some, and its server was never seen to tell calls from text.
func (r *run) reader() output.Reader {
	known := r.a.habits.of(r.model.Name())
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
	rd.Add(m.Content)
	a := rd.End()
	r.a.habits.note(r.model.Name(), len(m.ToolCalls) > 0, a.Lone)
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
