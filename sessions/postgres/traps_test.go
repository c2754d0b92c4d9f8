package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
	"dragoman/sessions/rows"
)

// Traps that were found before this package was written. Another one, a message that is
// stranded because it comes while its key's job ends, is in storetest:
// Run/EveryMessageWakesItsKey.

const ttl = 1500 * time.Millisecond

var (
	k1, k2 = channels.MustKey("x:1"), channels.MustKey("x:2")
	one    = sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: "1", Text: "hi"}}
)

// held is a claim that a test works under until it closes leave.
type held struct {
	sessions.Claim
	leave chan struct{}
}

// serve runs s, and hands its claims to the test.
func serve(t *testing.T, s *engine.Store) (claims chan held, ended chan error) {
	t.Helper()
	claims, ended = make(chan held), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			h := held{c, make(chan struct{})}
			select {
			case claims <- h:
			case <-ctx.Done():
				return nil
			}
			select {
			case <-h.leave:
			case <-ctx.Done():
			}
			return nil
		})
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		for range ended { //nolint:revive // until it is closed
		}
	})
	return claims, ended
}

func next(t *testing.T, claims chan held) held {
	t.Helper()
	select {
	case h := <-claims:
		return h
	case <-time.After(time.Minute):
		t.Fatal("no claim came")
		return held{}
	}
}

// await waits until c is closed, but at most a minute: a busy machine may lose a node.
func await(t *testing.T, c chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("nothing happened")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func answer(s *engine.Store, c sessions.Claim, seq int64) error {
	return s.CommitTurn(context.Background(), c, sessions.Turn{ID: "t", Answers: []sessions.Answered{{Seq: seq}}})
}

// TestSlowRescue: River hands out the jobs of a dead client after an hour. Its peers
// take them over once its row has expired. If the dead node was only frozen, its later
// writes are refused.
func TestSlowRescue(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{TTL: ttl}), openAt(t, url, postgres.Options{TTL: ttl})
	fromA, _ := serve(t, a)
	in, err := a.Accept(t.Context(), one)
	must(t, err)
	old := next(t, fromA)
	fromB, _ := serve(t, b)
	postgres.Freeze(a)
	claim := next(t, fromB)
	if claim.Key != k1 || claim.Epoch <= old.Epoch {
		t.Fatalf("claim %+v after %+v", claim.Claim, old.Claim)
	}
	if err := answer(a, old.Claim, in.Seq); !errors.Is(err, sessions.ErrFenced) {
		t.Errorf("the commit of a stale worker = %v, want ErrFenced", err)
	}
	close(old.leave) // its job ends, that of the other does not
	_, err = a.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k2, ID: "2", Text: "hi"}})
	if !errors.Is(err, sessions.ErrFenced) {
		t.Errorf("Accept of a stale node = %v, want ErrFenced", err)
	}
	if other := next(t, fromB); other.Key != k2 { // a dead node claims nothing
		t.Errorf("claim of %s", other.Key)
	}
	must(t, answer(b, claim.Claim, in.Seq))
	select {
	case h := <-fromA:
		t.Errorf("a dead node has claimed %s", h.Key)
	default:
	}
}

// TestFrozenBeforeSending: a node freezes while it marks a delivery as sending. When it
// wakes, another node has sent it.
func TestFrozenBeforeSending(t *testing.T) {
	s := openAt(t, database(t), postgres.Options{TTL: ttl})
	claims, _ := serve(t, s)
	in, err := s.Accept(t.Context(), one)
	must(t, err)
	claim := next(t, claims).Claim
	must(t, s.CommitTurn(t.Context(), claim, sessions.Turn{ID: "t", Answers: []sessions.Answered{{Seq: in.Seq}}, Replies: []sessions.Reply{{Text: "hello"}}}))
	list, err := s.Unsent(t.Context(), claim, 1)
	must(t, err)
	postgres.Freeze(s)
	postgres.Stale(s)
	if err := s.MarkSending(t.Context(), claim, list[0].ID); !errors.Is(err, sessions.ErrFenced) {
		t.Errorf("MarkSending = %v, want ErrFenced", err)
	}
}

// TestStoppedAndDead: a command ends the claim of a node, and the node dies before it
// claims the key again. River has no job for a key that a node claimed when it woke it.
func TestStoppedAndDead(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{TTL: ttl}), openAt(t, url, postgres.Options{TTL: ttl})
	begun, dead := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	defer close(dead)
	running.Go(func() {
		_ = a.Run(ctx, func(context.Context, sessions.Claim) error { // it is lost
			close(begun)
			<-dead
			return nil
		})
	})
	testkit.Eventually(t, "the node", func() bool { return idOf(t, a) != "" && postgres.RefreshPeers(t.Context(), a) == nil })
	_, err := a.Accept(t.Context(), one)
	must(t, err)
	await(t, begun)
	stop := channels.Inbound{Key: k1, ID: "2", Text: "/stop"}
	_, err = b.Accept(t.Context(), sessions.Entry{Inbound: stop, Answered: true, Control: sessions.ControlStop})
	must(t, err)
	in, err := b.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: "3", Text: "hi"}})
	must(t, err)
	postgres.Freeze(a)
	fromB, _ := serve(t, b)
	must(t, answer(b, next(t, fromB).Claim, in.Seq))
}

