package file

import (
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// message is a message in a document or archive.
type message struct {
	sessions.Message
	ToolCalls []rules.Call `json:"tool_calls,omitempty"`
}

func encodeMessage(m sessions.Message) message {
	w := message{m, rules.Calls(m.ToolCalls)}
	w.Message.ToolCalls = nil
	return w
}

func (w message) decode() sessions.Message {
	m := w.Message
	m.ToolCalls = nil
	for _, c := range w.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	// The document indented these.
	m.Extra = rules.Fields(m.Extra)
	if m.Attached != nil {
		m.Attached = &sessions.Attached{By: m.Attached.By, Data: rules.JSON(m.Attached.Data)}
	}
	return m
}

// step is a step of a journal in a document.
type step struct {
	sessions.Step
	Message *message `json:"message,omitempty"`
}

func encodeStep(s sessions.Step) step {
	w := step{Step: s}
	if s.Message != nil {
		m := encodeMessage(*s.Message)
		w.Step.Message, w.Message = nil, &m
	}
	return w
}

func (w step) decode() sessions.Step {
	s := w.Step
	s.Message = nil
	if w.Message != nil {
		m := w.Message.decode()
		s.Message = &m
	}
	return s
}

// mapped returns f of each element, nil for none.
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
