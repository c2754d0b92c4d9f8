package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dragoman/agent/mcp/oauth"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	leastPause = time.Second
	mostPause  = 5 * time.Minute
	// mostSilent calls in a row without an answer end the connection: a server may be stuck
	// for good, or in the middle of a message.
	mostSilent = 2
	// shortPause is how long a call waits for the end of a pause.
	shortPause = 2 * time.Second
)

// link is the connection to one server, which lasts as long as somebody uses it.
type link struct {
	Server
	pool  *Pool
	login *oauth.Login // nil: it needs none

	mu   sync.Mutex
	live *live         // nil: there is none
	soon chan struct{} // closed when the attempt that runs has ended; nil: none runs
	// begun is when that attempt began.
	begun time.Time
	// failures in a row lead to pauses. A call that worked ends them.
	failures int
	until    time.Time // of the pause
	why      string    // of the last failure; "" after a success
	silent   int       // calls in a row that had no answer
	users    int       // calls that run
	idle     *time.Timer
	calls    map[string]*patience // by their progress tokens
	under    map[*underway]bool   // calls that run
	// found is what the last listing had; nil: there was none since the start.
	found  *listing
	listed time.Time   // when it was asked for
	again  *time.Timer // leads to another; nil: none is needed
	last   *process    // the newest program; nil: there was none
	closed bool
	// declined is when it was last logged that a question was declined.
	declined time.Time
}

// live is an open connection.
type live struct {
	session *sdk.ClientSession
	process *process // nil: the server has an address
	bodies  *bounded // nil: it has a program
	ended   chan struct{}
	changed bool // the server says that its tools are others; of the link's mu
}

// failure is what was wrong with what the server sent, which the library may not pass on; nil
// if nothing was.
func (c *live) failure() error {
	var err error
	if c.process != nil {
		err = c.process.filter.failure()
	} else if c.bodies != nil {
		err = c.bodies.failure()
	}
	for _, known := range faults {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

// endTime bounds the end of everything that has to do with servers: of a connection it is half
// of that.
const endTime = 10 * time.Second

// shut ends the connection. It returns when nothing of it runs, or after endTime/2, because the
// library waits for what it has begun.
func (c *live) shut() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if c.process != nil {
			_ = c.process.Close() // the session ends with it
		}
		_ = c.session.Close()
		<-c.ended
	}()
	select {
	case <-ended:
		return
	case <-time.After(endTime / 4):
	}
	c.cut()
	select {
	case <-ended:
	case <-time.After(endTime / 4):
	}
}

// cut ends what the connection is made of: the program, or the requests that run.
func (c *live) cut() {
	if c.process != nil {
		_ = c.process.Close()
	}
	if c.bodies != nil {
		c.bodies.cut()
	}
}

// use returns an open connection, which stays open until release is called, and opens it if
// need be. It waits as long as ctx allows.
func (l *link) use(ctx context.Context) (c *live, release func(), err error) {
	for {
		c, soon, pause, err := l.look()
		if err != nil {
			return nil, nil, err
		}
		if c != nil {
			return c, sync.OnceFunc(l.release), nil
		}
		var timer <-chan time.Time
		if soon == nil {
			timer = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("the server %s is still starting", l.Name)
		case <-l.pool.ctx.Done():
			return nil, nil, errClosed
		case <-timer:
		case <-soon:
		}
	}
}

var errClosed = errors.New("the daemon is ending")

// look returns the open connection, which the caller then uses; or what to wait for: the end
// of an attempt, or of a short pause.
func (l *link) look() (c *live, soon <-chan struct{}, pause time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, 0, errClosed
	}
	if l.live != nil {
		l.users++
		if l.idle != nil {
			l.idle.Stop()
		}
		return l.live, nil, 0, nil
	}
	if l.soon == nil {
		left := l.until.Sub(l.pool.o.Now())
		switch {
		case left > shortPause:
			return nil, nil, 0, fmt.Errorf("the server %s cannot be used: %s. It is tried again in %s", l.Name, l.why, left.Round(time.Second))
		case left > 0:
			return nil, nil, left, nil
		}
		l.begin()
	}
	return nil, l.soon, 0, nil
}

