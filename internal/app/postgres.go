//go:build !nopostgres

package app

import (
	"context"
	"errors"
	"log/slog"

	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// openPostgres opens the store in the database that the configuration names.
func openPostgres(ctx context.Context, p StoreLocation, log *slog.Logger) (sessions.Store, error) {
	if p.db.url.Empty() {
		return nil, errors.New("postgres: store.url is empty in the configuration, or the file or variable that it names is missing")
	}
	return postgres.Open(ctx, p.db.url.Reveal(), postgres.Options{Logger: log, MaxConns: p.db.maxConns, Host: p.db.host, Version: p.db.version, Roles: p.db.roles})
}
