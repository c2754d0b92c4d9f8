package irc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	stdnet "net"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/ircd"
	"dragoman/channels/irc"
	"dragoman/internal/testkit"
)

// authority is a CA for one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	cert := must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key))(t)))(t)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return authority{cert, key, pool}
}

// issue makes a certificate for 127.0.0.1.
func (a authority) issue(t *testing.T) tls.Certificate {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []stdnet.IP{stdnet.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der := must(x509.CreateCertificate(rand.Reader, tmpl, a.cert, &key.PublicKey, a.key))(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestSASL(t *testing.T) {
	accounts := map[string]string{"dragoman": "a secret", "long": strings.Repeat("p", 290), "longer": strings.Repeat("q", 700)}
	plainSASL := func(user, pass string, required bool) irc.SASL {
		return irc.SASL{Mechanism: "PLAIN", User: user, Password: pass, Required: required}
	}
	tests := map[string]struct {
		conf      ircd.Config
		sasl      irc.SASL
		state     channels.State
		detail    string // part of it
		joined    bool
		permanent bool
	}{
		"right":                 {ircd.Config{Caps: []string{"sasl=PLAIN,EXTERNAL"}}, plainSASL("dragoman", "a secret", true), channels.StateConnected, "", true, false},
		"right, bare cap":       {ircd.Config{Caps: []string{"sasl"}}, plainSASL("dragoman", "a secret", true), channels.StateConnected, "", true, false},
		"exactly 400 bytes":     {ircd.Config{Caps: []string{"sasl"}}, plainSASL("long", accounts["long"], true), channels.StateConnected, "", true, false},
		"more than 400 bytes":   {ircd.Config{Caps: []string{"sasl"}}, plainSASL("longer", accounts["longer"], true), channels.StateConnected, "", true, false},
		"wrong, required":       {ircd.Config{Caps: []string{"sasl"}}, plainSASL("dragoman", "wrong", true), channels.StateFailed, "refused the SASL PLAIN login", false, true},
		"wrong, not required":   {ircd.Config{Caps: []string{"sasl"}}, plainSASL("dragoman", "wrong", false), channels.StateConnected, "not logged in", true, false},
		"not offered, required": {ircd.Config{Caps: []string{"batch"}}, plainSASL("dragoman", "a secret", true), channels.StateFailed, "does not offer SASL PLAIN", false, false},
		"no caps, required":     {ircd.Config{}, plainSASL("dragoman", "a secret", true), channels.StateFailed, "does not offer SASL PLAIN", false, false},
		"other mechanism":       {ircd.Config{Caps: []string{"sasl=EXTERNAL"}}, plainSASL("dragoman", "a secret", true), channels.StateFailed, "does not offer SASL PLAIN", false, false},
		"cap refused":           {ircd.Config{Caps: []string{"sasl", "batch"}, Refuse: []string{"sasl"}}, plainSASL("dragoman", "a secret", true), channels.StateFailed, "does not offer SASL PLAIN", false, false},
		"aborted, required":     {ircd.Config{Caps: []string{"sasl"}, AbortSASL: true}, plainSASL("dragoman", "a secret", true), channels.StateFailed, "broke off", false, false},
		"not offered, optional": {ircd.Config{}, plainSASL("dragoman", "a secret", false), channels.StateConnected, "not logged in", true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.conf.Accounts = accounts
			srv, addr := serve(t, test.conf)
			alice := ircd.Join(t, addr, "alice", "#go")
			o := quick(addr)
			o.SASL = test.sasl
			o.Channels = []string{"#go"}
			o.ReconnectMax = time.Hour
			b := run(t, o)
			b.waitStatus(string(test.state)+" "+test.detail, func(s channels.Status) bool {
				return s.State == test.state && strings.Contains(s.Detail, test.detail)
			})
			if test.joined {
				b.waitIn("irc:#go")
			} else {
				alice.Sync()
				for _, line := range slices.Concat(srv.Heard("dragoman"), srv.Heard("*")) {
					if strings.HasPrefix(line, "JOIN") || strings.HasPrefix(line, "PRIVMSG") {
						t.Errorf("without the required login it said %q", line)
					}
				}
				if err := b.send("irc:alice", "hello"); err == nil {
					t.Error("Send without the required login = nil, want an error")
				}
			}
			if err := b.stop(); errors.Is(err, channels.ErrPermanent) != test.permanent {
				t.Errorf("Run = %v, want permanent %v", err, test.permanent)
			} else if err != nil && strings.Contains(err.Error(), test.sasl.Password) {
				t.Errorf("Run = %v, which names the password", err)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	client := ca.issue(t)
	conf := ircd.Config{
		Caps: []string{"sasl=EXTERNAL"}, CertAccount: "dragoman",
		TLS: &tls.Config{Certificates: []tls.Certificate{ca.issue(t)}, ClientAuth: tls.RequestClientCert},
	}
	t.Run("external", func(t *testing.T) {
		srv, addr := serve(t, conf)
		o := quick(addr)
		o.TLS, o.TLSConfig = true, &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{client}}
		o.SASL = irc.SASL{Mechanism: "EXTERNAL", Required: true}
		start(t, o)
		if got := srv.Nicks(); !slices.Equal(got, []string{"dragoman"}) {
			t.Errorf("connected are %v", got)
		}
	})
	t.Run("external refused", func(t *testing.T) {
		refusing := conf
		refusing.CertAccount = ""
		_, addr := serve(t, refusing)
		o := quick(addr)
		o.TLS, o.TLSConfig = true, &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{client}}
		o.SASL = irc.SASL{Mechanism: "EXTERNAL", Required: true}
		if err := runToEnd(t, o); !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("Run = %v, want permanent", err)
		}
	})
	for name, change := range map[string]func(*irc.Options){
		"unknown authority": func(o *irc.Options) { o.TLSConfig = &tls.Config{RootCAs: stranger.pool} },
		"other name":        func(o *irc.Options) { o.TLSConfig = &tls.Config{RootCAs: ca.pool, ServerName: "irc.example.org"} },
	} {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, conf)
			o := quick(addr)
			o.TLS, o.Password = true, "secret"
			change(&o)
			b := run(t, o)
			b.waitStatus("failed", func(s channels.Status) bool {
				return s.State == channels.StateFailed && strings.Contains(s.Detail, "certificate")
			})
			if got := srv.Heard("*"); len(got) != 0 {
				t.Errorf("the impostor was told %q", got)
			}
		})
	}
}

