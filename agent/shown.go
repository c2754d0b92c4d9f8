package agent

import (
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// shown is msgs as requests to the model of that name show them, before anything
// is left out for want of room.
func (a *Agent) shown(name string, msgs []sessions.Message) []sessions.Message {
	return window.Stamped(window.Repair(a.without(name, msgs)), a.opts.Zone)
}

// without returns msgs without what the providers of other models attached: the
// model of that name does not get it, so it takes no room.
func (a *Agent) without(name string, msgs []sessions.Message) []sessions.Message {
	names := []string{name}
	called, _ := a.called(name)
	if m, ok := inside[Several](called); ok {
		names = m.Names()
	}
	foreign := func(m sessions.Message) bool {
		return m.Attached != nil && !slices.Contains(names, m.Attached.By.Model)
	}
	if !slices.ContainsFunc(msgs, foreign) {
		return msgs
	}
	out := slices.Clone(msgs)
	for i := range out {
		if foreign(out[i]) {
			out[i].Attached = nil
		}
	}
	return out
}

// stamping is a system prompt that explains the lines which say when messages
// were written. It is constant, as providers cache what does not change.
func (a *Agent) stamping(prompt string) string {
	if a.opts.Zone == nil {
		return prompt
	}
	in := ""
	if name := a.opts.Zone.String(); name != "Local" {
		in = " (time zone " + name + ")"
	}
	return strings.TrimSpace(prompt + "\n\nThe line in square brackets before a message says when it was written" + in +
		". Dragoman adds it; never begin an answer with such a line.")
}
