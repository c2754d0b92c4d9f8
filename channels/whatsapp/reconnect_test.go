//go:build !nowhatsapp

package whatsapp_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	"go.mau.fi/whatsmeow/types/events"
)

// pauses is a log handler that records the announced pauses.
type pauses struct {
	slog.Handler
	mu   sync.Mutex
	seen []time.Duration
}

func (p *pauses) Enabled(context.Context, slog.Level) bool { return true }
func (p *pauses) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p *pauses) WithGroup(string) slog.Handler            { return p }

func (p *pauses) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "wait" && strings.HasPrefix(r.Message, "pausing before the next connection") {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.seen = append(p.seen, a.Value.Duration())
		}
		return true
	})
	return nil
}

func (p *pauses) all() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Duration(nil), p.seen...)
}

// If a server accepts each login and then ends the stream, the pauses grow. They are short
// again only after a connection that lasted for a while, or carried a message.
func TestPausesGrowWhileNothingHolds(t *testing.T) {
	const times = 4
	for name, test := range map[string]struct {
		steady time.Duration // 0 for the default
		talk   bool          // a message comes on each connection
		grows  bool
	}{"cut at once": {0, false, true}, "held": {time.Nanosecond, false, false}, "used": {0, true, false}} {
		t.Run(name, func(t *testing.T) {
			n, log := newNetwork(t, wasim.Options{}), &pauses{}
			c := n.open(t, whatsapp.Options{Logger: slog.New(log)})
			if test.steady > 0 {
				whatsapp.SetSteadyAfter(c, test.steady)
			}
			inbox := channeltest.NewInbox()
			channeltest.Start(t, c, inbox)
			reach(t, c, channels.StateConnected, "")
			for i := range times {
				if test.talk {
					n.ann.Say("hello")
					inbox.Wait(t, i+1)
					if err := n.WaitDrained(within(t)); err != nil {
						t.Fatal(err)
					}
				}
				before := n.Logins()
				n.Faults.StreamError(500)
				if err := n.Wait(within(t), func() bool { return n.Logins() > before }); err != nil {
					t.Fatal("the channel did not log in again:", err)
				}
				reach(t, c, channels.StateConnected, "")
			}
			seen := log.all()
			if len(seen) != times {
				t.Fatalf("%d pauses %v, want %d", len(seen), seen, times)
			}
			for i, got := range seen {
				most := 200 * time.Millisecond
				if test.grows {
					most <<= i
				}
				if got < most/2 || got > most {
					t.Errorf("pause %d took %s, want %s to %s", i+1, got, most/2, most)
				}
			}
		})
	}
}

// The status says when a ban ends, and the channel waits until then: one login learns of
// the ban, and the next comes after its end.
func TestBan(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := connected(t, n, whatsapp.Options{})
	dials := n.Count("dial")
	n.Faults.Ban(3 * time.Second)
	n.Faults.Drop()
	reach(t, c, channels.StateDown, "banned until ")
	n.ann.Say("are you back?")
	inbox.Wait(t, 1)
	reach(t, c, channels.StateConnected, "")
	if got := n.Count("dial") - dials; got != 2 {
		t.Errorf("%d dials, want one before the ban and one after it", got)
	}
}

func TestBannedUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is midnight, 2000-01-01 UTC
		for _, test := range []struct {
			expire, after time.Duration
			want          string
		}{
			{90 * time.Minute, 90 * time.Minute, "banned until 2000-01-01 01:30 UTC by WhatsApp (reason 104)"},
			{49 * time.Hour, 49 * time.Hour, "banned until 2000-01-03 01:00 UTC by WhatsApp (reason 104)"},
			{0, time.Hour, "banned for an unknown time by WhatsApp (reason 104)"},
		} {
			got, after := whatsapp.Banned(&events.TemporaryBan{Code: events.TempBanReason(104), Expire: test.expire})
			if !strings.HasPrefix(got, test.want+"; it will connect again after that") || after != test.after {
				t.Errorf("a ban for %s: %q after %s, want %q after %s", test.expire, got, after, test.want, test.after)
			}
		}
	})
}

// A connection without answers is given up, but not after a short silence.
func TestSilentConnection(t *testing.T) {
	c := newNetwork(t, wasim.Options{}).open(t, whatsapp.Options{})
	if whatsapp.Silent(c, 30*time.Second) {
		t.Error("a connection was given up 30 seconds after the last answer")
	}
	if !whatsapp.Silent(c, 2*time.Minute) {
		t.Error("a connection was kept 2 minutes after the last answer")
	}
}

// These settings matter, but no scenario shows it: two connections to the file could
// conflict during a decryption, without foreign keys a removed device would leave its
// keys, and without the other settings a crash could lose a message.
func TestSettings(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	got, err := whatsapp.SettingsOfDevice(t.Context(), n.open(t, whatsapp.Options{}), n.file)
	if err != nil {
		t.Fatal(err)
	}
	want := whatsapp.DeviceSettings{MaxOpen: 1, ForeignKeys: 1, Synchronous: 2, Journal: "wal", SynchronousAck: true, EventBuffer: true}
	if got != want {
		t.Errorf("settings = %+v, want %+v", got, want)
	}
}
