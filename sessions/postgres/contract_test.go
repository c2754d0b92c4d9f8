package postgres_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
	"dragoman/sessions/rows"
	"dragoman/sessions/rowstest"
	"dragoman/sessions/sqlite/sqlitetest"
	"dragoman/sessions/storetest"
)

func TestMain(m *testing.M) {
	if storetest.KillChild(openChild) {
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		pgtest.Stop()
		os.Exit(code)
	}))
}

// clean empties the tables. DELETE is faster than TRUNCATE for small tables.
const clean = `SET search_path = dragoman; UPDATE meta SET facts = 0; DO $$
	DECLARE name text;
	BEGIN
		FOREACH name IN ARRAY '{keys,inbox,outbox,messages,steps,generations,summaries,marks,days,records,notes,counts,additions,nodes,leases,river_job}'::text[] LOOP
			IF pg_total_relation_size(name::regclass) > 500000 THEN EXECUTE 'TRUNCATE ' || name; ELSE EXECUTE 'DELETE FROM ' || name; END IF;
		END LOOP;
	END $$`

// database makes a database with the tables in it.
func database(t testing.TB) string {
	t.Helper()
	const name = "tables"
	if url, fresh := pgtest.Template(t, name); fresh {
		s, err := postgres.Open(context.Background(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return pgtest.Database(t, name, clean)
}

func openAt(t testing.TB, url string, o postgres.Options) *engine.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Quick(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		postgres.Ended(s)
	})
	return s
}

// failing makes every third commit of s end in a serialization failure.
func failing(s *engine.Store) *engine.Store {
	var commits atomic.Int64
	postgres.Fault(s, func() error {
		if commits.Add(1)%3 != 0 {
			return nil
		}
		return &pgconn.PgError{Severity: "ERROR", Code: "40001", Message: "could not serialize access (a test)"}
	})
	return s
}

func open(t *testing.T) *engine.Store { return openAt(t, database(t), postgres.Options{}) }

func TestRows(t *testing.T) {
	t.Run("Plain", func(t *testing.T) {
		rowstest.Run(t, func(t *testing.T) rows.Backend { return openAt(t, database(t), postgres.Options{}).Backend() })
	})
	t.Run("Failing", func(t *testing.T) {
		rowstest.Run(t, func(t *testing.T) rows.Backend {
			return failing(openAt(t, database(t), postgres.Options{})).Backend()
		})
	})
}

// TestStore runs the suite while one commit in three fails.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *engine.Store { return failing(openAt(t, database(t), postgres.Options{})) })
}

func TestStoreClock(t *testing.T) {
	storetest.RunClocked(t, func(t *testing.T, now func() time.Time) *engine.Store {
		return openAt(t, database(t), postgres.Options{Now: now})
	})
}

// openDir opens the database that belongs to a folder.
func openDir(t *testing.T, dir string) *engine.Store {
	name := filepath.Join(dir, "url")
	url, err := os.ReadFile(name)
	if err != nil {
		url = []byte(database(t))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, url, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return openAt(t, string(url), postgres.Options{Installation: dir})
}

func TestStoreDurable(t *testing.T) { storetest.RunDurable(t, openDir) }

func openSQLite(t *testing.T) *engine.Store { return sqlitetest.Open(t, nil) }

// openCounting returns a store that sets no numbers aside: that may come between two dumps,
// and the second one has it.
func openCounting(t *testing.T) *engine.Store {
	s := open(t)
	postgres.SetAside(s, false)
	return s
}

func TestCopies(t *testing.T) {
	for name, pair := range map[string][2]func(*testing.T) *engine.Store{
		"ToItself": {openCounting, openCounting}, "ToSQLite": {openCounting, openSQLite}, "FromSQLite": {openSQLite, openCounting},
	} {
		t.Run(name, func(t *testing.T) { storetest.RunCopies(t, pair[0], pair[1]) })
	}
}

func openChild(ctx context.Context, url string) (*engine.Store, error) {
	return postgres.Open(ctx, url, postgres.Quick(postgres.Options{Installation: "child"}))
}

// TestKills kills processes with the same Host, one after the other.
func TestKills(t *testing.T) {
	url := database(t)
	storetest.RunKills(t, url, func(*testing.T) {}, func(t *testing.T) *engine.Store {
		return openAt(t, url, postgres.Options{Installation: "child"})
	})
}
