package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// TestPooler: a PgBouncer that shares connections between clients is refused, whatever
// the order in which it hands them out. One that does not share them works.
func TestPooler(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"Transaction": {"pool_mode = transaction"},
		"RoundRobin":  {"pool_mode = transaction", "server_round_robin = 1"},
		"Statement":   {"pool_mode = statement"},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Pooler(t, database(t), settings...)
			if name != "Statement" {
				threeConnections(t, url)
			}
			_, err := postgres.Open(t.Context(), url, postgres.Options{})
			if err == nil || !strings.Contains(err.Error(), "pool_mode = session") {
				t.Errorf("Open = %v, want that the pooler is refused", err)
			}
		})
	}
	t.Run("Session", func(t *testing.T) {
		s := openAt(t, pgtest.Pooler(t, database(t), "pool_mode = session"), postgres.Options{})
		claims, _ := serve(t, s)
		for _, k := range []channels.Key{k1, k2} {
			in, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: k.String(), Text: "hi"}})
			must(t, err)
			h := next(t, claims)
			must(t, answer(s, h.Claim, in.Seq))
			close(h.leave)
		}
	})
}

// threeConnections makes a pooler connect to the server three times.
func threeConnections(t *testing.T, url string) {
	t.Helper()
	for range 3 {
		conn, err := pgx.Connect(t.Context(), url)
		must(t, err)
		_, err = conn.Exec(t.Context(), "BEGIN")
		must(t, err)
		defer conn.Close(context.Background())
		defer conn.Exec(context.Background(), "ROLLBACK") // or the pooler ends the connection
	}
}
