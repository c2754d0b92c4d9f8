package irc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	stdnet "net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/ircd"
	"dragoman/channels/irc"
)

// world returns a server, and options that reach it over pipes, for synctest bubbles. All
// waits have their real lengths.
func world(conf ircd.Config) (*ircd.Server, irc.Options) {
	srv := ircd.New(conf)
	return srv, irc.Options{
		Server: "irc.example.org:6667", Nick: "dragoman", Channels: []string{"#go"}, Logger: slog.New(slog.DiscardHandler),
		Dial: func(context.Context, string, string) (stdnet.Conn, error) { return pipe(srv), nil },
	}
}

func pipe(srv *ircd.Server) stdnet.Conn {
	ours, theirs := stdnet.Pipe()
	srv.Serve(theirs)
	return ours
}

// inBubble runs a channel in a bubble and calls f.
func inBubble(t *testing.T, conf ircd.Config, change func(*irc.Options), f func(t *testing.T, srv *ircd.Server, ch *irc.Channel)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv, o := world(conf)
		defer srv.Close()
		if change != nil {
			change(&o)
		}
		ch, err := irc.New("irc", o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- ch.Run(ctx, channeltest.NewInbox()) }()
		synctest.Wait()
		f(t, srv, ch)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}

// The default budget: four lines at once, then one every two seconds.
func TestDefaultPace(t *testing.T) {
	inBubble(t, ircd.Config{}, nil, func(t *testing.T, srv *ircd.Server, ch *irc.Channel) {
		alice := ircd.Attach(t, pipe(srv), "alice")
		defer alice.Close()
		time.Sleep(time.Minute) // The JOIN has taken a line; the budget fills up again.
		began := time.Now()
		var at []string
		for i := range 7 {
			if _, err := ch.Send(t.Context(), channels.Outbound{Key: channels.MustKey("irc:alice"), Text: fmt.Sprint("line ", i)}); err != nil {
				t.Fatalf("Send = %v", err)
			}
			at = append(at, time.Since(began).Round(time.Second).String())
		}
		if got, want := strings.Join(at, " "), "0s 0s 0s 0s 2s 4s 6s"; got != want {
			t.Errorf("lines were confirmed after %s, want %s", got, want)
		}
	})
}

// A server that accepts the connection and stays silent is given up after a minute; one that
// falls silent later, after an unanswered PING.
func TestSilentServers(t *testing.T) {
	t.Run("at once", func(t *testing.T) {
		var dials atomic.Int32
		inBubble(t, ircd.Config{}, func(o *irc.Options) {
			dial := o.Dial
			o.Dial = func(ctx context.Context, network, address string) (stdnet.Conn, error) {
				dials.Add(1)
				return dial(ctx, network, address)
			}
		}, func(t *testing.T, srv *ircd.Server, ch *irc.Channel) {
			srv.Deafen(true)
			srv.Cut()
			time.Sleep(4 * time.Second) // The next dial has happened.
			before := dials.Load()
			time.Sleep(75 * time.Second) // A minute, and the wait before the next dial.
			if dials.Load() == before {
				t.Errorf("Status = %+v after a minute without a welcome, and no new dial", ch.Status())
			}
			srv.Deafen(false)
			srv.Cut()
			time.Sleep(time.Minute)
			if s := ch.Status(); s.State != channels.StateConnected {
				t.Errorf("Status = %+v when the server speaks again, want connected", s)
			}
		})
	})
	t.Run("later", func(t *testing.T) {
		inBubble(t, ircd.Config{}, nil, func(t *testing.T, srv *ircd.Server, ch *irc.Channel) {
			time.Sleep(time.Hour) // Its PINGs are answered.
			if s := ch.Status(); s.State != channels.StateConnected || time.Since(s.Since) < 59*time.Minute {
				t.Errorf("Status = %+v after an hour, want connected since then", s)
			}
			srv.Deafen(true)
			time.Sleep(61*time.Second + 31*time.Second + 2*time.Second)
			if s := ch.Status(); s.State == channels.StateConnected {
				t.Errorf("Status = %+v, want it to have noticed", s)
			}
			srv.Deafen(false)
		})
	})
}

