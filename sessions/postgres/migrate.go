package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"dragoman/sessions"
)

var (
	//go:embed migrations/001.sql
	tables string
	//go:embed migrations/002.sql
	aboutNodes string
	//go:embed migrations/003.sql
	aboutLeases string
)

// migrations lead from each version of the tables to the next.
var migrations = []string{tables, aboutNodes, aboutLeases}

// migrate brings our tables and River's up to date. Nodes that start at the same time
// wait for each other: a separate transaction holds a lock meanwhile, because River
// uses a transaction for each of its steps.
func (b *backend) migrate(ctx context.Context) error {
	rivers, err := b.riverMigrator()
	if err != nil {
		return err
	}
	if done, err := b.migrated(ctx, rivers); done || err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, b.pool, func(t pgx.Tx) error {
		for _, query := range []string{noIdleTimeout, fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d, hashtext('migrate'))`, lockClass)} {
			if _, err := t.Exec(ctx, query); err != nil {
				return err
			}
		}
		if err := pgx.BeginFunc(ctx, b.pool, func(t pgx.Tx) error { return makeTables(ctx, t, b.schema) }); err != nil {
			return err
		}
		_, err := rivers.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	})
}

func (b *backend) riverMigrator() (*rivermigrate.Migrator[pgx.Tx], error) {
	return rivermigrate.New(riverpgxv5.New(b.pool), &rivermigrate.Config{Logger: silent})
}

// makeTables brings our tables up to date.
func makeTables(ctx context.Context, t pgx.Tx, schema string) error {
	for _, query := range []string{
		`CREATE SCHEMA IF NOT EXISTS ` + quoted(schema),
		`CREATE TABLE IF NOT EXISTS versions (version integer PRIMARY KEY)`,
	} {
		if _, err := t.Exec(ctx, query); err != nil {
			return err
		}
	}
	version, err := value[int](ctx, t, `SELECT coalesce(max(version), 0) FROM versions`)
	if err != nil {
		return err
	}
	for i := version; i < len(migrations); i++ {
		if _, err := t.Conn().PgConn().Exec(ctx, migrations[i]).ReadAll(); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `INSERT INTO versions (version) VALUES ($1)`, i+1); err != nil {
			return err
		}
	}
	return nil
}

// migrated reports whether the tables are up to date. It refuses those of a newer
// version.
func (b *backend) migrated(ctx context.Context, rivers *rivermigrate.Migrator[pgx.Tx]) (bool, error) {
	version, err := value[int](ctx, b.pool, `SELECT coalesce(max(version), 0) FROM versions`)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P01" { // no such table
		return false, nil
	}
	if err != nil || version < len(migrations) {
		return false, err
	}
	if version > len(migrations) {
		return false, &sessions.NewerError{Path: "the tables in PostgreSQL", Has: version, Knows: len(migrations)}
	}
	got, err := rivers.Validate(ctx, nil)
	return err == nil && got.OK, err
}
