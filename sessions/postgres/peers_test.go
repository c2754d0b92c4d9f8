package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/postgres"
)

type call func(ctx context.Context, method string, args []byte) ([]byte, error)

// peers is the ability of s that other stores do not have.
func peers(s *engine.Store) sessions.Peers { return s.Backend().(sessions.Peers) }

// answers has s serve f until the test ends.
func answers(t *testing.T, s *engine.Store, f call) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- peers(s).Serve(ctx, f) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, sessions.ErrFenced) {
			t.Errorf("Serve = %v", err)
		}
	})
	testkit.Eventually(t, "the node", func() bool { return idOf(t, s) != "" })
}

// idOf is the id of the node that s is, or "".
func idOf(t *testing.T, s *engine.Store) string {
	t.Helper()
	list, err := peers(s).Nodes(t.Context())
	must(t, err)
	if i := slices.IndexFunc(list, func(n sessions.Node) bool { return n.Self }); i >= 0 {
		return list[i].ID
	}
	return ""
}

// two are nodes on one database, of which b serves f.
func two(t *testing.T, f call) (a, b *engine.Store) {
	t.Helper()
	url := database(t)
	a, b = openAt(t, url, postgres.Options{TTL: ttl, Host: "a"}), openAt(t, url, postgres.Options{TTL: ttl, Host: "b", Version: "v2", Roles: []string{"turns"}})
	answers(t, b, f)
	return a, b
}

