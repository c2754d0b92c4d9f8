package wasim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.uber.org/goleak"
)

// Options say how a server is to be. The zero value works.
type Options struct {
	Addr   string           // where to listen; 127.0.0.1 on a free port without it
	Number string           // the owner's phone number; "+15550000001" without it
	Name   string           // the owner's name; "Owner" without it
	Clock  func() time.Time // what time stanzas say; time.Now without it
	// ByPhone makes contacts and new groups go by phone numbers from the start,
	// where the real network has gone over to hidden ids ("LIDs").
	ByPhone bool
	// Logf is told what is odd, such as a message that a phone could not
	// decrypt. Nobody without it.
	Logf func(format string, args ...any)
}

// Server is one WhatsApp with one account to which devices can be linked.
type Server struct {
	// Faults is what goes wrong.
	Faults *Faults

	options  Options
	root     *authority
	listener net.Listener
	http     *http.Server
	running  sync.WaitGroup

	mu       sync.Mutex
	changed  chan struct{} // closed and made anew at every change
	closed   bool
	owner    *Contact
	contacts map[string]*Contact // by number and by LID, digits only
	groups   map[string]*Group
	devices  map[uint16]*device
	lastID   uint16
	conns    map[*conn]bool
	posts    map[string]*post // every message by id
	pairing  map[string]*conn // connections that wait for a scan, by reference
	code     *codePairing     // the newest pairing by code
	blobs    map[string][]byte
	logins   int
	counts   map[string]int
	arrival  arrival
}

// Start runs a server for the length of a test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Open runs a server until Close.
func Open(o Options) (*Server, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Number == "" {
		o.Number = "+15550000001"
	}
	if o.Name == "" {
		o.Name = "Owner"
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("wasim: listen: %w", err)
	}
	s := &Server{
		options: o, root: theAuthority(), listener: listener,
		changed: make(chan struct{}), contacts: map[string]*Contact{}, groups: map[string]*Group{},
		devices: map[uint16]*device{}, conns: map[*conn]bool{}, posts: map[string]*post{},
		pairing: map[string]*conn{}, blobs: map[string][]byte{}, counts: map[string]int{},
	}
	s.Faults = &Faults{s: s}
	s.owner = s.newContact(digits(o.Number), o.Name)
	s.http = &http.Server{Handler: http.HandlerFunc(s.serveHTTP), ReadHeaderTimeout: 10 * time.Second}
	s.running.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Logf("wasim: serve: %v", err)
		}
	})
	return s, nil
}

// Close cuts every connection and waits until nothing runs any more.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.cut()
	}
	s.notify()
	s.mu.Unlock()
	_ = s.http.Close()
	s.running.Wait()
}

// Addr is where the server listens, host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// HTTPClient reaches this server under whatever name it is given.
func (s *Server) HTTPClient() *http.Client { return HTTPClient(s.Addr()) }

// HTTPClient takes every request, whatever its host and scheme, to addr in
// plain TCP. Nothing that uses it can reach the outside.
func HTTPClient(addr string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}
	return &http.Client{Transport: &http.Transport{
		DialContext: dial, DialTLSContext: dial,
		DisableKeepAlives: true, // or idle connections outlive the test
	}}
}

// Configure points client at this server and makes this process trust it. Call
// it before the client connects.
func (s *Server) Configure(client *whatsmeow.Client) {
	trustOwn()
	Redirect(client, s.Addr())
}

// Redirect points client at a server that may be in another process, whose
// root key was given to [TrustRoot].
func Redirect(client *whatsmeow.Client, addr string) {
	h := HTTPClient(addr)
	client.SetWebsocketHTTPClient(h)
	client.SetPreLoginHTTPClient(h)
	client.SetMediaHTTPClient(h)
}

// IgnoreGoroutines are those that whatsmeow does not end: when a frame comes
// while it disconnects, the one that reads waits for ever for somebody to take
// the frame.
func IgnoreGoroutines() []goleak.Option {
	return []goleak.Option{goleak.IgnoreTopFunction("go.mau.fi/whatsmeow/socket.(*FrameSocket).frameComplete")}
}

// IgnoreGoroutines are those of the server and of connections to it, besides
// what the function of that name tells. For tests that look for what a client
// left behind while the server goes on.
func (s *Server) IgnoreGoroutines() []goleak.Option {
	return append(IgnoreGoroutines(),
		goleak.IgnoreAnyFunction("net/http.(*Server).Serve"),
		goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
		goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
		goleak.IgnoreAnyFunction("dragoman/channels/channeltest/wasim.(*conn).write"),
	)
}

// Wait returns when ok says so. It asks whenever anything has changed on the
// server; ok may call the server's and the contacts' methods.
func (s *Server) Wait(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wasim: wait: %w", context.Cause(ctx))
		}
	}
}

// WaitDrained waits until every device has acknowledged everything.
func (s *Server) WaitDrained(ctx context.Context) error {
	return s.Wait(ctx, func() bool { return s.Pending() == 0 })
}

// Online is how many devices are logged in.
func (s *Server) Online() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, d := range s.devices {
		if d.conn != nil {
			n++
		}
	}
	return n
}

// Logins is how often devices have logged in.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// Pending is how many stanzas devices have not acknowledged.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, d := range s.devices {
		n += len(d.queue)
	}
	return n
}

// Count is how many stanzas of a kind came from devices: "message",
// "receipt", "ack", "chatstate", "presence", "iq" and, more closely,
// "iq:usync" and so on, "receipt:read", "receipt:retry", "ack:error". Beside
// them "dial" are the connections that clients began, let in or not, and
// "front" the readers of the front page.
func (s *Server) Count(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[kind]
}

// notify wakes who waits. The lock is held.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	switch {
	case r.URL.Path == "/ws/chat":
		s.serveSocket(w, r)
	case r.URL.Path == "/":
		s.serveFront(w, r)
	case strings.HasPrefix(r.URL.Path, "/mms/"), strings.HasPrefix(r.URL.Path, mediaPath):
		s.serveMedia(w, r)
	default:
		s.options.Logf("wasim: asked for %s", r.URL.Path)
		http.NotFound(w, r)
	}
}

// digits is what a phone number is on the wire.
func digits(number string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, number)
}
