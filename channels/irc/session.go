package irc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/lrstanley/girc"
	"golang.org/x/time/rate"
)

const (
	// maxLineRead is the longest line we read. IRC allows 8191 bytes of tags and 512
	// for the rest.
	maxLineRead = 16 << 10
	// outCapacity is how many lines may wait to be written. The flood budget keeps
	// them few; a full queue means that the server has stopped reading.
	outCapacity = 256
	// writeTimeout bounds writing one line.
	writeTimeout = 20 * time.Second
	// quitTimeout is how long the server has to answer our QUIT.
	quitTimeout = time.Second
)

// phase is how far a session is. It only moves forward: a new connection is a new
// session.
type phase int

const (
	registering phase = iota // until the welcome
	welcomed                 // until the end of the welcome; then we identify
	ready                    // we may join and send
)

// outLine is a line on its way to the server.
type outLine struct {
	text string
	d    *delivery // nil, or the delivery that the line carries
}

// session is one connection. Only the loop touches the fields below "loop".
type session struct {
	ch      *Channel
	log     *slog.Logger
	conn    net.Conn
	intake  *intake
	out     chan outLine
	calls   chan func()
	ended   chan struct{} // closed when the loop has ended
	limiter *rate.Limiter
	wg      sync.WaitGroup

	// loop
	phase     phase
	err       error // set to end the session
	quitting  bool
	began     time.Time
	lastRead  time.Time
	pinged    time.Time // zero: no PING of ours is under way
	net       network
	me        self
	login     login
	rooms     map[string]*room      // by folded name
	users     map[string]*user      // by folded nick: whom we share a channel with
	stray     string                // the last channel that we were forwarded to, and left
	batches   map[string]bool       // open batches of old messages
	multiline map[string]*multiline // open batches of the lines of one message
	pending   []*delivery           // queued or written but not confirmed, in order
	sent      uint64                // counts deliveries
	whois     map[string]*whoisQuery
}

// network holds what the server announced about itself.
type network struct {
	fold      folder
	caps      map[string]bool // granted
	chanTypes string
	whox      bool
	monitor   bool
	botMode   string    // the user mode that marks programs, "" for none
	started   time.Time // when it welcomed us, by its own clock
}

func newSession(c *Channel, conn net.Conn, q *intake) *session {
	now := time.Now()
	return &session{
		ch: c, log: c.log, conn: conn, intake: q,
		out:     make(chan outLine, outCapacity),
		calls:   make(chan func()),
		ended:   make(chan struct{}),
		limiter: rate.NewLimiter(rate.Every(c.opts.FloodEvery), c.opts.FloodBurst),
		began:   now, lastRead: now,
		net:       network{fold: foldRFC, caps: map[string]bool{}, chanTypes: "#&!+"},
		me:        self{nick: c.opts.Nick, user: "~" + c.opts.User},
		rooms:     map[string]*room{},
		users:     map[string]*user{},
		batches:   map[string]bool{},
		multiline: map[string]*multiline{},
		whois:     map[string]*whoisQuery{},
	}
}

// run serves the connection until it or ctx ends. When it returns, its goroutines
// have ended and no delivery waits for this session any more.
func (s *session) run(ctx context.Context) error {
	wg := &s.wg
	events := make(chan *girc.Event, 64) // when full, the server waits
	readErr, writeErr := make(chan error, 1), make(chan error, 1)
	wg.Go(func() { readErr <- s.read(events); close(events) })
	wg.Go(func() { writeErr <- s.write() })
	s.register()
	err := s.loop(ctx, events, readErr, writeErr)
	close(s.ended)
	s.conn.Close()
	wg.Wait()
	s.abandon(err)
	return err
}

func (s *session) loop(ctx context.Context, events <-chan *girc.Event, readErr, writeErr <-chan error) error {
	tick := time.NewTicker(s.tickEvery())
	defer tick.Stop()
	done := ctx.Done()
	var goodbye <-chan time.Time
	for s.err == nil {
		select {
		case e, ok := <-events:
			if !ok {
				return s.endReason(<-readErr)
			}
			s.lastRead, s.pinged = time.Now(), time.Time{}
			s.guard(e.Command, func() { s.handle(e) })
		case f := <-s.calls:
			s.guard("call", f)
		case now := <-tick.C:
			s.guard("tick", func() { s.tick(now) })
		case err := <-writeErr:
			return s.endReason(err)
		case <-done:
			// Messages that the server sends before it reads our QUIT still count.
			done, s.quitting = nil, true
			s.push("QUIT", "Goodbye")
			goodbye = time.After(quitTimeout)
		case <-goodbye:
			return ctx.Err()
		}
	}
	return s.err
}

