package api

import (
	"context"
	"fmt"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Reads decides whose conversations somebody may read. A scope never does that: a token
// with the scope admin does not open the private talks of others.
type Reads interface {
	// MayRead reports whether who may read what was said in k.
	MayRead(ctx context.Context, who people.Principal, k channels.Key) (bool, error)
	// IsOwn reports whether k is a conversation of who.
	IsOwn(ctx context.Context, who people.Principal, k channels.Key) (bool, error)
}

// mayRead reports whether the caller may read what was said in k. Whatever shows words of
// a conversation, or a name that somebody gave it, asks here.
func (s *server) mayRead(ctx context.Context, k channels.Key) (bool, error) {
	who, known := people.From(ctx)
	switch {
	case !known:
		return false, nil
	case s.Reads != nil:
		return s.Reads.MayRead(ctx, who, k)
	}
	return AtSocket(ctx), nil
}

// isOwn reports whether k is a conversation of the caller.
func (s *server) isOwn(ctx context.Context, k channels.Key) (bool, error) {
	who, known := people.From(ctx)
	if !known || s.Reads == nil {
		return false, nil
	}
	return s.Reads.IsOwn(ctx, who, k)
}

// readable returns ErrNotFound if the caller may not read k: somebody else's
// conversation looks like none.
func (s *server) readable(ctx context.Context, k channels.Key) error {
	may, err := s.mayRead(ctx, k)
	if err != nil {
		return err
	}
	if !may {
		return fmt.Errorf("api: read %s: %w", k, sessions.ErrNotFound)
	}
	return nil
}