// begin starts an attempt to connect. l.mu is held.
func (l *link) begin() {
	l.soon = make(chan struct{})
	l.begun = l.pool.o.Now()
	l.pool.wait.Go(func() {
		c, found, err := l.connect()
		if !l.adopt(c, found, err) && c != nil {
			c.shut()
		}
	})
}

// adopt ends an attempt, and reports whether c is the connection now.
func (l *link) adopt(c *live, found *listing, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.soon)
	l.soon = nil
	if err == nil && c.isOver() {
		err = errEnded
	}
	switch {
	case l.closed:
		return false // a failure of that is none of the server's
	case err != nil:
		l.failed(err.Error())
		return false
	}
	l.why = ""
	l.silent = 0
	l.found = found
	l.listed = time.Now()
	l.live = c
	l.rest()
	l.listSoon()
	return true
}

// isOver reports whether c has ended.
func (c *live) isOver() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// errEnded is the failure of a server that ends the connection by itself.
var errEnded = errors.New("it ended the connection")

// failed notes a failure, and how long to wait after it. l.mu is held.
func (l *link) failed(why string) {
	l.failures++
	pause := min(leastPause<<min(l.failures-1, 20), mostPause)
	l.until = l.pool.o.Now().Add(pause)
	l.why = why
	l.pool.o.Logger.Warn("a server of tools cannot be used", "server", l.Name, "err", why, "attempt", l.failures, "pause", pause)
}

// watch waits for the end of c. If nobody here ended it, that is a failure.
func (l *link) watch(c *live) {
	_ = c.session.Wait()
	if c.process != nil {
		_ = c.process.Close()
	}
	_ = c.session.Close() // or the library keeps a goroutine for the stream of changes
	close(c.ended)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == c {
		l.live = nil
		l.failed(errEnded.Error())
	}
}

// drop ends c after a failure, so that the next call makes a new connection.
func (l *link) drop(c *live, why string) {
	l.mu.Lock()
	mine := l.live == c
	if mine {
		l.live = nil
		l.failed(why)
	}
	l.mu.Unlock()
	if mine {
		c.shut()
	}
}

// worked notes that a call had an answer.
func (l *link) worked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calm()
	l.silent = 0
}

// isDeaf notes how a call ended that had no result, and reports whether the connection
// should end because several in a row had no answer at all.
func (l *link) isDeaf(answered bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent++
	if answered {
		l.silent = 0
	}
	return l.silent >= mostSilent
}

func (l *link) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	l.rest()
}

// rest ends the connection later, if nobody uses it until then. l.mu is held.
func (l *link) rest() {
	if l.users > 0 || l.live == nil || l.closed {
		return
	}
	c := l.live
	if l.idle != nil {
		l.idle.Stop()
	}
	l.idle = time.AfterFunc(l.pool.o.Idle, func() { l.leave(c) })
}

// leave ends c if nobody uses it.
func (l *link) leave(c *live) {
	l.mu.Lock()
	mine := l.live == c && l.users == 0 && !l.closed
	if mine {
		l.live = nil
		l.pool.wait.Add(1)
	}
	l.mu.Unlock()
	if !mine {
		return
	}
	defer l.pool.wait.Done()
	c.shut()
	l.pool.o.Logger.Info("a server of tools was not used for a while, and has ended", slog.String("server", l.Name))
}

// close ends the connection for good.
func (l *link) close() {
	l.mu.Lock()
	c := l.live
	l.live = nil
	l.closed = true
	if l.idle != nil {
		l.idle.Stop()
	}
	if l.again != nil {
		l.again.Stop()
	}
	l.mu.Unlock()
	if c != nil {
		c.shut()
	}
}
