//go:build !nopostgres

package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/stream"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// nodeAt is a node on the database at url. If it tells, it tells the others its news.
func nodeAt(t *testing.T, url string, tells bool) process {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	d.openEvents(s)
	ctx, end := context.WithCancel(t.Context())
	serving, following := make(chan error, 1), make(chan struct{})
	if tells {
		d.peers = s.Backend().(sessions.Peers)
		d.openFollower()
	}
	go func() {
		defer close(following)
		if tells {
			d.follower.Run(ctx)
		}
	}()
	go func() {
		serving <- s.Backend().(sessions.Peers).Serve(ctx, func(ctx context.Context, method string, args []byte) ([]byte, error) {
			if f := newsMethods(d.follower)[method]; f != nil {
				return f(ctx, args)
			}
			return nil, sessions.ErrNoPeer
		})
	}()
	t.Cleanup(func() {
		end()
		<-following
		if err := <-serving; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return process{s, d.events}
}

// hears reads events until one says want, and returns how long that took.
func hears(t *testing.T, l *stream.Listener, want string) (took time.Duration, cursor string) {
	t.Helper()
	began := time.Now()
	for {
		got, at := next(t, l)
		if slices.Contains(got, want) {
			return time.Since(began), at
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("heard %q, not %s", got, want)
		}
	}
}

// A listener at one node hears what another one stored and delivered, within a second: when
// that node tells, and when it was killed before it could.
func TestEventsOfAnotherNode(t *testing.T) {
	server := pgtest.New(t, pgtest.Options{})
	for name, tells := range map[string]bool{"tells": true, "was_killed": false} {
		t.Run(name, func(t *testing.T) {
			server.Do(t, "postgres", "CREATE DATABASE "+name)
			url := server.URL(name)
			here := nodeAt(t, url, true)
			there := nodeAt(t, url, tells)
			l, err := here.events.Listen(t.Context(), stream.Filter{}, "")
			if err != nil {
				t.Fatal(err)
			}
			there.accept(t, "1")
			took, _ := hears(t, l, "message_accepted net:1/1 ")
			there.answer(t, true)
			sent, cursor := hears(t, l, "delivery_changed net:1/2 sent")
			t.Logf("heard of the message after %s, of the delivery after %s", took, sent)

			l.Close()
			there.accept(t, "2") // nobody listens
			l, err = here.events.Listen(t.Context(), stream.Filter{}, cursor)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			hears(t, l, "message_accepted net:1/3 ")
		})
	}
}

// A listener gets no event of another node twice, and one that wants only those of its own
// node gets none.
func TestEventsOfAnotherNodeOnce(t *testing.T) {
	url := pgtest.New(t, pgtest.Options{}).URL("postgres")
	here, there := nodeAt(t, url, true), nodeAt(t, url, true)
	own, err := here.events.Listen(t.Context(), stream.Filter{Own: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	l, err := here.events.Listen(t.Context(), stream.Filter{}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	there.accept(t, "1")
	hears(t, l, "message_accepted net:1/1 ")
	time.Sleep(2 * time.Second) // it looks several times
	m := channels.Inbound{Key: channels.MustKey("net:9"), ID: "own", Text: "hello", At: time.Now()}
	if _, err := here.Accept(t.Context(), sessions.Entry{Inbound: m}); err != nil {
		t.Fatal(err)
	}
	// A look between its commit and its publication finds this one, too, which is allowed.
	got, _ := next(t, l)
	if len(got) == 0 || slices.ContainsFunc(got, func(e string) bool { return !strings.Contains(e, "net:9/1") }) {
		t.Errorf("then heard %q", got)
	}
	if got, _ := next(t, own); len(got) != 1 || !strings.Contains(got[0], "net:9/1") {
		t.Errorf("of its own node: %q", got)
	}
}