// holding has s hold the lease until the test ends.
func holding(t *testing.T, s *engine.Store, name string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	holds, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Hold(ctx, name, func(ctx context.Context) error { close(holds); <-ctx.Done(); return nil })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	await(t, holds)
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestCallByEachName: a node is found by its id, by a key that it has claimed, and
// by a lease.
func TestCallByEachName(t *testing.T) {
	a, b := two(t, func(_ context.Context, method string, args []byte) ([]byte, error) {
		return fmt.Appendf(nil, "%s of %s", method, args), nil
	})
	claims, _ := serve(t, b)
	_, err := b.Accept(t.Context(), one)
	must(t, err)
	h := next(t, claims)
	holding(t, b, "l")
	for _, to := range []sessions.Peer{{Node: idOf(t, b)}, {Key: k1}, {Lease: "l"}} {
		got, err := peers(a).Call(within(t), to, "size", []byte("x\x00y"))
		if err != nil || string(got) != "size of x\x00y" {
			t.Errorf("Call(%+v) = %q, %v", to, got, err)
		}
	}
	close(h.leave)
	answers(t, a, nil)
	for _, to := range []sessions.Peer{{Node: idOf(t, a)}, {Node: "none"}, {Key: k2}, {Lease: "none"}} {
		if got, err := peers(a).Call(within(t), to, "size", nil); !errors.Is(err, sessions.ErrNoPeer) {
			t.Errorf("Call(%+v) = %q, %v, want ErrNoPeer", to, got, err)
		}
	}
	list, err := peers(a).Nodes(t.Context())
	must(t, err)
	if len(list) != 2 || list[0].Host != "b" || list[0].Version != "v2" || list[0].Roles[0] != "turns" || list[0].Leases[0].Name != "l" || time.Since(list[0].Leases[0].Since) > time.Hour || list[0].Self ||
		list[0].Lag < 0 || list[0].Lag > time.Minute || time.Since(list[0].Since) > time.Hour || !list[1].Self {
		t.Errorf("Nodes = %+v", list)
	}
}

// TestLargeCalls: data larger than a notification is sent in parts, up to a limit.
func TestLargeCalls(t *testing.T) {
	a, b := two(t, func(_ context.Context, _ string, args []byte) ([]byte, error) {
		return bytes.Repeat(args, 2), nil
	})
	to := sessions.Peer{Node: idOf(t, b)}
	half := bytes.Repeat([]byte{0, 'a', 255}, sessions.MaxAnswer/6)
	if got, err := peers(a).Call(within(t), to, "twice", half); err != nil || !bytes.Equal(got, bytes.Repeat(half, 2)) {
		t.Errorf("Call = %d bytes, %v, want %d", len(got), err, 2*len(half))
	}
	if got, err := peers(a).Call(within(t), to, "twice", append(half, 1, 2, 3)); err == nil {
		t.Errorf("Call = %d bytes, want an error", len(got))
	}
	if got, err := peers(a).Call(within(t), to, "twice", make([]byte, sessions.MaxAnswer+1)); err == nil {
		t.Errorf("Call = %d bytes, want an error", len(got))
	}
}

// TestErrorsOfCalls: errors keep their text and the classes that callers branch on.
func TestErrorsOfCalls(t *testing.T) {
	list := map[string]error{
		"found":     fmt.Errorf("look: %w", sessions.ErrNotFound),
		"permanent": &channels.NotSent{Err: fmt.Errorf("%w: the bot was blocked", channels.ErrPermanent)},
		"retry":     &channels.Retry{After: 7 * time.Second, Err: errors.New("slow down")},
		"plain":     errors.New(strings.Repeat("é", 10000)),
		"panic":     nil,
	}
	a, b := two(t, func(_ context.Context, method string, _ []byte) ([]byte, error) {
		if method == "panic" {
			panic("oh")
		}
		return []byte("not seen"), list[method]
	})
	to := sessions.Peer{Node: idOf(t, b)}
	fail := func(method string) error {
		t.Helper()
		got, err := peers(a).Call(within(t), to, method, nil)
		if err == nil || got != nil || list[method] != nil && !strings.Contains(err.Error(), list[method].Error()[:10]) {
			t.Errorf("%s: %q, %v", method, got, err)
		}
		return err
	}
	if err := fail("found"); !errors.Is(err, sessions.ErrNotFound) || errors.Is(err, channels.ErrPermanent) {
		t.Error(err)
	}
	if err := fail("permanent"); !errors.Is(err, channels.ErrPermanent) || !errors.As(err, new(*channels.NotSent)) {
		t.Error(err)
	}
	var retry *channels.Retry
	if err := fail("retry"); !errors.As(err, &retry) || retry.After != 7*time.Second {
		t.Error(err)
	}
	for _, method := range []string{"plain", "panic"} {
		if err := fail(method); errors.As(err, &retry) || errors.As(err, new(*channels.NotSent)) {
			t.Error(err)
		}
	}
}

// TestCallIsGivenUp: a call ends when its caller stops waiting.
func TestCallIsGivenUp(t *testing.T) {
	began, over := make(chan struct{}), make(chan struct{})
	a, b := two(t, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		close(began)
		<-ctx.Done()
		close(over)
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := peers(a).Call(ctx, sessions.Peer{Node: idOf(t, b)}, "wait", nil); ended <- err }()
	await(t, began)
	cancel()
	await(t, over)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Call = %v", err)
	}
}

// TestCalledNodeDies: its callers do not wait for ever.
func TestCalledNodeDies(t *testing.T) {
	began := make(chan struct{})
	a, b := two(t, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	to := sessions.Peer{Node: idOf(t, b)}
	ended := make(chan error, 1)
	go func() { _, err := peers(a).Call(t.Context(), to, "wait", nil); ended <- err }()
	await(t, began)
	postgres.Freeze(b)
	if err := <-ended; err == nil || errors.As(err, new(*channels.NotSent)) {
		t.Errorf("Call = %v, want that nobody knows", err)
	}
	if _, err := peers(a).Call(within(t), to, "wait", nil); !errors.Is(err, sessions.ErrNoPeer) {
		t.Errorf("Call of a dead node = %v", err)
	}
}

// TestHolderIsNotified: a node learns at once that another has changed a key that it
// has claimed, or has ended its claim.
func TestHolderIsNotified(t *testing.T) {
	changed := make(chan string, 10)
	a, b := two(t, func(_ context.Context, method string, args []byte) ([]byte, error) {
		changed <- method + " " + string(args)
		return nil, nil
	})
	fenced := make(chan error, 1)
	begun := make(chan sessions.Claim, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- b.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			select {
			case begun <- c:
			default:
				return nil
			}
			<-ctx.Done()
			fenced <- context.Cause(ctx)
			cancel()
			return nil
		})
	}()
	_, err := b.Accept(t.Context(), one)
	must(t, err)
	<-begun
	_, err = a.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: "2", Text: "more"}})
	must(t, err)
	if got := <-changed; got != "changed x:1" {
		t.Errorf("told %q", got)
	}
	_, err = a.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k1, ID: "3", Text: "/new"}, Answered: true, Control: sessions.ControlNew})
	must(t, err)
	if err := <-fenced; !errors.Is(err, sessions.ErrFenced) {
		t.Errorf("the claim ended with %v", err)
	}
	must(t, <-ended)
	select {
	case got := <-changed:
		t.Errorf("told %q", got)
	default:
	}
}

