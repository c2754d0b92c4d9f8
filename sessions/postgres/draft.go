package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/sessions/engine"
)

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
