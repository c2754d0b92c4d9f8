package api

import (
	"context"
	"net/http"

	"dragoman/internal/people"
	"dragoman/internal/respond"
)

// Channel is a configured channel with its state.
type Channel struct {
	Name string `json:"name"` // as the configuration calls it
	Type string `json:"type"`
	// Linkable: its account lives on a phone. Linked: it has one.
	Linkable bool `json:"linkable"`
	Linked   bool `json:"linked"`
	// Node is the node that runs it; "" if every node does or there is only one.
	Node string `json:"node,omitempty"`
	ChannelStatus
}

// errChannels refuses the list, which says what troubles the operator has.
var errChannels = &respond.Refusal{
	Status: http.StatusForbidden, Code: respond.CodeScope, Sentence: "The channels are shown to whoever runs Dragoman and shows a token.",
}

func (s *server) channels(ctx context.Context, _ None) (Page[Channel], error) {
	who := caller(ctx)
	isTheirs := who.IsOperator() && !who.AtOpenPort()
	if !isTheirs && !who.May(people.Read) {
		return Page[Channel]{}, errChannels
	}
	if s.Channels == nil {
		return Page[Channel]{}, ErrNoDaemon
	}
	return pageOf(s.Channels(), nil)
}
