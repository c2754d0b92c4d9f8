package api

import (
	"context"
	"errors"

	"dragoman/channels"
	"dragoman/sessions"
)

// AgentChoice is a persona that may answer in a conversation.
type AgentChoice struct {
	Name string `json:"name"` // dragoman is the one of the section agent
	// Model is the one that it names; "": as elsewhere.
	Model string `json:"model,omitempty"`
	// Answers says that it answers there now.
	Answers bool `json:"answers,omitempty"`
}

// Agents returns who may answer in k, in which chosen was chosen, the default first.
type Agents func(k channels.Key, chosen string) []AgentChoice

func (s *server) agents(ctx context.Context, a About) (Page[AgentChoice], error) {
	if s.Agents == nil {
		return Page[AgentChoice]{}, ErrNoDaemon
	}
	if _, err := s.read(ctx, a.Key); err != nil {
		return Page[AgentChoice]{}, err
	}
	c, err := s.Store.Conversation(ctx, a.Key)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return Page[AgentChoice]{}, err
	}
	return pageOf(s.Agents(a.Key, c.Settings.Agent), nil)
}
