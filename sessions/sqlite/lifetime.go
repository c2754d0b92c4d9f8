package sqlite

import (
	"context"
	"errors"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Expire is part of [sessions.Lifetime].
func (s *Store) Expire(context.Context, time.Time, int) ([]channels.Key, error) {
	return nil, errors.ErrUnsupported
}

// Erase is part of [sessions.Lifetime].
func (s *Store) Erase(context.Context, sessions.Erasure) (sessions.Erased, error) {
	return sessions.Erased{}, errors.ErrUnsupported
}

// Join is part of [sessions.Lifetime].
func (s *Store) Join(context.Context, channels.Key, channels.Key) error {
	return errors.ErrUnsupported
}

// Dump is part of [sessions.Copies].
func (s *Store) Dump(context.Context, []channels.Key, func(sessions.Record) error) error {
	return errors.ErrUnsupported
}

// Restore is part of [sessions.Copies].
func (s *Store) Restore(context.Context, func() (sessions.Record, error)) error {
	return errors.ErrUnsupported
}