// endReason prefers the server's reason for the end to the socket's error.
func (s *session) endReason(err error) error {
	if s.err != nil {
		return s.err
	}
	return fmt.Errorf("connection to %s: %w", s.ch.opts.Server, err)
}

// end ends the session with err, unless it has ended already.
func (s *session) end(err error) {
	if s.err == nil {
		s.err = err
	}
}

// guard keeps a panic, by our mistake or odd input, from ending the process.
func (s *session) guard(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("panic while handling an event", "event", what, "err", fmt.Sprintf("panic of type %T", r), "stack", string(debug.Stack()))
		}
	}()
	f()
}

// tickEvery is a quarter of the shortest wait, at most a second.
func (s *session) tickEvery() time.Duration {
	o := s.ch.opts
	shortest := min(o.PingEvery, o.PingTimeout, o.RegisterTimeout, o.ConfirmTimeout, o.RegainEvery, o.RejoinDelay, time.Second*4)
	return max(shortest/4, 5*time.Millisecond)
}

func (s *session) tick(now time.Time) {
	o := s.ch.opts
	if s.phase < ready && now.Sub(s.began) > o.RegisterTimeout {
		s.end(fmt.Errorf("register with %s: no welcome within %s", o.Server, o.RegisterTimeout))
		return
	}
	switch quiet := now.Sub(s.lastRead); {
	case !s.pinged.IsZero() && now.Sub(s.pinged) > o.PingTimeout:
		s.end(fmt.Errorf("connection to %s: the server has been silent for %s", o.Server, quiet.Round(time.Second)))
		return
	case s.pinged.IsZero() && quiet > o.PingEvery && s.phase == ready:
		s.pinged = now
		s.push("PING", "alive")
	}
	s.tickLogin(now)
	if s.phase == ready && !s.quitting {
		s.tickNick(now)
		s.tickRooms(now)
	}
	s.expire(now)
}

// do runs f on the loop and waits for it. It returns false if the session or ctx
// ended before f could run.
func (s *session) do(ctx context.Context, f func()) bool {
	finished := make(chan struct{})
	select {
	case s.calls <- func() { defer close(finished); f() }:
		<-finished
		return true
	case <-s.ended:
		return false
	case <-ctx.Done():
		return false
	}
}

// push queues a line. The last parameter may contain spaces.
func (s *session) push(command string, params ...string) {
	e := girc.Event{Command: command, Params: params}
	s.queue(outLine{text: e.String()})
}

// queue hands l to the writer. If too many lines wait, it ends the session and
// returns false.
func (s *session) queue(l outLine) bool {
	select {
	case s.out <- l:
		return true
	default:
		s.end(fmt.Errorf("connection to %s: the server has stopped reading", s.ch.opts.Server))
		return false
	}
}

// read parses lines and hands them to the loop until the connection ends.
func (s *session) read(events chan<- *girc.Event) error {
	r := bufio.NewReaderSize(s.conn, maxLineRead)
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			s.log.Warn("line skipped: too long", "bytes", len(line))
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.ReadSlice('\n')
			}
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		e := parseEvent(string(line))
		if e == nil {
			continue
		}
		select {
		case events <- e:
		case <-s.ended:
			return nil
		}
	}
}

// parseEvent calls the library's parser, whose panics must not end the process.
func parseEvent(line string) (e *girc.Event) {
	defer func() {
		if recover() != nil {
			e = nil
		}
	}()
	return girc.ParseEvent(line)
}

// write writes lines until the session ends. Each has a deadline, so a server that
// stops reading cannot block us.
func (s *session) write() error {
	for {
		select {
		case l := <-s.out:
			if l.d != nil && !l.d.begin() {
				continue // Its sender has given up.
			}
			s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := s.conn.Write([]byte(l.text + "\r\n")); err != nil {
				return err
			}
		case <-s.ended:
			return nil
		}
	}
}
