package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
	"dragoman/sessions/rows"
)

// numberIn is the result of a query for a number.
func numberIn(t *testing.T, url, query string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url+"&search_path=dragoman")
	must(t, err)
	defer conn.Close(context.Background())
	must(t, conn.QueryRow(t.Context(), query).Scan(&n))
	return n
}

// TestOlderTables: what later.sql makes comes without a new version of the tables, so that
// nodes that do not know it can go on, and start again, beside this one.
func TestOlderTables(t *testing.T) {
	url := pgtest.Database(t, "", "")
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	must(t, s.Close())
	version := numberIn(t, url, `SELECT max(version) FROM versions`)
	must(t, pgtest.Do(t.Context(), url, `SET search_path = dragoman; DROP TABLE notes, counts, additions; DROP INDEX inbox_accepted, outbox_created`))
	s = openAt(t, url, postgres.Options{})
	must(t, s.ChangeNotes(t.Context(), "k", "o", func([]sessions.Note) ([]sessions.Note, []string, error) {
		return []sessions.Note{{Name: "n"}}, nil, nil
	}))
	must(t, s.Count(t.Context(), sessions.Count{Kind: "k", Owner: "o", Day: "20260501", N: 1}))
	if n := numberIn(t, url, `SELECT max(version) FROM versions`); n != version {
		t.Errorf("the tables have version %d, which nodes of version %d refuse", n, version)
	}
	if n := numberIn(t, url, `SELECT count(*) FROM pg_indexes WHERE indexname IN ('inbox_accepted', 'outbox_created')`); n != 2 {
		t.Errorf("%d of two indexes are there", n)
	}
}

// TestFold: additions become sums in the background, a sum is the same before, while and
// after that, and an erasure leaves neither.
func TestFold(t *testing.T) {
	url := database(t)
	s := openAt(t, url, postgres.Options{})
	add := func(n int64) {
		t.Helper()
		must(t, s.Count(t.Context(), sessions.Count{Kind: "k", Owner: "x:1", Day: "20260501", N: n}, sessions.Count{Kind: "k", Owner: "x:2", Day: "20260501", N: 1}))
	}
	sum := func(want int64) {
		t.Helper()
		if n, err := s.Sum(t.Context(), "k", "x:1", "20260501", "20260501"); err != nil || n != want {
			t.Errorf("Sum = %d, %v, want %d", n, err, want)
		}
	}
	add(2)
	add(3)
	if n := numberIn(t, url, `SELECT count(*) FROM additions`); n != 4 {
		t.Errorf("%d additions, want a row for each", n)
	}
	sum(5)
	must(t, postgres.Fold(t.Context(), s))
	sum(5)
	add(-1)
	sum(4)
	if added, folded := numberIn(t, url, `SELECT count(*) FROM additions`), numberIn(t, url, `SELECT count(*) FROM counts`); added != 2 || folded != 2 {
		t.Errorf("%d additions and %d sums, want 2 of each", added, folded)
	}
	got, err := s.Erase(t.Context(), sessions.Erasure{Owners: []string{"x:1"}})
	if err != nil || got.Counts != 1 {
		t.Errorf("Erase = %+v, %v, want one sum", got, err)
	}
	sum(0)
	if left := numberIn(t, url, `SELECT (SELECT count(*) FROM additions WHERE owner = 'x:1') + (SELECT count(*) FROM counts WHERE owner = 'x:1')`); left != 0 {
		t.Errorf("%d rows are left of an erased owner", left)
	}
	add(1)
	add(-1)
	must(t, postgres.Fold(t.Context(), s))
	if left := numberIn(t, url, `SELECT count(*) FROM counts WHERE owner = 'x:1'`); left != 0 {
		t.Error("a sum of zero is kept")
	}
}