// TestDeadNodeClaimsNothing: a node that was frozen may still take a job from River
// before it finds out that it is dead.
func TestDeadNodeClaimsNothing(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{TTL: ttl}), openAt(t, url, postgres.Options{TTL: ttl})
	claims, _ := serve(t, a)
	testkit.Eventually(t, "the node", func() bool { return idOf(t, a) != "" })
	postgres.Freeze(a)
	testkit.Eventually(t, "the end of its lease", func() bool { return idOf(t, a) == "" })
	_, err := b.Accept(t.Context(), one)
	must(t, err)
	conn, err := pgx.Connect(t.Context(), url+"&search_path=dragoman")
	must(t, err)
	defer conn.Close(context.Background())
	testkit.Eventually(t, "the job to be taken", func() bool {
		var waits int
		must(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state = 'available'`).Scan(&waits))
		return waits == 0
	})
	testkit.Eventually(t, "the job to end", func() bool {
		select {
		case h := <-claims:
			t.Fatalf("a dead node has claimed %s", h.Key)
		default:
		}
		var wake int64
		must(t, conn.QueryRow(t.Context(), `SELECT wake FROM keys`).Scan(&wake))
		return wake == 0
	})
}

// TestLostJob: this node fetched a job, but the result was lost with the connection.
func TestLostJob(t *testing.T) {
	url := database(t)
	s := openAt(t, url, postgres.Options{TTL: ttl})
	joined := make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	var holding sync.WaitGroup
	holding.Go(func() {
		_ = s.Hold(ctx, "x", func(ctx context.Context) error {
			close(joined)
			<-ctx.Done()
			return nil
		})
	})
	defer holding.Wait()
	defer leave()
	await(t, joined)
	_, err := s.Accept(t.Context(), one)
	must(t, err)
	must(t, pgtest.Do(t.Context(), url, `UPDATE dragoman.river_job SET state = 'running', attempted_at = clock_timestamp(), attempted_by = ARRAY[(SELECT id FROM dragoman.nodes)]`))
	claims, _ := serve(t, s)
	if h := next(t, claims); h.Key != k1 {
		t.Errorf("claim of %s", h.Key)
	}
}

// TestTakenAndNotBegun: a client fetched a job, and its process died at once.
func TestTakenAndNotBegun(t *testing.T) {
	url := database(t)
	s := openAt(t, url, postgres.Options{TTL: ttl})
	_, err := s.Accept(t.Context(), one)
	must(t, err)
	must(t, pgtest.Do(t.Context(), url, `UPDATE dragoman.river_job SET state = 'running', attempted_by = ARRAY['dead']`))
	claims, _ := serve(t, s)
	if h := next(t, claims); h.Key != k1 {
		t.Errorf("claim of %s", h.Key)
	}
}

// TestOwnRestart: a process in the place of a dead one takes over at once.
func TestOwnRestart(t *testing.T) {
	url, o := database(t), postgres.Options{Installation: "here", TTL: time.Hour}
	a := openAt(t, url, o)
	fromA, _ := serve(t, a)
	_, err := a.Accept(t.Context(), one)
	must(t, err)
	old := next(t, fromA)
	postgres.Freeze(a)
	fromB, _ := serve(t, openAt(t, url, o))
	if h := next(t, fromB); h.Epoch <= old.Epoch {
		t.Errorf("epoch %d after %d", h.Epoch, old.Epoch)
	}
}

// TestLost: a node that others count as dead stops working.
func TestLost(t *testing.T) {
	url := database(t)
	s := openAt(t, url, postgres.Options{TTL: ttl})
	_, ended := serve(t, s)
	lease := make(chan error, 1)
	holds := make(chan struct{})
	go func() {
		lease <- s.Hold(t.Context(), "l", func(ctx context.Context) error {
			close(holds)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	await(t, holds)
	must(t, pgtest.Do(t.Context(), url, `DELETE FROM dragoman.nodes`))
	for what, c := range map[string]chan error{"Run": ended, "Hold": lease} {
		if err := <-c; !errors.Is(err, sessions.ErrFenced) {
			t.Errorf("%s = %v, want that the node is lost", what, err)
		}
	}
}

// TestCutAndCutAgain: a node whose connections break again and again, while the
// database is there, does not give up.
func TestCutAndCutAgain(t *testing.T) {
	const patient = 4 * ttl // a busy machine may take half a second to connect again
	url := database(t)
	s := openAt(t, url, postgres.Options{TTL: patient})
	claims, ended := serve(t, s)
	_, err := s.Accept(t.Context(), one)
	must(t, err)
	next(t, claims)
	for range 6 {
		var busy sync.WaitGroup // so that the pool has connections that it believes to work
		for range 10 {
			busy.Go(func() { _, _ = s.Stats(t.Context()) })
		}
		busy.Wait()
		must(t, pgtest.Do(t.Context(), url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`))
		select {
		case err := <-ended:
			t.Fatalf("Run = %v", err)
		case <-time.After(patient / 4):
		}
	}
}

