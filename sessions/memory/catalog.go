package memory

import (
	"context"
	"errors"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Find is part of [sessions.Catalog].
func (s *Store) Find(context.Context, sessions.Query) ([]sessions.Conversation, error) {
	return nil, errors.ErrUnsupported
}

// Conversation is part of [sessions.Catalog].
func (s *Store) Conversation(context.Context, channels.Key) (sessions.Conversation, error) {
	return sessions.Conversation{}, errors.ErrUnsupported
}

// Configure is part of [sessions.Catalog].
func (s *Store) Configure(context.Context, channels.Key, func(*sessions.Settings)) error {
	return errors.ErrUnsupported
}

// Generations is part of [sessions.Catalog].
func (s *Store) Generations(context.Context, channels.Key) ([]sessions.Generation, error) {
	return nil, errors.ErrUnsupported
}

// SearchAll is part of [sessions.Catalog].
func (s *Store) SearchAll(context.Context, string, int) ([]sessions.Found, error) {
	return nil, errors.ErrUnsupported
}

// Days is part of [sessions.Catalog].
func (s *Store) Days(context.Context, time.Time, time.Time) ([]sessions.DayCount, error) {
	return nil, errors.ErrUnsupported
}

// Top is part of [sessions.Catalog].
func (s *Store) Top(context.Context, int) ([]sessions.Conversation, error) {
	return nil, errors.ErrUnsupported
}

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
