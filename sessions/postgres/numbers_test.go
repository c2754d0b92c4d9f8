package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
)

// beginner begins conversations on a node, as many at a time as wanted.
type beginner struct {
	t       *testing.T
	store   *engine.Store
	name    string
	n       atomic.Int64
	waiting *sync.Map // of a channel, by key; of all nodes, since any of them may do it
}

func newBeginner(t *testing.T, s *engine.Store, name string, waiting *sync.Map) *beginner {
	t.Helper()
	b := &beginner{t: t, store: s, name: name, waiting: waiting}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			p, err := s.Pending(ctx, c, 0)
			if err != nil || len(p.Messages) == 0 {
				return err
			}
			turn := sessions.Turn{ID: "t", Messages: []sessions.Message{{Role: sessions.RoleUser, Content: "hi"}}}
			for _, m := range p.Messages {
				turn.Answers = append(turn.Answers, sessions.Answered{Seq: m.Seq, Rev: m.Rev})
			}
			if err := s.CommitTurn(ctx, c, turn); err != nil {
				return err
			}
			if done, ok := b.waiting.LoadAndDelete(c.Key.String()); ok {
				close(done.(chan struct{}))
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, sessions.ErrFenced) {
			t.Errorf("Run = %v", err)
		}
	})
	return b
}

// begin begins a conversation, and waits until its first turn is committed.
func (b *beginner) begin() error {
	k := channels.MustKey(fmt.Sprintf("%s:%d", b.name, b.n.Add(1)))
	done := make(chan struct{})
	b.waiting.Store(k.String(), done)
	if _, err := b.store.Accept(context.Background(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: k.String(), Text: "hi"}}); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-time.After(time.Minute):
		return errors.New("no turn was committed")
	}
}

// generationsOf are the ids of all conversations, sorted.
func generationsOf(t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	list, err := conn.Query(t.Context(), `SELECT name FROM dragoman.generations ORDER BY name`)
	must(t, err)
	ids, err := pgx.CollectRows(list, pgx.RowTo[string])
	must(t, err)
	return ids
}

// TestNewConversationsShareNoLock: while somebody holds the lock of the count, nodes at which
// many conversations begin go on, and no two have the same id.
func TestNewConversationsShareNoLock(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
	begin := func(by *beginner, clients, each int) {
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range each {
					if err := by.begin(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	waiting := &sync.Map{}
	first, second := newBeginner(t, a, "a", waiting), newBeginner(t, b, "b", waiting)
	var both sync.WaitGroup
	both.Go(func() { begin(first, 24, 8) })
	both.Go(func() { begin(second, 24, 8) })
	both.Wait()

	must(t, postgres.Reserve(t.Context(), a, 8))
	release := holdCount(t, url)
	begin(first, 4, 2)
	release()
	ids := generationsOf(t, url)
	if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) || n != 2*24*8+4*2 {
		t.Errorf("%d conversations have %d ids", len(ids), n)
	}
}

// TestFewConversationsAreCounted: where few begin, the numbers have no gaps.
func TestFewConversationsAreCounted(t *testing.T) {
	url := database(t)
	by := newBeginner(t, openAt(t, url, postgres.Options{}), "a", &sync.Map{})
	for range 5 {
		must(t, by.begin())
		time.Sleep(postgres.NumbersPause * 2) // people are not faster
	}
	for i, id := range generationsOf(t, url) {
		if want := fmt.Sprintf("%s_%03d", time.Now().UTC().Format("20060102"), i+1); id != want {
			t.Errorf("generation %d = %s, want %s", i, id, want)
		}
	}
}

// holdCount holds the lock of the count until release.
func holdCount(t *testing.T, url string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), `BEGIN`)
	must(t, err)
	_, err = conn.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1, hashtext('store'))`, postgres.LockClass)
	must(t, err)
	return func() {
		_, err := conn.Exec(t.Context(), `COMMIT`)
		must(t, err)
	}
}

// TestCostOfNewConversations measures how many conversations a second 24 clients begin, with
// and without numbers set aside, and prints a table: see docs/internals/postgres.md.
func TestCostOfNewConversations(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("takes a minute; run it with: make bench-postgres")
	}
	const (
		clients = 24
		rounds  = 5
		span    = 3 * time.Second
	)
	// A flush takes two milliseconds longer, as with a synchronous standby.
	server := pgtest.New(t, pgtest.Options{Settings: []string{"fsync=on", "commit_delay=2000", "commit_siblings=0", "max_connections=60"}})
	s := openAt(t, server.URL("postgres"), postgres.Options{MaxConns: clients + 1})
	by := newBeginner(t, s, "a", &sync.Map{})
	rates := map[bool][]float64{}
	for range rounds {
		for _, aside := range []bool{false, true} {
			postgres.SetAside(s, aside)
			rates[aside] = append(rates[aside], commits(t, clients, span, by.begin))
		}
	}
	for _, aside := range []bool{false, true} {
		slices.Sort(rates[aside])
		t.Logf("numbers set aside: %t: median %.0f conversations a second, from %.0f to %.0f", aside, rates[aside][rounds/2], rates[aside][0], rates[aside][rounds-1])
	}
}
