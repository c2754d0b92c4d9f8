//go:build nopostgres

package storage

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"

	"dragoman/internal/config"
	"dragoman/sessions/engine"
)

// openPostgres is only called by a migration: the check of the configuration refuses a
// daemon with this store.
func openPostgres(context.Context, Location, *slog.Logger) (*engine.Store, error) {
	return nil, errWithout
}

func checkPostgres(context.Context, Location) error { return errWithout }

func exposed(context.Context, *config.Config) (string, error) { return "", errWithout }

func restoreDatabase(context.Context, *engine.Store, bool) (*restoring, error) {
	return nil, errWithout
}

var errWithout = errors.New("this program was built without PostgreSQL (-tags nopostgres): use the ordinary build")

func openDatabase(context.Context, *config.Config, string, int) (*sql.DB, error) {
	return nil, errWithout
}

func ownDatabase(ctx context.Context, cfg *config.Config, part string, _ error) (*sql.DB, error) {
	return openDatabase(ctx, cfg, part, 1)
}
