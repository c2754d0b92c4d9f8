package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// draftSuffix is what the schema of a draft adds to the name of the one whose
// place it takes, and keptInfix, with the time, what that one is called then.
const (
	draftSuffix = "_restoring"
	keptInfix   = "_before_restore_"
)

// Draft opens an empty store beside s, in a schema of its own, which is to take
// the place of s. What an earlier draft left is removed.
func (s *Store) Draft(ctx context.Context) (*Store, error) {
	schema := s.b.schema + draftSuffix
	if _, err := s.b.pool.Exec(ctx, `DROP SCHEMA IF EXISTS `+quoted(schema)+` CASCADE`); err != nil {
		return nil, fmt.Errorf("postgres: remove what an earlier restore left: %w", s.b.explain(err))
	}
	return Open(ctx, s.b.pool.Config().ConnString(), Options{Now: s.b.now, Logger: s.b.log, schema: schema})
}

// TakePlace puts a draft in the place of s, which nobody may use any more, all in
// one transaction. What was there is kept in another schema if keep is set.
func (s *Store) TakePlace(ctx context.Context, draft *Store, keep bool) (kept string, err error) {
	err = pgx.BeginFunc(ctx, draft.b.pool, func(t pgx.Tx) error {
		old := quoted(s.b.schema)
		busy, err := value[bool](ctx, t, `SELECT EXISTS (SELECT 1 FROM `+old+`.nodes WHERE expires > clock_timestamp())`)
		if err == nil && busy {
			err = errors.New("a daemon has started to work on the database")
		}
		aside := `DROP SCHEMA ` + old + ` CASCADE`
		if keep {
			kept = s.b.schema + keptInfix + time.Now().UTC().Format("20060102_150405")
			aside = `ALTER SCHEMA ` + old + ` RENAME TO ` + quoted(kept)
		}
		for _, query := range []string{aside, `ALTER SCHEMA ` + quoted(draft.b.schema) + ` RENAME TO ` + old} {
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

// Discard removes a draft that did not take its place, and closes it.
func (s *Store) Discard(ctx context.Context) error {
	_, err := s.b.pool.Exec(ctx, `DROP SCHEMA IF EXISTS `+quoted(s.b.schema)+` CASCADE`)
	return errors.Join(err, s.Close())
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
