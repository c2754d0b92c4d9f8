package ircd

import (
	"bufio"
	"encoding/base64"
	"net"
	"strings"
	"sync"
)

// client is one connection; its reader and its writer are a goroutine each.
type client struct {
	srv              *Server
	conn             net.Conn
	out              chan string
	gone             chan struct{}
	once             sync.Once
	nick, user, real string
	account          string
	pass             string
	caps             map[string]bool
	negotiating      bool
	registered       bool
	mech             string
	auth             strings.Builder
	batch            batch // that it is sending
}

func (c *client) mask() string {
	return ":" + c.nick + "!" + c.user + "@" + c.srv.conf.Host
}

func (c *client) close() {
	c.once.Do(func() { close(c.gone) })
	c.conn.Close()
}

// send queues a line; who reads nothing for long is thrown out.
func (c *client) send(line string) {
	select {
	case c.out <- line:
	default:
		c.once.Do(func() { close(c.gone) })
	}
}

func (c *client) numeric(code, rest string) {
	c.send(":irc.test " + code + " " + c.nick + " " + rest)
}

func (c *client) write() {
	defer c.conn.Close()
	for {
		select {
		case line := <-c.out:
			if _, err := c.conn.Write([]byte(line + "\r\n")); err != nil {
				return
			}
			if strings.HasPrefix(line, "ERROR ") {
				return
			}
		case <-c.gone:
			return
		}
	}
}

func (c *client) read() {
	defer c.srv.leave(c)
	r := bufio.NewReaderSize(c.conn, 16<<10)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		c.srv.mu.Lock()
		if !c.srv.deaf {
			c.srv.heard = append(c.srv.heard, c.nick+" "+line)
			close(c.srv.changed)
			c.srv.changed = make(chan struct{})
			if len(line) > 510 && !strings.HasPrefix(line, "@") {
				c.send("ERROR :Request too long")
			} else {
				c.srv.handle(c, line)
			}
		}
		c.srv.mu.Unlock()
	}
}

// leave forgets c and tells the others.
func (s *Server) leave(c *client) {
	c.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(c, "Connection closed")
}

// remove takes c off the network at once, so that its nick is free.
func (s *Server) remove(c *client, why string) {
	if !s.clients[c] {
		return
	}
	for _, other := range s.sharing(c) {
		if other != c {
			other.send(c.mask() + " QUIT :" + why)
		}
	}
	for _, members := range s.rooms {
		delete(members, c)
	}
	delete(s.clients, c)
}

// sasl answers an AUTHENTICATE line.
func (s *Server) sasl(c *client, arg string) {
	fail := func(code, text string) {
		c.mech = ""
		c.auth.Reset()
		c.numeric(code, ":"+text)
	}
	switch {
	case c.mech == "" && (arg == "PLAIN" || arg == "EXTERNAL"):
		c.mech = arg
		c.send("AUTHENTICATE +")
	case c.mech == "":
		fail("908", "PLAIN,EXTERNAL :are available SASL mechanisms")
	case s.conf.AbortSASL:
		fail("906", "SASL authentication aborted")
	default:
		if arg != "+" {
			c.auth.WriteString(arg)
		}
		if len(arg) == 400 {
			return // More comes.
		}
		raw, _ := base64.StdEncoding.DecodeString(c.auth.String())
		user := s.conf.CertAccount
		if c.mech == "PLAIN" {
			part := strings.Split(string(raw), "\x00")
			user = ""
			if want, known := s.conf.Accounts[part[min(1, len(part)-1)]]; len(part) == 3 && known && want == part[2] {
				user = part[1]
			}
		}
		if user == "" {
			fail("904", "SASL authentication failed")
			return
		}
		c.account = user
		c.numeric("900", c.nick+"!*@* "+user+" :You are now logged in as "+user)
		c.numeric("903", ":SASL authentication successful")
	}
}
