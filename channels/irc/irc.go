// Package irc connects one IRC network to Dragoman.
//
// # Promise
//
// Inbound: messages go to the intake in order of arrival, each retried until it
// is stored. IRC has no acknowledgement, so messages still queued when the
// process dies are lost; when Run ends they get one more second. Outbound:
// [Channel.Send] returns nil only after the server has answered a PING that
// followed the line, or has echoed the line. A line never exceeds the network's
// limit, never becomes two lines, and reaches only the target of its key.
//
// # Failures
//
// A lost, silent or refused connection is retried with growing, jittered waits,
// and the channels are joined again, including those we were kicked from or
// could not join. Lines not yet written fail with [channels.NotSent], lines
// written but not confirmed with a plain error. If SASL is required and the
// login fails, we join nothing and send nothing. Refused credentials end Run
// with [channels.ErrPermanent]. When the store refuses messages for so long that
// the queue to it fills up, further messages are dropped, counted and logged as
// errors.
//
// # Goroutines
//
// Run starts one goroutine that hands messages to the intake. Each connection
// has a reader, a writer and a loop. The loop owns all state about the network;
// other goroutines reach it by sending it functions. Run waits for all of them.
//
// girc parses the wire format (events, tags, sources). docs/decisions/0011 says
// why we do not use its client.
package irc

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/channels"
)

var (
	_ channels.Channel   = (*Channel)(nil)
	_ channels.Splitter  = (*Channel)(nil)
	_ channels.Reporter  = (*Channel)(nil)
	_ channels.Commander = (*Channel)(nil)

	_ channels.CommandSigner = (*Channel)(nil)
	_ channels.Typer         = (*Channel)(nil)
	_ channels.Pauser        = (*Channel)(nil)
	_ channels.Interleaver   = (*Channel)(nil)
	_ channels.Stopper       = (*Channel)(nil)
	_ channels.Plainer       = (*Channel)(nil)
	_ channels.RepeatMarker  = (*Channel)(nil)
	_ channels.Sharer        = (*Channel)(nil)
)

// steady is how long a connection must have lasted before the next reconnect
// starts from the shortest wait again.
const steady = time.Minute

// Channel is one IRC network. It is made by [New].
type Channel struct {
	name        string
	opts        Options
	log         *slog.Logger
	longestNick string
	multiline   atomic.Pointer[limits]
	commands    atomic.Pointer[map[string]bool] // see SetCommands
	runID       string                          // begins the message ids of this run; no other run has it
	lastID      atomic.Uint64                   // the number in the newest of them
	current     atomic.Pointer[session]         // nil while there is no connection
	yielded     atomic.Bool                     // Run gave way because the nick was in use; see Options.Shared

	status channels.StatusTracker

	// people are those who talk to us in private. Only the loop of the current
	// session touches it, and there is one session at a time.
	people     people
	remainders remainders
	loops      loops
}

// New returns the channel called name. It starts nothing.
func New(name string, o Options) (*Channel, error) {
	if _, err := channels.NewKey(name, "x"); err != nil {
		return nil, fmt.Errorf("irc: %w", err)
	}
	if o.Server == "" || o.Nick == "" {
		return nil, errors.New("irc: a server and a nick are needed")
	}
	o = o.withDefaults()
	c := &Channel{
		name:  name,
		runID: rand.Text(),
		opts:  o,
		log:   o.Logger.With("channel", name),
		loops: loops{by: map[string]*exchange{}}, remainders: remainders{byChat: map[string][]*remainder{}},
	}
	c.multiline.Store(&limits{})
	c.longestNick = slices.MaxFunc(append([]string{strings.Repeat("n", 16), o.Nick + "__"}, o.AltNicks...), func(a, b string) int { return len(a) - len(b) })
	c.status.Report(channels.Status{State: channels.StateDown, Detail: "not started"})
	c.SetCommands(channels.Menu{Known: []channels.Command{{Name: "help"}, {Name: "new"}, {Name: "stop"}, {Name: "status"}, {Name: "start"}}})
	return c, nil
}

// Name is the instance's name.
func (c *Channel) Name() string { return c.name }

// CommandSign is "!": IRC clients use a leading "/" for their own commands.
func (c *Channel) CommandSign() string { return "!" }

// SetCommands sets the words that are commands after a "!".
func (c *Channel) SetCommands(m channels.Menu) {
	known := map[string]bool{}
	for _, cmd := range m.Known {
		known[strings.ToLower(cmd.Name)] = true
	}
	c.commands.Store(&known)
}

// Status reports the connection's state and which channels could not be joined.
func (c *Channel) Status() channels.Status { return c.status.Status() }

func (c *Channel) setStatus(state channels.State, detail string) {
	c.status.Report(channels.Status{State: state, Detail: detail})
}

