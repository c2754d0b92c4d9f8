package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The schema of a draft is named after the store's, with draftSuffix. The replaced
// schema is renamed with keptInfix and the time.
const (
	draftSuffix = "_restoring"
	keptInfix   = "_before_restore_"
)

// Draft opens an empty store that is meant to replace s, in another schema of the same
// database. It removes the leftovers of an earlier draft.
func (s *Store) Draft(ctx context.Context) (*Store, error) {
	schema := s.b.schema + draftSuffix
	if _, err := s.b.pool.Exec(ctx, `DROP SCHEMA IF EXISTS `+quoted(schema)+` CASCADE`); err != nil {
		return nil, fmt.Errorf("postgres: remove the leftovers of an earlier restore: %w", s.b.explain(err))
	}
	return Open(ctx, s.b.pool.Config().ConnString(), Options{Now: s.b.now, Logger: s.b.log, schema: schema})
}

// TakePlace replaces s by a draft in one transaction; s must not be used afterwards.
// If keep is set, the tables of s stay in the schema kept.
func (s *Store) TakePlace(ctx context.Context, draft *Store, keep bool) (kept string, err error) {
	err = pgx.BeginFunc(ctx, draft.b.pool, func(t pgx.Tx) error {
		old := quoted(s.b.schema)
		busy, err := value[bool](ctx, t, `SELECT EXISTS (SELECT 1 FROM `+old+`.nodes WHERE expires > clock_timestamp())`)
		if err == nil && busy {
			err = errors.New("a daemon has started to work on the database")
		}
		makeRoom := `DROP SCHEMA ` + old + ` CASCADE`
		if keep {
			kept = s.b.schema + keptInfix + time.Now().UTC().Format("20060102_150405")
			makeRoom = `ALTER SCHEMA ` + old + ` RENAME TO ` + quoted(kept)
		}
		for _, query := range []string{makeRoom, `ALTER SCHEMA ` + quoted(draft.b.schema) + ` RENAME TO ` + old} {
			if err == nil {
				_, err = t.Exec(ctx, query)
			}
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("postgres: put the restored tables in place: %w", s.b.explain(err))
	}
	return kept, nil
}

// Discard deletes a draft that did not replace its store, and closes it.
func (s *Store) Discard(ctx context.Context) error {
	_, err := s.b.pool.Exec(ctx, `DROP SCHEMA IF EXISTS `+quoted(s.b.schema)+` CASCADE`)
	return errors.Join(err, s.Close())
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
