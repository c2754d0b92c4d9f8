// Package irc connects one IRC network to Dragoman.
//
// # Promise
//
// Inbound: a line is handed to the intake in the order of its arrival, again
// and again until it is stored; IRC has no acknowledgement, so a message that
// was still waiting when the process died is lost, and one that waits when
// Run ends gets a last second. Outbound: [Channel.Send] returns nil only when
// the server has answered a PING that followed the line, or has echoed the
// line where it can. A line is never longer than the network takes, never
// two lines, and never reaches anyone but the target of its key.
//
// # Failures
//
// A lost, silent or refused connection is made again after a growing wait
// with jitter, and the channels are joined again; so are those we were kicked
// from or could not enter. What was not written yet fails with
// [channels.NotSent], what was written and not confirmed with a plain error.
// Required SASL means required: without a login nothing is joined and nothing
// said. Refused credentials end Run with [channels.ErrPermanent]. When the
// store refuses for so long that the queue to it is full, further messages are
// dropped, counted and reported as an error.
//
// # Goroutines
//
// Run starts one goroutine that hands messages in. Each connection has a
// reader, a writer and a loop; the loop owns everything that is known about
// the network, and others ask it by sending it functions. Run waits for all
// of them.
//
// The wire format comes from girc (events, tags, sources). Its client is not
// used; docs/decisions/0011 says why.
package irc

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
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
)

// steady is how long a connection must have lasted for the next wait to
// begin small again.
const steady = time.Minute

// Channel is one IRC network. It is made by [New].
type Channel struct {
	name        string
	opts        Options
	log         *slog.Logger
	longestNick string
	multi       atomic.Pointer[limits]
	nonce       string // makes our message ids unlike those of other runs
	counter     atomic.Uint64
	commands    map[string]bool
	current     atomic.Pointer[session] // nil while there is no connection
	yielded     atomic.Bool             // it let go because its nick was in use; see Options.Shared

	status channels.Standing

	// people is who talks to us in private. Only the loop of the current
	// session touches it; sessions follow one another.
	people people
	rests  rests
	loops  loops
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
	nonce := make([]byte, 9)
	rand.Read(nonce) // Never fails.
	c := &Channel{
		name:  name,
		opts:  o,
		log:   o.Logger.With("channel", name),
		nonce: hex.EncodeToString(nonce),
		loops: loops{by: map[string]*exchange{}},
	}
	c.longestNick = strings.Repeat("n", 16)
	for _, n := range append([]string{o.Nick + "__"}, o.AltNicks...) {
		if len(n) > len(c.longestNick) {
			c.longestNick = n
		}
	}
	c.status.Report(channels.Status{State: channels.StateDown, Detail: "not started"})
	c.SetCommands([]channels.Command{{Name: "help"}, {Name: "new"}, {Name: "stop"}, {Name: "status"}, {Name: "start"}})
	return c, nil
}

// Name is the instance's name.
func (c *Channel) Name() string { return c.name }

// CommandSign is "!": IRC clients keep a leading "/" for themselves.
func (c *Channel) CommandSign() string { return "!" }

// SetCommands says which words after a "!" are commands.
func (c *Channel) SetCommands(cmds []channels.Command) {
	known := make(map[string]bool, len(cmds))
	for _, cmd := range cmds {
		known[strings.ToLower(cmd.Name)] = true
	}
	c.commands = known
}

// Status says how the connection is, and which channels could not be entered.
func (c *Channel) Status() channels.Status { return c.status.Status() }

func (c *Channel) setStatus(state channels.State, detail string) {
	c.status.Report(channels.Status{State: state, Detail: detail})
}

// Run keeps the connection until ctx ends.
func (c *Channel) Run(ctx context.Context, in channels.Intake) error {
	q := &intake{in: in, log: c.log, queue: make(chan channels.Inbound, intakeSize)}
	handing, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { q.run(handing) })
	defer func() { // the last session is over
		close(q.queue)
		defer giveUp()
		defer time.AfterFunc(lastChance, giveUp).Stop()
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
			// hammering makes bans longer.
			pause, state = patient.Next(), channels.StateFailed
		}
		c.setStatus(state, sentence(err))
		c.log.Warn("connection lost", "err", err, "retry_in", pause.Round(time.Millisecond))
		channels.Sleep(ctx, pause)
	}
}

// connect dials, and lives until the connection ends.
func (c *Channel) connect(ctx context.Context, q *intake) error {
	c.setStatus(channels.StateConnecting, "")
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	s := newSession(c, conn, q)
	c.current.Store(s)
	defer c.current.Store(nil)
	defer c.multi.Store(nil)
	return s.run(ctx)
}

// dial opens the connection within the time for registering. TLS is ours
// rather than the library's so that the handshake has a deadline too.
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

// warnAboutPlainSecrets says out loud that a password will be readable on the way.
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

// refusal is an error that goes on until a person does something.
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

// sentence is err for the operator.
func sentence(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimSuffix(err.Error(), ": "+channels.ErrPermanent.Error())
}

// isRoom reports whether the chat part of a key is a channel rather than a
// person: its first character says so.
func isRoom(chat string) bool { return chat != "" && strings.ContainsRune("#&!+", rune(chat[0])) }

// newID makes a message id that no other message of any run has.
func (c *Channel) newID() string {
	return fmt.Sprintf("%s-%d", c.nonce, c.counter.Add(1))
}
