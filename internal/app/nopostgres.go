//go:build nopostgres

package app

import (
	"context"
	"errors"
	"log/slog"

	"dragoman/sessions"
)

// openPostgres is reached only by a migration: the configuration's check lets no
// daemon come here.
func openPostgres(context.Context, StoreLocation, *slog.Logger) (sessions.Store, error) {
	return nil, errWithout
}

func checkPostgres(context.Context, StoreLocation) error { return errWithout }

var errWithout = errors.New("this program was built without PostgreSQL (-tags nopostgres): use the ordinary build")
