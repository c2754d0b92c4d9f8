package sqlite

import (
	"context"
	"errors"

	"dragoman/channels"
	"dragoman/sessions"
)

// Dump is part of [sessions.Copies].
func (s *Store) Dump(context.Context, []channels.Key, func(sessions.Record) error) error {
	return errors.ErrUnsupported
}

// Restore is part of [sessions.Copies].
func (s *Store) Restore(context.Context, func() (sessions.Record, error)) error {
	return errors.ErrUnsupported
}
