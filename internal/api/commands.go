package api

import "context"

// Command is a word that does something in a conversation, like /stop.
type Command struct {
	// Name is without the slash, and Help a line about what it does.
	Name string `json:"name"`
	Help string `json:"help"`
}

func (s *server) commands(ctx context.Context, _ None) (Page[Command], error) {
	if s.Commands == nil {
		return Page[Command]{}, ErrNoDaemon
	}
	me, err := s.me(ctx, None{})
	if err != nil || me.Home.IsZero() {
		return pageOf[Command](nil, err)
	}
	return pageOf(s.Commands(me.Home), nil)
}