// TestFoldWhileAdding: nodes that fold while others add, read and sweep lose nothing.
func TestFoldWhileAdding(t *testing.T) {
	url := database(t)
	summer := func() time.Time { return time.Date(2020, 6, 1, 12, 0, 0, 0, time.UTC) }
	nodes := []*engine.Store{openAt(t, url, postgres.Options{Now: summer}), openAt(t, url, postgres.Options{Now: summer})}
	ctx, cancel := context.WithCancel(t.Context())
	var folding, adding sync.WaitGroup
	for _, s := range nodes {
		folding.Go(func() {
			for last := int64(0); ctx.Err() == nil; {
				if err := postgres.Fold(context.WithoutCancel(ctx), s); err != nil {
					t.Error(err)
				}
				n, err := s.Sum(context.WithoutCancel(ctx), "k", "o", "20200101", "20200131")
				if err != nil || n < last {
					t.Errorf("Sum = %d, %v after %d", n, err, last)
				}
				last = n
				if _, err := s.Sweep(context.WithoutCancel(ctx)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	const adders, each = 4, 50
	for i := range adders {
		adding.Go(func() {
			for n := range each {
				// Days of a month that the sweep folds.
				day := fmt.Sprintf("202001%02d", 1+(i+n)%31)
				if err := nodes[i%2].Count(t.Context(), sessions.Count{Kind: "k", Owner: "o", Day: day, N: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	adding.Wait()
	cancel()
	folding.Wait()
	n, err := nodes[0].Sum(t.Context(), "k", "o", "20200101", "20200131")
	if err != nil || n != adders*each {
		t.Errorf("Sum = %d, %v, want %d", n, err, adders*each)
	}
}

// TestNotesOfOthersDoNotWait: an update that holds the notes of one owner does not hold
// back those of another owner or kind, nor an addition; it does hold back who reads all.
func TestNotesOfOthersDoNotWait(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
	held, leave := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	release := sync.OnceFunc(func() { close(leave) })
	defer all.Wait()
	defer release()
	change := func(s *engine.Store, kind, owner string, meanwhile func()) error {
		return s.ChangeNotes(context.WithoutCancel(t.Context()), kind, owner, func(have []sessions.Note) ([]sessions.Note, []string, error) {
			meanwhile()
			return []sessions.Note{{Name: fmt.Sprint("n", len(have))}}, nil, nil
		})
	}
	all.Go(func() {
		if err := change(a, "k", "one", func() { close(held); <-leave }); err != nil {
			t.Error(err)
		}
	})
	await(t, held)
	nothing := func() {}
	must(t, change(b, "k", "two", nothing))
	must(t, change(b, "l", "one", nothing))
	must(t, b.Count(t.Context(), sessions.Count{Kind: "k", Owner: "one", Day: "20260501", N: 1}))
	waiting := make(chan string, 2)
	all.Go(func() {
		if err := change(b, "k", "one", nothing); err != nil {
			t.Error(err)
		}
		waiting <- "the same owner"
	})
	all.Go(func() {
		err := b.Backend().Update(context.WithoutCancel(t.Context()), nil, func(r rows.Reader) (rows.Changes, error) {
			for _, err := range r.Records(t.Context(), rows.Record{Note: &sessions.Note{}}) {
				if err != nil {
					return rows.Changes{}, err
				}
			}
			return rows.Changes{}, nil
		})
		if err != nil {
			t.Error(err)
		}
		waiting <- "who reads all"
	})
	testkit.Eventually(t, "two to wait for locks", func() bool {
		return numberIn(t, url, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) == 2
	})
	select {
	case who := <-waiting:
		t.Errorf("%s did not wait", who)
	default:
	}
	release()
	all.Wait()
	notes, err := a.Notes(t.Context(), sessions.NoteFilter{Kind: "k", Owner: "one"})
	if err != nil || len(notes) != 2 {
		t.Errorf("the notes are %v, %v, want two", notes, err)
	}
}

// TestManyOwners: an update that reads the notes of very many owners does not use up the
// server's locks.
func TestManyOwners(t *testing.T) {
	url := database(t)
	s := openAt(t, url, postgres.Options{})
	must(t, s.Backend().Update(t.Context(), nil, func(r rows.Reader) (rows.Changes, error) {
		for i := range 200 {
			for _, err := range r.Records(t.Context(), rows.Record{Note: &sessions.Note{Kind: "k", Owner: fmt.Sprint(i)}}) {
				if err != nil {
					return rows.Changes{}, err
				}
			}
		}
		if n := numberIn(t, url, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); n > 50 {
			t.Errorf("%d locks are held", n)
		}
		return rows.Changes{}, nil
	}))
}
