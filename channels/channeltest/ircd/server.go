// Package ircd has the IRC servers that tests talk to: a runner for the real
// ngircd ([StartNgircd]) and InspIRCd ([StartInspircd]), and a small server in
// the test's own process ([Server]) for what they have not: SASL, accounts,
// other case mappings, and hostile lines.
//
// [Server] speaks the protocol over real connections and takes any client; it
// starts two goroutines a connection and one that listens, and [Server.Close]
// waits for all of them. It keeps no more than tests need: no modes, no
// operators, no bans beyond what [Server.Deny] says.
package ircd

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config says what a [Server] can do. The zero value is a plain old server
// that knows no capabilities.
type Config struct {
	// Caps are offered, values included: "sasl=PLAIN,EXTERNAL", "account-tag".
	Caps []string
	// Refuse are capabilities that are offered and then refused.
	Refuse []string
	// CaseMapping as announced; "" announces nothing and means rfc1459.
	CaseMapping string
	// Support are further ISUPPORT tokens.
	Support []string
	// Accounts are names and passwords for SASL PLAIN and NickServ.
	Accounts map[string]string
	// CertAccount is whom SASL EXTERNAL logs in; "" refuses it.
	CertAccount string
	// AbortSASL breaks every login off with 906.
	AbortSASL bool
	// Password is asked from everybody if not empty.
	Password string
	// TLS makes connections encrypted.
	TLS *tls.Config
	// NickLen cuts longer nicks, 0 for none.
	NickLen int
	// Host is everybody's visible host; default "host.test".
	Host string
	// Forward sends who joins one channel to another one, with a 470.
	Forward map[string]string
	// NoColours refuses formatting in all channels, as mode +c does.
	NoColours bool
	// NoEcho sends no echoes, although echo-message is offered: a server that is late.
	NoEcho bool
	// NoPong is a nick whose PINGs are not answered.
	NoPong string
	// ShortBatches refuses messages of several lines, as being too long.
	ShortBatches bool
	// Clock is the time in server-time tags; default time.Now.
	Clock func() time.Time
}

// Server is an IRC server in this process.
type Server struct {
	conf Config
	ln   net.Listener
	wg   sync.WaitGroup

	mu      sync.Mutex
	clients map[*client]bool
	rooms   map[string]map[*client]bool // by folded name
	denied  map[string]string           // folded channel: the numeric and text for JOIN
	refuse  bool
	deaf    bool
	closed  bool
	msgid   int
	heard   []string // what clients sent, "nick line"
	changed chan struct{}
}

// New makes a server. It listens on nothing until [Server.Listen].
func New(conf Config) *Server {
	if conf.Clock == nil {
		conf.Clock = time.Now
	}
	if conf.Host == "" {
		conf.Host = "host.test"
	}
	return &Server{
		conf: conf, clients: map[*client]bool{}, rooms: map[string]map[*client]bool{},
		denied: map[string]string{}, changed: make(chan struct{}),
	}
}

// Listen opens a free port on 127.0.0.1 and returns its address.
func (s *Server) Listen() (addr string, err error) {
	if s.ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return "", fmt.Errorf("ircd: listen: %w", err)
	}
	s.wg.Go(func() {
		for {
			conn, err := s.ln.Accept()
			if err != nil {
				return
			}
			if s.conf.TLS != nil {
				conn = tls.Server(conn, s.conf.TLS)
			}
			s.Serve(conn)
		}
	})
	return s.ln.Addr().String(), nil
}

// Serve takes a connection, such as one end of a net.Pipe.
func (s *Server) Serve(conn net.Conn) {
	c := &client{srv: s, conn: conn, out: make(chan string, 4096), gone: make(chan struct{}), nick: "*", caps: map[string]bool{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		conn.Close()
		return
	}
	s.clients[c] = true
	s.wg.Go(c.write)
	s.wg.Go(c.read)
}

// Close ends everything and waits.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if s.ln != nil {
		s.ln.Close()
	}
	s.Cut()
	s.wg.Wait()
}

// Cut breaks every connection without a word.
func (s *Server) Cut() {
	s.mu.Lock()
	all := s.all()
	s.mu.Unlock()
	for _, c := range all {
		c.close()
	}
}

// CutNick breaks the connection of nick.
func (s *Server) CutNick(nick string) {
	s.mu.Lock()
	c := s.find(nick)
	s.mu.Unlock()
	if c != nil {
		c.close()
	}
}

func (s *Server) all() []*client {
	var all []*client
	for c := range s.clients {
		all = append(all, c)
	}
	return all
}

// RefuseMessages answers every PRIVMSG with a numeric while on.
func (s *Server) RefuseMessages(on bool) { s.set(func() { s.refuse = on }) }

// Deafen makes the server read and answer nothing any more while on, as if
// its machine were frozen.
func (s *Server) Deafen(on bool) { s.set(func() { s.deaf = on }) }

// Deny answers a JOIN of channel with numericAndText ("473 :invite only"), or
// lets it in again if that is "".
func (s *Server) Deny(channel, numericAndText string) {
	s.set(func() { s.denied[s.fold(channel)] = numericAndText })
}

func (s *Server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// SetAccount logs nick in to account, or out if it is "".
func (s *Server) SetAccount(nick, account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(nick)
	if c == nil {
		return
	}
	c.account = account
	if account == "" {
		account = "*"
	}
	for _, other := range s.sharing(c) {
		if other.caps["account-notify"] {
			other.send(c.mask() + " ACCOUNT " + account)
		}
	}
}

// Inject sends line, as it is, to whoever is called nick. Its tags and source
// are the test's business.
func (s *Server) Inject(nick, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.find(nick); c != nil {
		c.send(line)
	}
}

// Heard returns every line that anybody called nick has sent so far.
func (s *Server) Heard(nick string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, l := range s.heard {
		if line, ok := strings.CutPrefix(l, nick+" "); ok {
			out = append(out, line)
		}
	}
	return out
}

// WaitHeard waits until somebody called nick has sent a line that begins with
// prefix, n times over.
func (s *Server) WaitHeard(nick, prefix string, n int, most time.Duration) bool {
	timeout := time.After(most)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		seen := 0
		for _, l := range s.Heard(nick) {
			if strings.HasPrefix(l, prefix) {
				seen++
			}
		}
		if seen >= n {
			return true
		}
		select {
		case <-changed:
		case <-timeout:
			return false
		}
	}
}

// Nicks are those connected now.
func (s *Server) Nicks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for c := range s.clients {
		if c.registered {
			out = append(out, c.nick)
		}
	}
	slices.Sort(out)
	return out
}

// Present reports whether nick is connected and, if room is not "", in it.
func (s *Server) Present(nick, room string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(nick)
	return c != nil && c.registered && (room == "" || s.rooms[s.fold(room)][c])
}

func (s *Server) fold(name string) string {
	name = strings.ToLower(name)
	switch s.conf.CaseMapping {
	case "ascii":
		return name
	case "rfc1459-strict":
		return strings.NewReplacer("[", "{", "]", "}", `\`, "|").Replace(name)
	}
	return strings.NewReplacer("[", "{", "]", "}", `\`, "|", "^", "~").Replace(name)
}

func (s *Server) find(nick string) *client {
	for c := range s.clients {
		if s.fold(c.nick) == s.fold(nick) {
			return c
		}
	}
	return nil
}

// sharing are those in a channel with c, c itself first.
func (s *Server) sharing(c *client) []*client {
	out := []*client{c}
	for _, members := range s.rooms {
		if !members[c] {
			continue
		}
		for m := range members {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}
