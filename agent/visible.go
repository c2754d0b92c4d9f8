package agent

import (
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// visible returns msgs as requests to this model show them if there is room.
func (a *Agent) visible(name string, msgs []sessions.Message) []sessions.Message {
	return window.Stamped(window.Repair(a.withoutForeign(name, msgs)), a.opts.Zone)
}

// withoutForeign returns msgs without the data that other models' providers attached.
// It is not sent to this model, so it must not be counted.
func (a *Agent) withoutForeign(name string, msgs []sessions.Message) []sessions.Message {
	names := []string{name}
	called, _ := a.modelNamed(name)
	if m, ok := inside[FallbackModel](called); ok {
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

// promptWithStamps adds to a system prompt what the time stamps before messages are.
// It never changes, so that providers can cache it.
func (a *Agent) promptWithStamps(prompt string) string {
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
