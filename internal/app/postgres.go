//go:build !nopostgres

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// checkTime is how long a check waits for the database.
const checkTime = 30 * time.Second

// checkPostgres tells why the database cannot be used. It changes nothing.
func checkPostgres(ctx context.Context, p StoreLocation) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := postgres.Check(ctx, p.db.url.Reveal()); err != nil {
		return fmt.Errorf("app: %w", err)
	}
	return nil
}

// openPostgres opens the store in the database that the configuration names.
func openPostgres(ctx context.Context, p StoreLocation, log *slog.Logger) (sessions.Store, error) {
	if p.db.url.Empty() {
		return nil, errors.New("postgres: store.url is empty in the configuration, or the file or variable that it names is missing")
	}
	return postgres.Open(ctx, p.db.url.Reveal(), postgres.Options{Logger: log, MaxConns: p.db.maxConns, Host: p.db.host, Version: p.db.version, Roles: p.db.roles})
}
