package file

import (
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// message is a message as it stands in documents and archives: with its calls
// as the models' interfaces have them, which is what readers of such files and
// other programs know.
type message struct {
	sessions.Message
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// toolCall is a call in the form of OpenAI's interface.
type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func newMessage(m sessions.Message) message {
	w := message{Message: m}
	w.Message.ToolCalls = nil
	for _, c := range m.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, toolCall{ID: c.ID, Type: "function", Function: toolFunction{c.Name, c.Arguments}})
	}
	return w
}

// plain is the message that w tells of.
func (w message) plain() sessions.Message {
	m := w.Message
	m.ToolCalls = nil
	for _, c := range w.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	// Without the indents of the document.
	m.Extra = rules.Fields(m.Extra)
	if m.Attached != nil {
		m.Attached = &sessions.Attached{By: m.Attached.By, Data: rules.JSON(m.Attached.Data)}
	}
	return m
}

// step is a step of a journal, as it stands in documents.
type step struct {
	sessions.Step
	Message *message `json:"message,omitempty"`
}

func newStep(s sessions.Step) step {
	w := step{Step: s}
	if s.Message != nil {
		m := newMessage(*s.Message)
		w.Step.Message, w.Message = nil, &m
	}
	return w
}

func (w step) plain() sessions.Step {
	s := w.Step
	s.Message = nil
	if w.Message != nil {
		m := w.Message.plain()
		s.Message = &m
	}
	return s
}

// mapped is f of each element, nil for none.
func mapped[A, B any](list []A, f func(A) B) []B {
	var all []B
	for _, x := range list {
		all = append(all, f(x))
	}
	return all
}

func mappedJournals[A, B any](journals map[string][]A, f func(A) B) map[string][]B {
	all := make(map[string][]B, len(journals))
	for turn, steps := range journals {
		all[turn] = mapped(steps, f)
	}
	return all
}
