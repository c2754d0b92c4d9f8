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

// SASL logs in to the network's services before anything else happens.
type SASL struct {
	// Mechanism is "PLAIN" (SCRAM-SHA-256 where the network has that), "EXTERNAL" (the client certificate in
	// Options.TLSConfig is the proof) or "" for none.
	Mechanism string
	User      string // PLAIN: the account; EXTERNAL: may be empty
	Password  string // PLAIN
	// Required means that without a login there is no joining and no talking.
	// It says nothing where there is no Mechanism.
	Required bool
}

// NickServ identifies with a message to a service, for networks without SASL.
type NickServ struct {
	// Nick is whom the password is told, "NickServ" if empty. A network's own
	// form such as "NickServ@services.example" keeps it from an impostor.
	Nick     string
	User     string // account, if the service wants it before the password
	Password string
	// Regain is the service's command that frees our nick when somebody else
	// or a dead connection holds it: "REGAIN", "GHOST", "RECOVER" or "" for none.
	Regain string
}

// Options configure a [Channel]. Only Server and Nick have no default. Whether
// they make sense is for the configuration to check.
type Options struct {
	Server string // host:port
	TLS    bool
	// TLSConfig may hold own CAs and the client certificate for EXTERNAL. The
	// server's name is checked against Server unless it sets another one.
	TLSConfig *tls.Config
	Password  string // the server's own (PASS)

	Nick     string
	AltNicks []string // tried in this order when Nick is taken, before made-up ones
	User     string   // default: Nick
	RealName string   // default: Nick

	SASL     SASL
	NickServ NickServ

	// Channels to be in: "#go", or "#locked sesame" with a key.
	Channels []string
	// Everything says that all messages in rooms are meant for the bot, and not
	// only those that address it by name.
	Everything bool
	// MaxLines is how many lines of an answer a room is shown (12); "!more"
	// shows as many again. Negative: all of it at once.
	MaxLines int

	// Flood budget: so many lines at once (4), then one every FloodEvery (2 s).
	FloodBurst int
	FloodEvery time.Duration

	PingEvery       time.Duration // asks a silent server whether it lives (60 s)
	PingTimeout     time.Duration // and gives up after this (30 s)
	RegisterTimeout time.Duration // from dialling to the welcome (60 s)
	ConfirmTimeout  time.Duration // from writing a line to the server's word for it (45 s)
	RegainEvery     time.Duration // tries for Nick while another one is in use (60 s)
	RejoinDelay     time.Duration // when a channel is closed or we are kicked, doubled each time (10 s)
	RejoinMax       time.Duration // its bound (5 min)
	ReconnectMin    time.Duration // first wait after a lost connection (2 s), doubled each time
	ReconnectMax    time.Duration // its bound (5 min)

	// Shared says that several nodes use the nick, one at a time. One that is in use
	// ends Run with channels.ErrElsewhere; if it still is the next time, somebody else
	// has it, and others are tried.
	Shared bool
	Logger *slog.Logger // default: discards
	// Dial opens the connection; default: a net.Dialer. TLS comes on top.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// withDefaults fills in what was left empty.
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

// maxTarget is longer than any name that networks allow (200 by the old
// standard) and leaves room for text in a line.
const maxTarget = 200

// validTarget reports whether a line can be sent to t and to nothing else: no
// second parameter, no list of targets, no mask of servers, no second line.
func validTarget(t string) bool {
	if t == "" || len(t) > maxTarget || t[0] == ':' || t[0] == '$' {
		return false
	}
	return strings.IndexFunc(t, func(r rune) bool { return r <= ' ' || r == ',' || r == 0x7f || r == '*' || r == '?' }) < 0
}
