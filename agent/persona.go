package agent

import (
	"slices"

	"dragoman/sessions"
)

// Persona is how the agent answers in some conversations. It must not be changed.
type Persona struct {
	Name string
	// System replaces Options.System; if it is blank, that counts.
	System string
	// Model is the one that its conversations should have. The agent itself goes by their
	// settings.
	Model string
	// Tools are the names of the tools that it may use. Nil: all that the agent has.
	Tools []string
	// OwnMemory: its tools remember in a memory of its own ([Call.Own]).
	OwnMemory bool
}

// may reports whether p, which may be nil, may use the agent's tool of that name.
func (p *Persona) may(tool string) bool {
	return p == nil || p.Tools == nil || slices.Contains(p.Tools, tool)
}

// personaOf is the persona of a conversation with these settings, or nil.
func (a *Agent) personaOf(s *sessions.Settings) *Persona {
	if s.Agent == "" || a.opts.Personas == nil {
		return nil
	}
	return a.opts.Personas(s.Agent)
}
