package postgres_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/postgres"
	"dragoman/sessions/rows"
)

// TestCostOfCounts measures how many commits a second 24 clients make with and without an
// addition to one sum, and prints a table: see docs/internals/postgres.md.
func TestCostOfCounts(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("takes a minute; run it with: make bench-postgres")
	}
	const (
		clients = 24
		rounds  = 5
		span    = 2 * time.Second
	)
	server := pgtest.New(t, pgtest.Options{Settings: []string{"fsync=on", "full_page_writes=on", "max_connections=60"}})
	url := server.URL("postgres")
	s := openAt(t, url, postgres.Options{MaxConns: clients + 1})
	must(t, pgtest.Do(t.Context(), url, `CREATE TABLE public.shared (n bigint); INSERT INTO public.shared VALUES (0)`))
	pool, err := pgxpool.New(t.Context(), url+"&pool_max_conns="+fmt.Sprint(clients))
	must(t, err)
	defer pool.Close()
	var unique atomic.Int64
	update := func(changes func() rows.Changes) func() error {
		return func() error {
			return s.Backend().Update(context.Background(), nil, func(rows.Reader) (rows.Changes, error) { return changes(), nil })
		}
	}
	mark := func() []string { return []string{fmt.Sprint("mark", unique.Add(1))} }
	add := []sessions.Count{{Kind: "tokens", Owner: "telegram:42", Day: "20260501", N: 7}}
	kinds := []struct {
		name   string
		commit func() error
	}{
		{"a row of its own", update(func() rows.Changes { return rows.Changes{Marks: mark()} })},
		{"a count alone", update(func() rows.Changes { return rows.Changes{Add: add} })},
		{"a row of its own and a count", update(func() rows.Changes { return rows.Changes{Marks: mark(), Add: add} })},
		{"an UPDATE of one shared row", func() error {
			_, err := pool.Exec(context.Background(), `UPDATE public.shared SET n = n + 1`)
			return err
		}},
	}
	ctx, stop := context.WithCancel(t.Context())
	var folding sync.WaitGroup
	defer folding.Wait()
	defer stop()
	folding.Go(func() { // as a node that works does
		for ctx.Err() == nil {
			if err := postgres.Fold(context.WithoutCancel(ctx), s); err != nil {
				t.Error(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Second):
			}
		}
	})
	totals := make([]float64, len(kinds))
	for range rounds {
		for i, kind := range kinds {
			totals[i] += commits(t, clients, span, kind.commit) / rounds
		}
	}
	var table strings.Builder
	fmt.Fprintln(&table, "| each commit has | commits a second | of the first |\n|---|---|---|")
	for i, kind := range kinds {
		fmt.Fprintf(&table, "| %s | %.0f | %.2f |\n", kind.name, totals[i], totals[i]/totals[0])
	}
	t.Log("\n" + table.String())
	for i := range 2 {
		if share := totals[i+1] / totals[0]; share < 0.75 {
			t.Errorf("%s reaches %.2f of the commits without a count, want 0.75", kinds[i+1].name, share)
		}
	}
}

// commits is how many commits a second clients make in a span of time.
func commits(t *testing.T, clients int, span time.Duration, commit func() error) float64 {
	t.Helper()
	var n atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range clients {
		all.Go(func() {
			for time.Since(began) < span {
				if err := commit(); err != nil {
					t.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	all.Wait()
	return float64(n.Load()) / time.Since(began).Seconds()
}
