package channeltest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/testkit"

	"go.uber.org/goleak"
)

// session is one running channel.
type session struct {
	net   Network
	ch    channels.Channel
	inbox *Inbox
	stop  func(t *testing.T) // ends Run and checks how it ends; may be called again
}

// start opens a channel, runs it and waits until it is connected.
func start(t *testing.T, net Network, inbox *Inbox) *session {
	t.Helper()
	return run(t, net, net.Open(t), inbox)
}

// Start runs ch until the test ends or stop is called. Run must return nil.
func Start(t testing.TB, ch channels.Channel, in channels.Intake) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, in) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// run runs ch and waits until it is connected. When the test ends the channel
// is stopped and the inbox's violations fail the test.
func run(t *testing.T, net Network, ch channels.Channel, inbox *Inbox) *session {
	t.Helper()
	inbox.reopen()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, inbox) }()
	var once sync.Once
	s := &session{net: net, ch: ch, inbox: inbox}
	s.stop = func(t *testing.T) {
		t.Helper()
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				inbox.close()
				if err != nil {
					t.Errorf("Run after its context ended = %v, want nil", err)
				}
			case <-time.After(stopTime):
				t.Errorf("Run had not returned %s after its context ended", stopTime)
			}
			for _, wrong := range inbox.Violations() {
				t.Error(wrong)
			}
		})
	}
	t.Cleanup(func() { s.stop(t) })
	connected(t, ch)
	return s
}

// connected waits until ch reports that it is connected, if it is a Reporter.
func connected(t *testing.T, ch channels.Channel) {
	t.Helper()
	reporter, ok := ch.(channels.Reporter)
	if !ok {
		return
	}
	eventually(t, "the channel to be connected", func() bool {
		return reporter.Status().State == channels.StateConnected
	})
}

// eventually calls done until it returns true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	if !testkit.Poll(soon, done) {
		t.Fatalf("waited %s in vain for %s", soon, what)
	}
}

// send sends text as one piece and returns the receipt and the error.
func (s *session) send(t *testing.T, id, text string) (channels.Receipt, error) {
	t.Helper()
	return s.sendMessage(t, channels.Outbound{ID: id, Key: s.net.Key(), Text: text, Attempt: 1})
}

func (s *session) sendMessage(t *testing.T, m channels.Outbound) (channels.Receipt, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	r, err := s.ch.Send(ctx, m)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		t.Errorf("Send(%s) took longer than %s", m.ID, sendTime)
	}
	return r, err
}

// mustSend splits text as the gateway does and sends all of it.
func (s *session) mustSend(t *testing.T, id, text string) {
	t.Helper()
	for i, piece := range split(s.ch, s.net.Key(), text) {
		m := channels.Outbound{ID: id + "-" + string(rune('a'+i%26)) + strings.Repeat("z", i/26), Key: s.net.Key(), Text: piece.Text, Form: piece.Form, Attempt: 1}
		if _, err := s.sendMessage(t, m); err != nil {
			t.Fatalf("Send(%s, piece %d) = %v, want nil", id, i, err)
		}
	}
}

// split returns one piece if the channel is no Splitter.
func split(ch channels.Channel, k channels.Key, text string) []channels.Piece {
	if s, ok := ch.(channels.Splitter); ok {
		return s.Split(k, text)
	}
	return []channels.Piece{{Text: text}}
}

// newlySeen returns the messages that the person sees after the first n.
func newlySeen(t *testing.T, net Network, n int) []string {
	t.Helper()
	seen := net.Seen(t)
	if len(seen) < n {
		t.Fatalf("the person saw %d messages and now sees %d", n, len(seen))
	}
	return seen[n:]
}

// words makes texts comparable: networks may change white space and line
// breaks, and nothing else.
func words(texts ...string) []string { return strings.Fields(strings.Join(texts, " ")) }

// leakCheck returns a function that fails the test if goroutines that did not
// run when leakCheck was called still run.
func leakCheck(net Network) func(t *testing.T) {
	options := []goleak.Option{goleak.IgnoreCurrent()}
	if l, ok := net.(Leaker); ok {
		options = append(options, l.IgnoreGoroutines()...)
	}
	return func(t *testing.T) {
		t.Helper()
		if err := goleak.Find(options...); err != nil {
			t.Errorf("goroutines are left after Run returned: %v", err)
		}
	}
}
