package gateway

import (
	"dragoman/agent"
	"dragoman/sessions"
)

// TurnKind is who a turn answers, as far as rules for tools go.
type TurnKind string

// The kinds of turns.
const (
	TurnPrivate TurnKind = "private" // one person
	TurnGroup   TurnKind = "group"   // several, who read it
	TurnJob     TurnKind = "job"     // nobody who is there
	TurnProgram TurnKind = "program" // a program that keeps the conversation: Given
)

// permit is what the turn may use, with those settings. A job may use what may be used in the
// chat that it tells.
func (r *run) permit(s sessions.Settings) *agent.Permit {
	if r.g.opts.Permit == nil {
		return nil
	}
	kind := TurnGroup
	chat := r.claim.Key
	switch {
	case r.job != nil:
		kind = TurnJob
		chat = r.job.target
	case r.newest().Private:
		kind = TurnPrivate
	}
	return r.g.opts.Permit(kind, chat, s.Agent)
}