// Waits grow, stay under their bound, and have jitter.
func TestReconnectPace(t *testing.T) {
	var dials []time.Time
	inBubble(t, ircd.Config{}, func(o *irc.Options) {
		o.Dial = func(context.Context, string, string) (stdnet.Conn, error) {
			dials = append(dials, time.Now())
			return nil, errors.New("refused")
		}
	}, func(t *testing.T, _ *ircd.Server, ch *irc.Channel) {
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := len(dials); n < 20 || n > 60 {
			t.Errorf("%d dials in two hours, want a few tens", n)
		}
		for i := 1; i < len(dials); i++ {
			wait := dials[i].Sub(dials[i-1])
			most := min(2*time.Second<<min(i-1, 20), 5*time.Minute)
			if wait < most/2 || wait > most*3/2+time.Millisecond {
				t.Errorf("wait %d was %s, want around %s", i, wait, most)
			}
		}
		if s := ch.Status(); s.State != channels.StateDown || !strings.Contains(s.Detail, "refused") {
			t.Errorf("Status = %+v, want down and why", s)
		}
	})
}

// If NickServ does not recognise us, joining is only delayed. The status quotes NickServ,
// without the password.
func TestNickServSilent(t *testing.T) {
	inBubble(t, ircd.Config{}, func(o *irc.Options) {
		o.NickServ.Password = "pw"
	}, func(t *testing.T, srv *ircd.Server, ch *irc.Channel) {
		if srv.WaitHeard("dragoman", "JOIN", 1, 7*time.Second) {
			t.Error("it joined before NickServ had its time")
		}
		if !srv.WaitHeard("dragoman", "JOIN", 1, 5*time.Second) {
			t.Error("it has not joined although NickServ does not know it")
		}
		detail := func(want string) {
			t.Helper()
			synctest.Wait()
			if s := ch.Status(); s.State != channels.StateConnected || s.Detail != want {
				t.Errorf("Status = %+v, want connected and %q", s, want)
			}
		}
		detail(`not identified: NickServ said "Invalid password for dragoman."`)
		srv.Inject("dragoman", ":NickServ!s@s NOTICE dragoman :\x02pw\x02 is a wrong password")
		detail(`not identified: NickServ said "<secret> is a wrong password"`)
		srv.Inject("dragoman", ":NickServ!s@s NOTICE dragoman :You are now identified")
		detail("")
	})
}

// A channel that is closed or forwards us is retried after 10 seconds, then after twice as
// long each time, up to five minutes. The log gives the reason once.
func TestClosedChannelPace(t *testing.T) {
	for name, test := range map[string]struct {
		conf  ircd.Config
		why   string
		warns int
	}{
		"kicked, then banned": {ircd.Config{}, "we are banned", 2},
		"forwarded":           {ircd.Config{Forward: map[string]string{"#go": "##more"}}, "the network forwards us to ##more", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var log *memoryLog
			inBubble(t, test.conf, func(o *irc.Options) { log = logTo(o) }, func(t *testing.T, srv *ircd.Server, ch *irc.Channel) {
				if test.conf.Forward == nil {
					alice := ircd.Attach(t, pipe(srv), "alice", "#go")
					defer alice.Close()
					srv.Deny("#go", "474 :banned")
					alice.Raw("KICK #go dragoman :out")
				}
				var tries []time.Duration
				for began := time.Now(); time.Since(began) < time.Hour; time.Sleep(time.Second) {
					synctest.Wait()
					joins := 0
					for _, l := range srv.Heard("dragoman") {
						if strings.HasPrefix(l, "JOIN") {
							joins++
						}
					}
					for len(tries) < joins {
						tries = append(tries, time.Since(began))
					}
				}
				for i, want := 1, 10*time.Second; i < len(tries); i, want = i+1, min(2*want, 5*time.Minute) {
					if wait := tries[i] - tries[i-1]; wait < want || wait > want+3*time.Second {
						t.Errorf("JOIN %d came after %s, want about %s", i, wait, want)
					}
				}
				if len(tries) < 10 {
					t.Errorf("%d JOINs in an hour, want one every five minutes at the least", len(tries))
				}
				if s := ch.Status(); s.State != channels.StateConnected || !strings.Contains(s.Detail, "not in #go: "+test.why) {
					t.Errorf("Status = %+v, want connected, and %s", s, test.why)
				}
				if s := log.String(); strings.Count(s, "WARN") != test.warns {
					t.Errorf("it logged %s\nwant %d warnings", s, test.warns)
				}
				srv.Deny("#go", "")
				time.Sleep(6 * time.Minute)
				if s := ch.Status(); s.Detail != "" && test.conf.Forward == nil {
					t.Errorf("Status = %+v, want nothing amiss", s)
				}
			})
		})
	}
}
