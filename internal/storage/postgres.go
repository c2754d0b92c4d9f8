//go:build !nopostgres

package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"dragoman/internal/config"
	pg "dragoman/internal/database"
	"dragoman/sessions/engine"
	"dragoman/sessions/exchange"
	"dragoman/sessions/postgres"
)

// checkTime is how long a check waits for the database.
const checkTime = 30 * time.Second

func checkPostgres(ctx context.Context, p Location) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := postgres.Check(ctx, p.cfg.Store.URL.Reveal()); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	return nil
}

// exposed warns if everybody may connect to the database.
func exposed(ctx context.Context, cfg *config.Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	warning, err := postgres.Exposed(ctx, cfg.Store.URL.Reveal())
	if err != nil {
		return "", fmt.Errorf("storage: %w", err)
	}
	return warning, nil
}

// openPostgres opens the store in the database that the configuration names.
func openPostgres(ctx context.Context, p Location, log *slog.Logger) (*engine.Store, error) {
	if p.cfg.Store.URL.IsZero() {
		return nil, errors.New("postgres: store.url is empty in the configuration, or the file or variable that it names is missing")
	}
	o := postgres.Options{Logger: log, MaxConns: p.cfg.Store.MaxConns, Version: p.version, Roles: p.cfg.Roles}
	if p.dir != nil {
		id, err := p.dir.nodeID()
		if err != nil {
			return nil, err
		}
		o.Host = nodeName(p.cfg, id)
		o.Installation = id
		o.Place = p.dir.place()
		o.Configuration = p.cfg.Fingerprint()
	}
	return postgres.Open(ctx, p.cfg.Store.URL.Reveal(), o)
}

// openDatabase opens a part of the configured database that is not the store: files or a
// linked device.
func openDatabase(ctx context.Context, cfg *config.Config, part string, conns int) (*sql.DB, error) {
	return pg.Open(ctx, cfg.Store.URL.Reveal(), part, conns)
}

// ownDatabase opens a part of that database, and ends the access of the process that had
// it. That process gets the error taken.
func ownDatabase(ctx context.Context, cfg *config.Config, part string, taken error) (*sql.DB, error) {
	return pg.Own(ctx, cfg.Store.URL.Reveal(), part, taken)
}

func restoreDatabase(ctx context.Context, old *engine.Store, replace bool) (*restoring, error) {
	there, err := exchange.Count(ctx, old)
	keep, done := !there.Empty(), false
	if err == nil && keep && !replace {
		err = &NotEmptyError{"the database that store.url names"}
	}
	var draft *engine.Store
	if err == nil {
		draft, err = postgres.Draft(ctx, old)
	}
	if err != nil {
		return nil, errors.Join(err, old.Close())
	}
	return &restoring{
		draft: draft,
		putInPlace: func(ctx context.Context) (kept string, err error) {
			kept, err = postgres.Replace(ctx, old, draft, keep)
			done = err == nil
			return kept, err
		},
		end: func(ctx context.Context) error {
			if done {
				return errors.Join(draft.Close(), old.Close())
			}
			return errors.Join(postgres.Discard(ctx, draft), old.Close())
		},
	}, nil
}
