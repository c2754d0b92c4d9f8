package postgres_test

import (
	"context"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// TestKept: the queries that Kept recommends remove deleted rows from PostgreSQL's files.
func TestKept(t *testing.T) {
	const secret = "9f3c1b-something-to-forget"
	server := pgtest.New(t, pgtest.Options{})
	s, err := postgres.Open(t.Context(), server.URL("postgres"), postgres.Options{})
	must(t, err)
	_, err = s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: "1", Text: secret}})
	must(t, err)
	if len(server.Files(t, secret)) == 0 {
		t.Fatal("no file of PostgreSQL has what was said")
	}
	must(t, pgtest.Do(t.Context(), server.URL("postgres"), "DELETE FROM dragoman.inbox"))
	must(t, s.Close())
	for _, query := range postgres.KeptQueries() {
		must(t, pgtest.Do(context.Background(), server.URL("postgres"), query))
	}
	// A checkpoint removes files only after it has ended.
	if !testkit.Poll(time.Minute, func() bool { return len(server.Files(t, secret)) == 0 }) {
		t.Errorf("%v still has what was said", server.Files(t, secret))
	}
}