// TestLeasePassesOn: a lease is held while its node lives, and no longer.
func TestLeasePassesOn(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{TTL: ttl}), openAt(t, url, postgres.Options{TTL: ttl})
	holds, leave := make(chan struct{}), make(chan struct{})
	var both sync.WaitGroup
	both.Go(func() {
		_ = a.Hold(t.Context(), "l", func(context.Context) error { close(holds); <-leave; return nil })
	})
	await(t, holds)
	early, cancel := context.WithTimeout(t.Context(), 2*ttl)
	defer cancel()
	if err := b.Hold(early, "l", func(context.Context) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Hold of what a living node has = %v", err)
	}
	postgres.Freeze(a)
	must(t, b.Hold(t.Context(), "l", func(context.Context) error { return nil }))
	close(leave)
	both.Wait()
}

// TestLeaseGivenBack: a node that waits for a lease is notified when another releases
// it, and does not wait for its next poll.
func TestLeaseGivenBack(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{TTL: time.Hour}), openAt(t, url, postgres.Options{TTL: time.Hour})
	held, cancel := context.WithCancel(t.Context())
	defer cancel()
	holds, got := make(chan struct{}), make(chan error, 1)
	var both sync.WaitGroup
	both.Go(func() {
		_ = a.Hold(held, "l", func(ctx context.Context) error { close(holds); <-ctx.Done(); return nil })
	})
	await(t, holds)
	both.Go(func() { got <- b.Hold(t.Context(), "l", func(context.Context) error { return nil }) })
	testkit.Eventually(t, "the second node", func() bool { return idOf(t, b) != "" })
	cancel()
	select {
	case err := <-got:
		must(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the waiting node was not notified")
	}
	both.Wait()
}

// TestAllConnectionsInUse: a node whose connections are all in use stays alive.
func TestAllConnectionsInUse(t *testing.T) {
	s := openAt(t, database(t), postgres.Options{TTL: ttl, MaxConns: 5})
	_, ended := serve(t, s)
	must(t, s.Hold(t.Context(), "l", func(context.Context) error {
		return s.Backend().Snapshot(t.Context(), func(rows.Reader) error {
			return s.Backend().Snapshot(t.Context(), func(rows.Reader) error {
				return s.Backend().Snapshot(t.Context(), func(rows.Reader) error {
					select {
					case err := <-ended:
						return fmt.Errorf("Run = %w", err)
					case <-time.After(3 * ttl):
						return nil
					}
				})
			})
		})
	}))
}