// runToEnd runs a channel until it ends by itself.
func runToEnd(t *testing.T, o irc.Options) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := open(t, o).Run(ctx, channeltest.NewInbox())
	if ctx.Err() != nil {
		t.Fatal("Run did not end by itself")
	}
	return err
}

func TestServerPassword(t *testing.T) {
	_, addr := serve(t, ircd.Config{Password: "open sesame"})
	o := quick(addr)
	o.Password = "open sesame"
	start(t, o)
	o.Password = "wrong"
	if err := runToEnd(t, o); !errors.Is(err, channels.ErrPermanent) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("Run with a wrong password = %v, want permanent, without the password", err)
	}
}

func TestNickServBeforeJoining(t *testing.T) {
	for _, user := range []string{"dragoman", ""} {
		t.Run("user "+user, func(t *testing.T) { nickServBeforeJoining(t, user) })
	}
}

func nickServBeforeJoining(t *testing.T, user string) {
	srv, addr := serve(t, ircd.Config{Accounts: map[string]string{"dragoman": "pw"}})
	squatter := ircd.Join(t, addr, "dragoman")
	defer squatter.Close()
	o := quick(addr)
	o.Channels, o.RegainEvery = []string{"#go"}, time.Hour
	o.NickServ = irc.NickServ{User: user, Password: "pw", Regain: "GHOST"}
	b := start(t, o)
	b.waitIn("irc:#go")
	b.waitStatus("under its own name", func(s channels.Status) bool { return s.Detail == "" })
	said := slices.DeleteFunc(srv.Heard("dragoman_"), func(l string) bool {
		return !strings.HasPrefix(l, "PRIVMSG") && !strings.HasPrefix(l, "JOIN") && !strings.HasPrefix(l, "NICK")
	})
	want := []string{"PRIVMSG NickServ :IDENTIFY dragoman pw", "PRIVMSG NickServ :GHOST dragoman", "NICK dragoman"}
	if !slices.Equal(said[:min(3, len(said))], want) {
		t.Errorf("said %q, want to begin with %q", said, want)
	}
}

// Services confirm a login in different words, or only by the account.
func TestNickServInOtherWords(t *testing.T) {
	for name, line := range map[string]string{
		"notice":  ":NickServ!s@services.test NOTICE dragoman :You're now logged in as dragoman",
		"account": ":dragoman!~dragoman@host.test ACCOUNT dragoman",
	} {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, ircd.Config{})
			o := quick(addr)
			o.Channels = []string{"#go"}
			o.NickServ = irc.NickServ{User: "dragoman", Password: "pw"}
			log := logTo(&o)
			b := run(t, o)
			if !srv.WaitHeard("dragoman", "PRIVMSG NickServ", 1, time.Minute) {
				t.Fatal("it does not identify")
			}
			began := time.Now()
			srv.Inject("dragoman", line)
			b.waitConnected()
			if took := time.Since(began); took > 6*time.Second {
				t.Errorf("it went on %s after the services knew it, want at once", took)
			}
			if !strings.Contains(log.String(), "logged_in=true") {
				t.Errorf("the log says %q, want that it is logged in", log)
			}
		})
	}
}

