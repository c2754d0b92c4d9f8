package gateway_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/alerts"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// noRoom accepts no entries while it is full.
type noRoom struct {
	gateway.Inbox
	full atomic.Bool
}

func (s *noRoom) Accept(ctx context.Context, e sessions.Entry) (sessions.Acceptance, error) {
	if s.full.Load() {
		return sessions.Acceptance{}, errors.New("the disk is full")
	}
	return s.Inbox.Accept(ctx, e)
}

// A text for Tell waits in the outbox for its network, which may fail, and
// starts no turn.
func TestTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		to := channels.MustKey("net:1")
		var up atomic.Bool
		w.net.failWith(func(channels.Outbound) error {
			if !up.Load() {
				return &channels.NotSent{Err: errors.New("away")}
			}
			return nil
		})
		if err := w.gw.Tell(t.Context(), to, "a", "irc is away"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		w.expect("1")
		up.Store(true)
		time.Sleep(time.Minute)
		w.expect("1", "irc is away")
		if n := w.agent.count(); n != 0 {
			t.Errorf("%d turns ran, want none", n)
		}
		if err := w.gw.Tell(t.Context(), channels.MustKey("gone:1"), "b", "x"); err == nil {
			t.Error("Tell on a channel that is not there = nil")
		}
	})
}

// The chats of one channel are told one by one, each once.
func TestTellEveryChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for range 2 {
			for _, chat := range []string{"net:1", "net:2"} {
				if err := w.gw.Tell(t.Context(), channels.MustKey(chat), "read-along", "somebody reads"); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Minute)
		w.expect("1", "somebody reads")
		w.expect("2", "somebody reads")
	})
}

// A notice about a full disk is sent once, although it cannot be stored.
func TestTellOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store *noRoom
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			store = &noRoom{Inbox: w.mem}
			store.full.Store(true)
			w.store.Inbox = store
		})
		to := channels.MustKey("net:1")
		watcher := alerts.New(alerts.Options{
			After: 5 * time.Minute,
			Look: func(context.Context) []alerts.Trouble {
				if store.full.Load() {
					return []alerts.Trouble{{ID: "disk", Name: "Disk fails", Well: "Disk works"}}
				}
				return nil
			},
			Reachable: func() bool { return w.gw.Channels()["net"].State == channels.StateConnected },
			Tell:      func(ctx context.Context, id, text string) error { return w.gw.Tell(ctx, to, id, text) },
		})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); watcher.Run(ctx) }()
		defer func() { end(); <-ended }()
		w.net.failWith(func(channels.Outbound) error { return errors.New("for the first hour") })
		time.Sleep(time.Hour)
		w.net.failWith(nil)
		time.Sleep(time.Hour)
		store.full.Store(false)
		time.Sleep(time.Hour)
		var first []string
		for _, text := range w.net.texts("1") {
			first = append(first, text[:5])
		}
		if diff := cmp.Diff([]string{"Somet", "Worki"}, first); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}
