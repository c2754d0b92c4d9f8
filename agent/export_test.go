package agent

import "dragoman/sessions"

// SetFit replaces what makes a's requests fit, by something that is faulty.
func (a *Agent) SetFit(fit func(msgs []sessions.Message, users, budget int) (view, listed []sessions.Message)) {
	a.fit = fit
}

// SetRepair replaces what makes the messages of a's requests for summaries
// well-formed, by something that is faulty.
func (a *Agent) SetRepair(repair func(msgs []sessions.Message) []sessions.Message) { a.repair = repair }
