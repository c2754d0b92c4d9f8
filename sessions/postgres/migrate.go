package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"dragoman/sessions"
	"dragoman/sessions/engine"
)

var (
	//go:embed migrations/001.sql
	tables string
	//go:embed migrations/002.sql
	aboutNodes string
	//go:embed migrations/003.sql
	aboutLeases string
	//go:embed migrations/004.sql
	aboutLabels string
	//go:embed migrations/later.sql
	later string
)

// migrations lead from each version of the tables to the next.
var migrations = []string{tables, aboutNodes, aboutLeases, aboutLabels}

// laterNames are the tables and indexes that later makes, and laterColumns those of nodes.
var laterNames = []string{"inbox_accepted", "outbox_created", "notes", "notes_due", "notes_owner", "counts", "counts_owner", "additions", "note_key"}

var laterColumns = []string{"sealed", "installation", "place", "configuration"}

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

// makeSchema makes the schema, unless it is there: a careful administrator makes it, and
// then the right to make schemas, which IF NOT EXISTS asks for too, is not needed.
func makeSchema(ctx context.Context, t pgx.Tx, schema string) error {
	there, err := value[bool](ctx, t, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, schema)
	if err == nil && !there {
		_, err = t.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+quoted(schema))
	}
	return err
}

// makeTables brings our tables up to date.
func makeTables(ctx context.Context, t pgx.Tx, schema string) error {
	if err := makeSchema(ctx, t, schema); err != nil {
		return err
	}
	if _, err := t.Exec(ctx, `CREATE TABLE IF NOT EXISTS versions (version integer PRIMARY KEY)`); err != nil {
		return err
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
	_, err = t.Conn().PgConn().Exec(ctx, later).ReadAll()
	return err
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
	complete, err := value[bool](ctx, b.pool, `SELECT bool_and(to_regclass(name) IS NOT NULL)
		AND (SELECT count(*) = cardinality($2::text[]) FROM pg_attribute WHERE attrelid = to_regclass('nodes') AND attname = ANY($2::text[])) FROM unnest($1::text[]) name`, laterNames, laterColumns)
	if err != nil || !complete {
		return false, err
	}
	got, err := rivers.Validate(ctx, nil)
	return err == nil && got.OK, err
}

// The schema of a draft is named after the store's, with draftSuffix. The replaced
// schema is renamed with keptInfix and the time.
const (
	draftSuffix = "_restoring"
	keptInfix   = "_before_restore_"
)

// backendOf is the backend of a store that [Open] or [Draft] returned.
func backendOf(s *engine.Store) *backend { return s.Backend().(*backend) }

// Draft opens an empty store that is meant to replace s, in another schema of the same
// database. It removes the leftovers of an earlier draft.
func Draft(ctx context.Context, s *engine.Store) (*engine.Store, error) {
	b := backendOf(s)
	schema := b.schema + draftSuffix
	if _, err := b.pool.Exec(ctx, `DROP SCHEMA IF EXISTS `+quoted(schema)+` CASCADE`); err != nil {
		return nil, fmt.Errorf("postgres: remove the leftovers of an earlier restore: %w", b.explain(err))
	}
	return Open(ctx, b.pool.Config().ConnString(), Options{Now: b.Now, Logger: b.Logger, schema: schema})
}

// Replace replaces s by its draft in one transaction; s must not be used afterwards.
// If keep is set, the tables of s stay in the schema kept.
func Replace(ctx context.Context, s, draft *engine.Store, keep bool) (kept string, err error) {
	b, d := backendOf(s), backendOf(draft)
	err = pgx.BeginFunc(ctx, d.pool, func(t pgx.Tx) error {
		old := quoted(b.schema)
		busy, err := value[bool](ctx, t, `SELECT EXISTS (SELECT 1 FROM `+old+`.nodes WHERE expires > clock_timestamp())`)
		if err == nil && busy {
			err = errors.New("a daemon has started to work on the database")
		}
		makeRoom := `DROP SCHEMA ` + old + ` CASCADE`
		if keep {
			kept = b.schema + keptInfix + time.Now().UTC().Format("20060102_150405")
			makeRoom = `ALTER SCHEMA ` + old + ` RENAME TO ` + quoted(kept)
		}
		for _, query := range []string{makeRoom, `ALTER SCHEMA ` + quoted(d.schema) + ` RENAME TO ` + old} {
			if err == nil {
				_, err = t.Exec(ctx, query)
			}
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("postgres: put the restored tables in place: %w", b.explain(err))
	}
	return kept, nil
}

// Discard deletes a draft that did not replace its store, and closes it.
func Discard(ctx context.Context, draft *engine.Store) error {
	b := backendOf(draft)
	_, err := b.pool.Exec(ctx, `DROP SCHEMA IF EXISTS `+quoted(b.schema)+` CASCADE`)
	return errors.Join(err, draft.Close())
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
