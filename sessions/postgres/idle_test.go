package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/internal/testkit"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
)

// A node that has nothing to do looks for dead nodes and for its peers each second or
// so. What that costs must not grow with the conversations: no statement that runs by
// itself, or for a single message, reads a whole table of them. The clean-up looks at each key
// without a conversation; a fiftieth of them are such.
func TestIdleReadsNoWholeTable(t *testing.T) {
	url := database(t)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	const fill = `
		INSERT INTO keys (key, known, seq, updated, conversation)
			SELECT 'x:' || i, true, 2, CASE WHEN i % 50 > 0 THEN i END, CASE WHEN i % 50 > 0 THEN '{"updated":"2026-01-01T00:00:00Z"}' ELSE '' END FROM generate_series(1, 100000) i;
		INSERT INTO inbox (key_id, seq, state, beat, due, accepted, dedupe, message_id, about, data, inbound)
			SELECT id, 1, 'done', false, 0, 0, 'd' || id, '', '', '{}', '{}' FROM keys;
		INSERT INTO outbox (key_id, seq, state, due, created, uncertain, id, data) SELECT id, 2, 'sent', 0, 0, false, 'o' || id, '{}' FROM keys;
		INSERT INTO messages (key_id, seq, role, at, data, content) SELECT id, 1, 'user', 0, '{}', '' FROM keys`
	if _, err := db.Exec(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	scans := func() (n int64) {
		t.Helper()
		const count = `SELECT coalesce(sum(seq_scan), 0)::bigint FROM pg_stat_user_tables WHERE relname IN ('keys', 'inbox', 'outbox', 'messages')`
		if err := db.QueryRow(t.Context(), count).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	looks := func() (n int64) {
		t.Helper()
		const count = `SELECT coalesce(sum(idx_scan), 0)::bigint FROM pg_stat_user_indexes WHERE indexrelname = 'keys_node'`
		if err := db.QueryRow(t.Context(), count).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Run("Idle", func(t *testing.T) {
		serve(t, openAt(t, url, postgres.Options{TTL: ttl}))
		testkit.Eventually(t, "the node to have looked, after its start", func() bool { return looks() >= 9 })
		before, looked := scans(), looks()
		testkit.Eventually(t, "the node to look for others, three times", func() bool { return looks() >= looked+9 })
		if n := scans() - before; n > 0 {
			t.Errorf("an idle node read a whole table %d times", n)
		}
	})
	for name, does := range map[string]func(t *testing.T, s *engine.Store){
		"Start":  func(*testing.T, *engine.Store) {},
		"Status": func(t *testing.T, s *engine.Store) { _, err := s.Stats(t.Context()); must(t, err) },
		"Check":  func(t *testing.T, s *engine.Store) { must(t, s.Check(t.Context())) },
		"CleanUp": func(t *testing.T, s *engine.Store) {
			_, err := s.Expire(t.Context(), time.Unix(-1, 0), 100)
			must(t, err)
		},
		"Accept": func(t *testing.T, s *engine.Store) {
			_, err := s.Accept(t.Context(), one)
			must(t, err)
		},
		"TakeOver": func(t *testing.T, s *engine.Store) {
			dead := openAt(t, url, postgres.Options{TTL: ttl})
			claims, _ := serve(t, dead)
			_, err := dead.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k2, ID: "left", Text: "hi"}})
			must(t, err)
			close(next(t, claims).leave)
			postgres.Freeze(dead)
			claims, _ = serve(t, s)
			close(next(t, claims).leave)
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := scans()
			t.Run("Work", func(t *testing.T) { does(t, openAt(t, url, postgres.Options{TTL: ttl})) })
			// The connections are closed, so the server has counted what they did.
			if n := scans() - before; n > 0 {
				t.Errorf("it read a whole table %d times", n)
			}
		})
	}
}
