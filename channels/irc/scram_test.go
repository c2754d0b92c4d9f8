package irc_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
	"dragoman/channels/irc"
)

// The exchange of RFC 7677, section 3.
func TestScram(t *testing.T) {
	next := irc.Scram("user", "pencil", "rOprNGfwEbeRWgbNEkqO")
	for i, test := range []struct{ said, want string }{
		{"", "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"},
		{
			"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
			"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
		},
		{"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", ""},
	} {
		if got, err := next(test.said); err != nil || got != test.want {
			t.Errorf("step %d = %q, %v, want %q", i+1, got, err, test.want)
		}
	}
	for name, said := range map[string]string{
		"another nonce":  "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
		"our nonce":      "r=nonce,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
		"too few rounds": "r=nonce2,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1",
		"too many":       "r=nonce2,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=2000000000",
		"no salt":        "r=nonce2,i=4096",
	} {
		next := irc.Scram("user", "pencil", "nonce")
		next("")
		if answer, err := next(said); err == nil {
			t.Errorf("%s is answered with %q, want an error", name, answer)
		}
	}
	next = irc.Scram("user", "pencil", "nonce")
	next("")
	next("r=nonce2,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
	if _, err := next("v=AAAA"); err == nil {
		t.Error("a server that does not know the password is believed")
	}
}

// If SCRAM is offered, the password is not sent. An account without a SCRAM verifier logs in
// with PLAIN.
func TestScramIsPreferred(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: []string{"sasl=PLAIN,SCRAM-SHA-256"}, Accounts: map[string]string{"dragoman": "pw"}})
	o := quick(addr)
	o.SASL = irc.SASL{Mechanism: "PLAIN", User: "dragoman", Password: "pw", Required: true}
	b := run(t, o)
	b.waitStatus("connected", func(s channels.Status) bool { return s.State == channels.StateConnected })
	said := strings.Join(srv.Heard("dragoman"), "\n")
	first, second := strings.Index(said, "AUTHENTICATE SCRAM-SHA-256"), strings.Index(said, "AUTHENTICATE PLAIN")
	if first < 0 || second < first {
		t.Errorf("said %q, want SCRAM before PLAIN", said)
	}
}

// A network that offers SCRAM and not PLAIN gets SCRAM, and never the password.
func TestScramWithoutPlain(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: []string{"sasl=SCRAM-SHA-256"}, Accounts: map[string]string{"dragoman": "pw"}})
	o := quick(addr)
	o.SASL = irc.SASL{Mechanism: "PLAIN", User: "dragoman", Password: "pw", Required: true}
	b := run(t, o)
	b.waitStatus("failed", func(s channels.Status) bool { return s.State == channels.StateFailed }) // this server cannot do SCRAM
	said := strings.Join(slices.Concat(srv.Heard("dragoman"), srv.Heard("*")), "\n")
	if !strings.Contains(said, "AUTHENTICATE SCRAM-SHA-256") || strings.Contains(said, "AUTHENTICATE PLAIN") {
		t.Errorf("said %q, want SCRAM and no PLAIN", said)
	}
}

// The typing tag is sent if the network passes it on, and only from spare flood budget.
func TestTyping(t *testing.T) {
	for name, test := range map[string]struct {
		caps        []string
		burst, want int
	}{
		"offered":   {modern, 100, 2},
		"no tags":   {nil, 100, 0},
		"no budget": {modern, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, ircd.Config{Caps: test.caps})
			o := quick(addr)
			o.Channels = []string{"#go"}
			o.FloodBurst = test.burst
			o.FloodEvery = time.Hour
			b := start(t, o)
			b.waitIn("irc:#go")
			for _, k := range []string{"irc:#go", "irc:alice"} {
				if err := b.ch.Typing(t.Context(), channels.MustKey(k)); err != nil {
					t.Errorf("Typing = %v", err)
				}
			}
			ircd.Join(t, addr, "alice").Say("dragoman", "done")
			b.inbox.Wait(t, 1)
			srv.Inject("dragoman", "PING :flush")
			srv.WaitHeard("dragoman", "PONG flush", 1, time.Minute)
			n := 0
			for _, l := range srv.Heard("dragoman") {
				if strings.HasPrefix(l, "@+typing=active TAGMSG ") {
					n++
				}
			}
			if n != test.want {
				t.Errorf("it sent %d signs, want %d", n, test.want)
			}
		})
	}
}
