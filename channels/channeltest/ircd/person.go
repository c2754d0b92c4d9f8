package ircd

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long tests wait for what should happen soon.
const patience = time.Minute

// Person is a plain client for tests: it says raw lines and remembers what it
// gets. It answers PINGs. It has one goroutine, which ends with its
// connection; the test's end closes that.
type Person struct {
	t    *testing.T
	conn net.Conn
	done chan struct{}

	mu      sync.Mutex
	nick    string
	lines   []string
	times   []time.Time // of the lines
	changed chan struct{}
}

// Join connects somebody called nick to addr and waits for the welcome.
func Join(t *testing.T, addr, nick string, rooms ...string) *Person {
	t.Helper()
	return come(t, dial(t, addr, nick), nick).enter(rooms)
}

// Attach is Join over a connection that exists.
func Attach(t *testing.T, conn net.Conn, nick string, rooms ...string) *Person {
	t.Helper()
	return come(t, conn, nick).enter(rooms)
}

// JoinAll connects several people at once: InspIRCd takes a second for those
// who come together, as for one.
func JoinAll(t *testing.T, addr string, nicks ...string) []*Person {
	t.Helper()
	var all []*Person
	for _, nick := range nicks {
		all = append(all, come(t, dial(t, addr, nick), nick))
	}
	for _, p := range all {
		p.enter(nil)
	}
	return all
}

func dial(t *testing.T, addr, nick string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatalf("ircd: %s connects: %v", nick, err)
	}
	return conn
}

// come says who it is, and does not wait.
func come(t *testing.T, conn net.Conn, nick string) *Person {
	t.Helper()
	p := &Person{t: t, conn: conn, nick: nick, done: make(chan struct{}), changed: make(chan struct{})}
	go p.read()
	t.Cleanup(p.Close)
	p.Raw("NICK " + nick)
	p.Raw("USER " + strings.ToLower(nick) + " 0 * :" + nick)
	return p
}

// enter waits for the welcome and joins rooms.
func (p *Person) enter(rooms []string) *Person {
	p.t.Helper()
	p.WaitLine("the welcome", func(l string) bool { return strings.Contains(l, " 376 ") || strings.Contains(l, " 422 ") })
	for _, r := range rooms {
		p.Raw("JOIN " + r)
		name, _, _ := strings.Cut(r, " ")
		p.WaitLine("joining "+r, func(l string) bool {
			return strings.Contains(l, " 366 ") && strings.Contains(strings.ToLower(l), " "+strings.ToLower(name)+" ")
		})
	}
	return p
}

// Close ends the connection and waits for the reader.
func (p *Person) Close() {
	p.conn.Close()
	<-p.done
}

func (p *Person) read() {
	defer close(p.done)
	r := bufio.NewReader(p.conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(line, "PING "); ok {
			fmt.Fprintf(p.conn, "PONG %s\r\n", rest)
			continue
		}
		p.mu.Lock()
		p.lines, p.times = append(p.lines, line), append(p.times, time.Now())
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
}

// Raw sends a line.
func (p *Person) Raw(line string) {
	p.t.Helper()
	p.conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := p.conn.Write([]byte(line + "\r\n")); err != nil {
		p.t.Fatalf("ircd: %s sends: %v", p.nick, err)
	}
}

// Say writes to a channel or a nick and returns when the server has it.
func (p *Person) Say(target, text string) {
	p.t.Helper()
	p.Raw("PRIVMSG " + target + " :" + text)
	p.Sync()
}

// Sync waits until the server has handled everything said so far.
func (p *Person) Sync() {
	p.t.Helper()
	token := fmt.Sprintf("sync%d", time.Now().UnixNano())
	p.Raw("PING " + token)
	p.WaitLine("an answer to a PING", func(l string) bool { return strings.HasSuffix(l, token) })
}

// Lines are all lines so far.
func (p *Person) Lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

// WaitLine waits for a line, also an earlier one, and returns it.
func (p *Person) WaitLine(what string, fits func(string) bool) string {
	p.t.Helper()
	timeout := time.After(patience)
	for from := 0; ; {
		p.mu.Lock()
		lines, changed := p.lines, p.changed
		p.mu.Unlock()
		for ; from < len(lines); from++ {
			if fits(lines[from]) {
				return lines[from]
			}
		}
		select {
		case <-changed:
		case <-p.done:
			p.t.Fatalf("ircd: %s waits for %s: the connection has ended; last lines: %q", p.nick, what, lines[max(0, len(lines)-5):])
		case <-timeout:
			p.t.Fatalf("ircd: %s has waited in vain for %s; last lines: %q", p.nick, what, lines[max(0, len(lines)-5):])
		}
	}
}

// Heard is what from has said in the channel or private talk called target
// (for a talk, this person's own nick), in order.
func (p *Person) Heard(from, target string) []string {
	out, _ := p.HeardAt(from, target)
	return out
}

// HeardAt is Heard with the times.
func (p *Person) HeardAt(from, target string) (out []string, times []time.Time) {
	p.mu.Lock()
	lines, at := p.lines, p.times
	p.mu.Unlock()
	for i, l := range lines {
		if strings.HasPrefix(l, "@") {
			_, l, _ = strings.Cut(l, " ")
		}
		who, rest, _ := strings.Cut(strings.TrimPrefix(l, ":"), " ")
		nick, _, _ := strings.Cut(who, "!")
		text, ok := strings.CutPrefix(rest, "PRIVMSG "+target+" :")
		if !ok {
			text, ok = strings.CutPrefix(rest, "PRIVMSG "+target+" ")
		}
		if ok && strings.EqualFold(nick, from) {
			out, times = append(out, text), append(times, at[i])
		}
	}
	return out, times
}

// WaitHeard waits until from has said n things to target.
func (p *Person) WaitHeard(from, target string, n int) []string {
	p.t.Helper()
	p.WaitLine(fmt.Sprintf("%d messages from %s to %s", n, from, target), func(string) bool { return len(p.Heard(from, target)) >= n })
	return p.Heard(from, target)
}