// TestCallAll: a call to all reaches every other node, and waits for no answer.
func TestCallAll(t *testing.T) {
	told := make(chan string, 10)
	hears := func(_ context.Context, method string, _ []byte) ([]byte, error) {
		told <- method
		return nil, errors.New("the caller does not get this")
	}
	a, _ := two(t, hears)
	answers(t, a, hears)
	for _, method := range []string{"x", "y"} {
		if _, err := peers(a).Call(within(t), sessions.Peer{All: true}, method, nil); err != nil {
			t.Error(err)
		}
	}
	if got := []string{<-told, <-told}; len(told) > 0 || !slices.Contains(got, "x") || !slices.Contains(got, "y") {
		t.Errorf("told %v and %d more", got, len(told))
	}
}

// TestLostNotifications: a node whose connection broke ends the calls that wait for it,
// and checks its claims again.
func TestLostNotifications(t *testing.T) {
	began, changed := make(chan struct{}), make(chan struct{}, 10)
	url := database(t)
	a, b := openAt(t, url, postgres.Options{TTL: time.Hour}), openAt(t, url, postgres.Options{TTL: time.Hour})
	answers(t, b, func(ctx context.Context, method string, _ []byte) ([]byte, error) {
		switch method {
		case "wait":
			close(began)
			<-ctx.Done()
		case sessions.MethodChanged:
			changed <- struct{}{}
		}
		return []byte("here"), nil
	})
	claims, _ := serve(t, b)
	_, err := b.Accept(t.Context(), one)
	must(t, err)
	h := next(t, claims)
	to := sessions.Peer{Node: idOf(t, b)}
	ended := make(chan error, 1)
	go func() { _, err := peers(a).Call(t.Context(), to, "wait", nil); ended <- err }()
	await(t, began)
	must(t, pgtest.Do(t.Context(), url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN "dragoman_%"dragoman_`+to.Node+`"%' AND pid <> pg_backend_pid() AND datname = current_database()`))
	if err := <-ended; err == nil {
		t.Error("a lost call has an answer")
	}
	await(t, changed)
	close(h.leave)
	// A call that a makes before it receives b's reset is lost, too.
	testkit.Eventually(t, "an answer", func() bool {
		got, err := peers(a).Call(within(t), to, "again", nil)
		return err == nil && string(got) == "here"
	})
}

// TestFrozenNodeIsCalled: a frozen node that wakes refuses calls, because their callers
// may have given up.
func TestFrozenNodeIsCalled(t *testing.T) {
	url := database(t)
	a, b := openAt(t, url, postgres.Options{}), openAt(t, url, postgres.Options{})
	answers(t, b, func(context.Context, string, []byte) ([]byte, error) { return []byte("begun"), nil })
	to := sessions.Peer{Node: idOf(t, b)}
	if _, err := peers(a).Call(within(t), to, "x", nil); err != nil {
		t.Fatal(err)
	}
	postgres.Stale(b)
	if got, err := peers(a).Call(within(t), to, "x", nil); !errors.Is(err, sessions.ErrNoPeer) {
		t.Errorf("Call = %q, %v", got, err)
	}
}
