package irc

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"time"
)

// SASL configures the login to the network's services, which precedes everything else.
type SASL struct {
	// Mechanism is "PLAIN" (SCRAM-SHA-256 if the network offers it), "EXTERNAL"
	// (by the client certificate in Options.TLSConfig) or "" for none.
	Mechanism string
	User      string // PLAIN: the account; EXTERNAL: may be empty
	Password  string // PLAIN
	// Required: join nothing and send nothing without a login. Ignored without a
	// Mechanism.
	Required bool
}

// NickServ configures logging in by a message to a service, for networks without SASL.
type NickServ struct {
	// Nick is who gets the password; default "NickServ". A network's full form,
	// such as "NickServ@services.example", keeps it from an impostor.
	Nick     string
	User     string // account, if the service wants it before the password
	Password string
	// Regain is the service's command that frees our nick when another user or a
	// dead connection holds it: "REGAIN", "GHOST", "RECOVER" or "" for none.
	Regain string
}

// Options configure a [Channel]. Only Server and Nick have no default. The
// configuration validates them.
type Options struct {
	Server string // host:port
	TLS    bool
	// TLSConfig may hold private CAs and the client certificate for EXTERNAL. The
	// certificate must be for Server's host unless TLSConfig sets ServerName.
	TLSConfig *tls.Config
	Password  string // the server's own (PASS)

	Nick     string
	AltNicks []string // tried in this order when Nick is taken, before generated ones
	User     string   // default: Nick
	RealName string   // default: Nick

	SASL     SASL
	NickServ NickServ

	// Channels to join: "#go", or "#locked sesame" with a key.
	Channels []string
	// Bridges are the nicks of programs that relay people of other networks into channels,
	// as "<name> text": these people are heard as themselves.
	Bridges []string
	// Everything treats all messages in channels as addressed to the bot, not only
	// those that name it.
	Everything bool
	// MaxLines is how many lines of an answer a channel sees (12) before it asks
	// for as many again with "!more". Negative: the whole answer at once.
	MaxLines int

	// Flood budget: FloodBurst lines at once (4), then one every FloodEvery (2 s).
	FloodBurst int
	FloodEvery time.Duration

	PingEvery       time.Duration // silence after which the server gets a PING (60 s)
	PingTimeout     time.Duration // wait for its PONG (30 s)
	RegisterTimeout time.Duration // from dialling to the welcome (60 s)
	ConfirmTimeout  time.Duration // from writing a line to its confirmation (45 s)
	RegainEvery     time.Duration // between attempts to get Nick back (60 s)
	RejoinDelay     time.Duration // first wait after a kick or a refused JOIN, doubled each time (10 s)
	RejoinMax       time.Duration // longest such wait (5 min)
	ReconnectMin    time.Duration // first wait after a lost connection, doubled each time (2 s)
	ReconnectMax    time.Duration // longest such wait (5 min)

	// Shared: several nodes use Nick, one at a time. The first time Nick is in use,
	// Run ends with channels.ErrElsewhere. If it still is in use after that, the
	// holder is no node of ours, and Run tries other nicks.
	Shared bool
	Logger *slog.Logger // default: discards
	// Dial opens the TCP connection; default: a net.Dialer. TLS runs over it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (o Options) withDefaults() Options {
	if o.TLSConfig != nil {
		o.TLSConfig = o.TLSConfig.Clone()
	}
	o.SASL.Required = o.SASL.Required && o.SASL.Mechanism != ""
	o.User = cmp.Or(o.User, o.Nick)
	o.RealName = cmp.Or(o.RealName, o.Nick)
	o.NickServ.Nick = cmp.Or(o.NickServ.Nick, "NickServ")
	o.MaxLines = cmp.Or(o.MaxLines, 12)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	o.FloodBurst = cmp.Or(o.FloodBurst, 4)
	o.FloodEvery = cmp.Or(o.FloodEvery, 2*time.Second)
	o.PingEvery = cmp.Or(o.PingEvery, time.Minute)
	o.PingTimeout = cmp.Or(o.PingTimeout, 30*time.Second)
	o.RegisterTimeout = cmp.Or(o.RegisterTimeout, time.Minute)
	o.ConfirmTimeout = cmp.Or(o.ConfirmTimeout, 45*time.Second)
	o.RegainEvery = cmp.Or(o.RegainEvery, time.Minute)
	o.RejoinDelay = cmp.Or(o.RejoinDelay, 10*time.Second)
	o.RejoinMax = cmp.Or(o.RejoinMax, 5*time.Minute)
	o.ReconnectMin = cmp.Or(o.ReconnectMin, 2*time.Second)
	o.ReconnectMax = cmp.Or(o.ReconnectMax, 5*time.Minute)
	return o
}

// maxTarget bounds a target: networks allow up to 200 bytes (by the old
// standard), and a line must have room for text.
const maxTarget = 200

// validTarget reports whether a line sent to t reaches t alone: t is no list, no
// mask, no second parameter and no second line.
func validTarget(t string) bool {
	if t == "" || len(t) > maxTarget || t[0] == ':' || t[0] == '$' {
		return false
	}
	return strings.IndexFunc(t, func(r rune) bool { return r <= ' ' || r == ',' || r == 0x7f || r == '*' || r == '?' }) < 0
}