// Dragoman marks itself as a bot if the network has such a mark.
func TestMarksItselfAsBot(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Support: []string{"BOT=B"}})
	start(t, quick(addr))
	if !srv.WaitHeard("dragoman", "MODE dragoman +B", 1, 10*time.Second) {
		t.Errorf("said %q, want MODE +B", srv.Heard("dragoman"))
	}
}

func TestTLSToAPlainPort(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	o := quick(addr)
	o.TLS = true
	b := run(t, o)
	b.waitStatus("failed with a hint", func(s channels.Status) bool {
		return s.State == channels.StateFailed && strings.Contains(s.Detail, "try tls: false")
	})
}

// A port that speaks TLS only ends a connection without it; the status says why.
func TestPlainToATLSPort(t *testing.T) {
	ca := newAuthority(t)
	certificate := ca.issue(t)
	_, any := serve(t, ircd.Config{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}})
	_, strict := serve(t, ircd.Config{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert}})
	closes, err := stdnet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer closes.Close()
	go func() {
		for {
			conn, err := closes.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	for name, test := range map[string]struct {
		addr string
		want channels.State
		says string
	}{
		"TLS":                      {any, channels.StateFailed, "this port speaks TLS: write tls: true"},
		"TLS with certificates":    {strict, channels.StateFailed, "this port speaks TLS: write tls: true"},
		"a server that throws out": {closes.Addr().String(), channels.StateDown, "connection to "},
	} {
		t.Run(name, func(t *testing.T) {
			b := run(t, quick(test.addr))
			b.waitStatus(test.says, func(s channels.Status) bool { return s.State == test.want && strings.Contains(s.Detail, test.says) })
		})
	}
}

// All capabilities are requested in one line, and one by one only if that is refused.
func TestCapabilitiesInOneLine(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: modern})
	start(t, quick(addr))
	var asked []string
	for _, l := range srv.Heard("dragoman") {
		if strings.HasPrefix(l, "CAP REQ") {
			asked = append(asked, l)
		}
	}
	if len(asked) != 1 {
		t.Errorf("it asked in %d lines: %q, want one", len(asked), asked)
	}
}

func TestCapabilityRefusedAlone(t *testing.T) {
	srv, addr := serve(t, ircd.Config{
		Caps: []string{"message-tags", "echo-message", "account-tag", "batch", "server-time"}, Refuse: []string{"echo-message"},
	})
	b := start(t, quick(addr))
	alice := ircd.Join(t, addr, "alice")
	srv.SetAccount("alice", "alice")
	alice.Say("dragoman", "who am I?")
	if got := srv.Heard("dragoman"); !slices.Contains(got, "CAP END") {
		t.Errorf("said %q, want CAP END", got)
	}
	if m := b.inbox.Wait(t, 1)[0]; !strings.HasPrefix(m.ID, "msgid-") {
		t.Errorf("ID = %q, want the network's id although another capability was refused", m.ID)
	}
	if err := b.send("irc:alice", "alice"); err != nil {
		t.Errorf("Send without echoes = %v, want nil", err)
	}
}

// If several nodes share the nick, another node may still have it: the first time, Run ends.
// If the nick is in use the next time too, its holder is somebody else.
func TestNickInUseWhereNodesShare(t *testing.T) {
	srv := ircd.New(ircd.Config{})
	addr := must(srv.Listen())(t)
	t.Cleanup(srv.Close)
	ircd.Join(t, addr, "dragoman")
	o := quick(addr)
	o.Shared = true
	c := open(t, o)
	if err := c.Run(t.Context(), channeltest.NewInbox()); !errors.Is(err, channels.ErrElsewhere) {
		t.Fatalf("Run = %v, want ErrElsewhere", err)
	}
	if s := c.Status(); s.State != channels.StateDown || !strings.Contains(s.Detail, "dragoman is in use") {
		t.Errorf("Status = %+v", s)
	}
	channeltest.Start(t, c, channeltest.NewInbox())
	testkit.Eventually(t, "another nick", func() bool { return slices.Contains(srv.Nicks(), "dragoman_") })
}