// Run keeps the connection until ctx ends.
func (c *Channel) Run(ctx context.Context, in channels.Intake) error {
	q := &intake{in: in, log: c.log, queue: make(chan channels.Inbound, intakeCapacity)}
	handing, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { q.run(handing) })
	defer func() { // the last session has ended
		close(q.queue)
		defer giveUp()
		defer time.AfterFunc(drainTime, giveUp).Stop()
		wg.Wait()
	}()
	c.warnAboutPlainSecrets()
	tries := channels.Backoff{Least: c.opts.ReconnectMin, Most: c.opts.ReconnectMax}
	patient := channels.Backoff{Least: c.opts.ReconnectMax, Most: c.opts.ReconnectMax}
	for {
		began := time.Now()
		err := c.connect(ctx, q)
		switch {
		case ctx.Err() != nil:
			c.setStatus(channels.StateDown, "stopped")
			return nil
		case errors.Is(err, channels.ErrElsewhere):
			c.setStatus(channels.StateDown, sentence(err))
			return fmt.Errorf("irc: %w", err)
		case errors.Is(err, channels.ErrPermanent):
			c.setStatus(channels.StateFailed, sentence(err))
			return fmt.Errorf("irc: %w", err)
		}
		if time.Since(began) > steady {
			tries.Failed = 0
		}
		pause, state := tries.Next(), channels.StateDown
		if needsPerson(err) {
			// A ban or a wrong certificate does not go away in seconds, and
			// frequent attempts make bans longer.
			pause, state = patient.Next(), channels.StateFailed
		}
		c.setStatus(state, sentence(err))
		c.log.Warn("connection lost", "err", err, "retry_in", pause.Round(time.Millisecond))
		channels.Sleep(ctx, pause)
	}
}

// connect makes one connection, serves it until it ends, and says why it ended.
func (c *Channel) connect(ctx context.Context, q *intake) error {
	c.setStatus(channels.StateConnecting, "")
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	s := newSession(c, conn, q)
	c.current.Store(s)
	defer c.current.Store(nil)
	defer c.multiline.Store(&limits{})
	err = s.run(ctx)
	silent := s.lastRead.Equal(s.began)
	if silent && !c.opts.TLS && ctx.Err() == nil && c.speaksTLS(ctx) {
		return refused("connect to %s: this port speaks TLS: write tls: true, or use the network's port without TLS (mostly 6667)", c.opts.Server)
	}
	return err
}

// speaksTLS reports whether the server's port speaks TLS. A server that does says nothing
// that we understand to those who do not, and only closes the connection.
func (c *Channel) speaksTLS(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, min(c.opts.RegisterTimeout, 10*time.Second))
	defer cancel()
	conn, err := c.opts.Dial(ctx, "tcp", c.opts.Server)
	if err != nil {
		return false
	}
	defer conn.Close()
	err = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) //nolint:gosec // nothing is sent over it
	var alert tls.AlertError
	return err == nil || errors.As(err, &alert)
}

// dial opens the connection within RegisterTimeout, the TLS handshake included.
func (c *Channel) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.RegisterTimeout)
	defer cancel()
	conn, err := c.opts.Dial(ctx, "tcp", c.opts.Server)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.opts.Server, err)
	}
	if !c.opts.TLS {
		return conn, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.opts.TLSConfig != nil {
		config = c.opts.TLSConfig.Clone()
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(c.opts.Server)
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		var plainPort tls.RecordHeaderError
		if errors.As(err, &plainPort) {
			return nil, refused("connect to %s: this port does not speak TLS: use the network's TLS port (mostly 6697), or try tls: false", c.opts.Server)
		}
		return nil, fmt.Errorf("connect to %s: TLS: %w", c.opts.Server, err)
	}
	return secure, nil
}

func (c *Channel) warnAboutPlainSecrets() {
	host, _, _ := net.SplitHostPort(c.opts.Server)
	ip := net.ParseIP(host)
	if c.opts.TLS || host == "localhost" || ip != nil && ip.IsLoopback() {
		return
	}
	if c.opts.Password != "" || c.opts.SASL.Password != "" || c.opts.NickServ.Password != "" {
		c.log.Warn("passwords travel unencrypted: set tls")
	}
}

// refusal is an error that lasts until a person does something.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refused(format string, a ...any) error { return &refusal{fmt.Errorf(format, a...)} }

func needsPerson(err error) bool {
	var (
		r    *refusal
		cert *tls.CertificateVerificationError
		host x509.HostnameError
	)
	return errors.As(err, &r) || errors.As(err, &cert) || errors.As(err, &host)
}

// sentence is err's text for the operator, without the marker of permanent errors.
func sentence(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimSuffix(err.Error(), ": "+channels.ErrPermanent.Error())
}

// isRoom reports whether the chat part of a key is a channel rather than a
// person, by its first character.
func isRoom(chat string) bool { return chat != "" && strings.ContainsRune("#&!+", rune(chat[0])) }

// newID makes a message id that no other message of any run has. Its number shows
// a gap if a message of this run was not stored.
func (c *Channel) newID() string { return fmt.Sprintf("%s-%d", c.runID, c.lastID.Add(1)) }

// Shared implements [channels.Sharer].
func (c *Channel) Shared(chat string) bool { return isRoom(chat) }