// TestNoTickIsDropped: if many nodes check a job, exactly one fires each occurrence.
func TestNoTickIsDropped(t *testing.T) {
	url := database(t)
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const ticks = 40
	var nodes sync.WaitGroup
	first := openAt(t, url, postgres.Options{})
	must(t, first.Plan(t.Context(), "j", time.Time{}, began))
	for _, s := range []*engine.Store{first, openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})} {
		nodes.Go(func() {
			for {
				due, _, err := s.NextDue(t.Context(), "j")
				if err != nil || due.Sub(began) >= ticks*time.Minute {
					if err != nil {
						t.Error(err)
					}
					return
				}
				err = s.Fire(t.Context(), "j", due, due, due.Add(time.Minute), channels.Inbound{Key: k1, ID: fmt.Sprint("hb:", due.Unix()), Text: "tick"})
				if err != nil && !errors.Is(err, sessions.ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	nodes.Wait()
	fired, err := first.Occurrences(t.Context(), "j", 1000)
	must(t, err)
	if st, err := first.Stats(t.Context()); err != nil || st.Waiting != ticks || len(fired) != ticks {
		t.Errorf("%d occurrences, %d messages, want %d: %v", len(fired), st.Waiting, ticks, err)
	}
}

// TestLostClaim: if the connection breaks during a commit, the node may have claimed a
// key without knowing. It finds the claim, and works on the key.
func TestLostClaim(t *testing.T) {
	url := database(t)
	s := openAt(t, url, postgres.Options{TTL: ttl})
	_, err := s.Accept(t.Context(), one)
	must(t, err)
	conn, err := pgx.Connect(t.Context(), url+"&search_path=dragoman")
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `DELETE FROM river_job`)
	must(t, err)
	claims, _ := serve(t, s)
	testkit.Eventually(t, "the node", func() bool { return idOf(t, s) != "" })
	_, err = conn.Exec(t.Context(), `UPDATE keys SET node = $1, live = wake`, idOf(t, s))
	must(t, err)
	if h := next(t, claims); h.Key != k1 {
		t.Errorf("claim of %s", h.Key)
	}
}

// TestFewNotifications: PostgreSQL has one lock for all commits that notify, so there
// must be far fewer of them than messages.
func TestFewNotifications(t *testing.T) {
	url := database(t)
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	listener, err := pgx.Connect(t.Context(), url+"&search_path=dragoman")
	must(t, err)
	defer listener.Close(context.Background())
	_, err = listener.Exec(t.Context(), `LISTEN "`+postgres.AllNodes(s)+`"`)
	must(t, err)
	began := time.Now()
	const senders, each = 10, 30
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			for n := range each {
				id := fmt.Sprintf("%d-%d", i, n)
				if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: channels.MustKey("x:" + id), ID: id, Text: "hi"}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	most := int(time.Since(began)/(100*time.Millisecond)) + 2
	_, err = listener.Exec(t.Context(), `SELECT pg_notify($1, 'end')`, postgres.AllNodes(s))
	must(t, err)
	for n := 0; ; n++ {
		got, err := listener.WaitForNotification(t.Context())
		must(t, err)
		if got.Payload != "end" {
			continue
		}
		if n == 0 || n > most || n >= senders*each/2 {
			t.Errorf("%d notifications of %d messages, want 1 to %d", n, senders*each, most)
		}
		return
	}
}

// TestLocksInOrder: steps that read the same keys in different orders do not deadlock.
func TestLocksInOrder(t *testing.T) {
	url := database(t)
	s := openAt(t, url, postgres.Options{})
	b := s.Backend()
	var all sync.WaitGroup
	for _, keys := range [][]channels.Key{{k1, k2}, {k2, k1}, {k1, k2}, {k2, k1}} {
		all.Go(func() {
			for range 30 {
				err := b.Update(t.Context(), nil, func(r rows.Reader) (c rows.Changes, err error) {
					for _, k := range keys {
						h, _, err := r.Head(t.Context(), k)
						if err != nil {
							return c, err
						}
						h.Key = k
						h.Seq++
						c.Chats = append(c.Chats, &rows.Chat{Head: h})
					}
					return c, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, k := range []channels.Key{k1, k2} {
		if h, _, err := b.Head(t.Context(), k); err != nil || h.Seq != 120 {
			t.Errorf("%s: seq %d, %v, want 120", k, h.Seq, err)
		}
	}
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.Background())
	testkit.Eventually(t, "the statistics of the steps", func() bool {
		var commits, deadlocks int
		must(t, conn.QueryRow(t.Context(), `SELECT xact_commit, deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&commits, &deadlocks))
		if deadlocks > 0 {
			t.Fatalf("%d deadlocks", deadlocks)
		}
		return commits >= 120
	})
}

// TestFrozenWithLocks: a node that freezes in the middle of a transaction blocks the
// others only until its TTL ends.
func TestFrozenWithLocks(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{TTL: ttl}), openAt(t, url, postgres.Options{})
	locked, over := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- a.Backend().Update(t.Context(), []channels.Key{k1}, func(rows.Reader) (c rows.Changes, err error) {
			close(locked)
			<-over
			c.Fenced = []channels.Key{k1}
			return c, nil
		})
	}()
	await(t, locked)
	_, err := b.Accept(t.Context(), one)
	must(t, err)
	close(over)
	if err := <-ended; err == nil {
		t.Error("a transaction that PostgreSQL has ended was committed")
	}
}

// TestNewerTables: Open refuses the tables of a later version.
func TestNewerTables(t *testing.T) {
	url := pgtest.Database(t, "", "")
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	must(t, s.Close())
	must(t, pgtest.Do(t.Context(), url, `INSERT INTO dragoman.versions (version) VALUES (99)`))
	_, err = postgres.Open(t.Context(), url, postgres.Options{})
	if newer := (*sessions.NewerError)(nil); !errors.As(err, &newer) || newer.Has != 99 {
		t.Errorf("Open = %v, want that a newer version made the tables", err)
	}
}

// TestCloseEndsRun: a store that is closed while it works on a key releases the key.
func TestCloseEndsRun(t *testing.T) {
	s := openAt(t, database(t), postgres.Options{})
	began := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- s.Run(context.WithoutCancel(t.Context()), func(ctx context.Context, _ sessions.Claim) error {
			close(began)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	_, err := s.Accept(t.Context(), one)
	must(t, err)
	await(t, began)
	must(t, s.Close())
	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
}
