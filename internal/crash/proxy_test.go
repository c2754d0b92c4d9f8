package crash_test

import (
	"net"
	"sync"
	"testing"
	"time"
)

// proxy is what lies between a node and the servers of its database.
type proxy struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
	delay time.Duration            // of each piece that passes
	open  map[string]chan struct{} // by where it leads; closed while pieces pass
	ports []int
}

// newProxy listens on one port for each of those that it leads to.
func newProxy(t *testing.T, to ...string) *proxy {
	t.Helper()
	p := &proxy{conns: map[net.Conn]bool{}, open: map[string]chan struct{}{}}
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	for _, addr := range to {
		p.open[addr] = make(chan struct{})
		close(p.open[addr])
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p.ports = append(p.ports, l.Addr().(*net.TCPAddr).Port)
		serving.Go(func() {
			for {
				from, err := l.Accept()
				if err != nil {
					return
				}
				serving.Go(func() { p.carry(from, addr) })
			}
		})
		t.Cleanup(func() { l.Close(); p.cut() })
	}
	t.Cleanup(func() { p.pass(to...) })
	return p
}

// carry joins a connection with a new one to addr until either ends.
func (p *proxy) carry(from net.Conn, addr string) {
	defer from.Close()
	to, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer to.Close()
	p.mu.Lock()
	p.conns[from] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, from)
	}()
	var back sync.WaitGroup
	defer back.Wait()
	back.Go(func() { p.copy(from, to, addr) })
	p.copy(to, from, addr)
}

// copy carries pieces as the proxy lets them, and ends both connections.
func (p *proxy) copy(to, from net.Conn, addr string) {
	defer to.Close()
	defer from.Close()
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		p.mu.Lock()
		delay, open := p.delay, p.open[addr]
		p.mu.Unlock()
		if delay > 0 {
			time.Sleep(delay)
		}
		<-open
		if _, failed := to.Write(piece[:n]); err != nil || failed != nil {
			return
		}
	}
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// slow delays each piece from now on.
func (p *proxy) slow(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = by
}

// hold lets nothing pass to those servers, and ends nothing, until pass is called:
// a network that is parted, or a machine that lost its power.
func (p *proxy) hold(to ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, addr := range to {
		p.open[addr] = make(chan struct{})
	}
}

// pass ends hold.
func (p *proxy) pass(to ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, addr := range to {
		select {
		case <-p.open[addr]:
		default:
			close(p.open[addr])
		}
	}
}
