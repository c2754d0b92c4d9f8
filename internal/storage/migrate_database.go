package storage

import (
	"context"
	"errors"
	"fmt"

	"dragoman/internal/config"
	"dragoman/internal/media"
	"dragoman/sessions/engine"
	"dragoman/sessions/exchange"
)

// openIdle opens a store, and refuses one that several daemons can share if one of them
// is running.
func (p Location) openIdle(ctx context.Context) (*engine.Store, error) {
	store, err := p.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	if shared, ok := store.Backend().(interface {
		Busy(ctx context.Context) (bool, error)
	}); ok {
		busy, err := shared.Busy(ctx)
		if err == nil && busy {
			err = errors.New("a daemon is using the database; stop all daemons first (one that crashed still counts for a few seconds)")
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("storage: %w", err), store.Close())
		}
	}
	return store, nil
}

// copyIntoDatabase copies a store into an empty database, completely or not at all, and
// compares the two.
func copyIntoDatabase(ctx context.Context, source exchange.Source, to Location, tell func(exchange.Progress)) (counts exchange.Counts, err error) {
	target, err := to.openIdle(ctx)
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	there, err := exchange.Count(ctx, target)
	if err != nil {
		return counts, fmt.Errorf("storage: look into the database: %w", err)
	}
	if !there.Empty() {
		return counts, fmt.Errorf("storage: the database is not empty: it holds %s; stores are not merged. Name another database in store.url", there)
	}
	counts, err = exchange.Move(ctx, source, target, tell)
	if different := (*exchange.Difference)(nil); errors.As(err, &different) {
		err = fmt.Errorf("storage: the copy in the database is NOT equal; do not use it, and recreate the database before you try again: %w", err)
	}
	return counts, err
}

// withDatabase returns cfg for a store in the database. The configuration may already
// name the new type of store.
func withDatabase(cfg *config.Config) *config.Config {
	if cfg.Store.Type == postgresType {
		return cfg
	}
	moved := *cfg
	moved.Store.Type, moved.Media.Type = postgresType, config.MediaPostgres
	return &moved
}

// filesFromDatabase copies files of messages from shared storage into the state
// directory.
func filesFromDatabase(ctx context.Context, cfg *config.Config, who Caller) (err error) {
	if cfg.Media.Type == config.MediaLocal {
		return nil
	}
	state := &Dir{Path: cfg.StateDir}
	from, err := OpenMedia(ctx, cfg, state, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := media.Open(state.File(mediaName), media.Options{})
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	n, err := from.Copy(ctx, to)
	if n > 0 {
		who.Say("%d files of messages were copied out of the database", n)
	}
	return errors.Join(err, to.Close())
}
