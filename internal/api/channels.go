package api

import "context"

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

func (s *server) channels(context.Context, None) (Page[Channel], error) {
	if s.Channels == nil {
		return Page[Channel]{}, ErrNoDaemon
	}
	return pageOf(s.Channels(), nil)
}
