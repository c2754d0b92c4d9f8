package irc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

// Groups says which messages in shared channels are meant for the bot.
type Groups string

// The modes of shared channels. "" is GroupsMention.
const (
	GroupsMention Groups = "mention" // those that address it by name
	GroupsAll     Groups = "all"     // every message
	GroupsOff     Groups = "off"     // none: nothing said in channels is handed in
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

// Options configure a [Channel]. Only Server and Nick have no default.
type Options struct {
	Server string // host:port; without a port 6697 (TLS) or 6667
	TLS    bool
	// TLSConfig may hold own CAs and the client certificate for EXTERNAL. The
	// server's name is checked against Server unless it sets another one.
	TLSConfig *tls.Config
	Password  string // the server's own (PASS)

	Nick     string
	AltNicks []string // tried in this order when Nick is taken, before made-up ones
	User     string   // default: Nick's letters and digits
	RealName string   // default: Nick

	SASL     SASL
	NickServ NickServ

	// Channels to be in: "#go", or "#locked sesame" with a key.
	Channels []string
	Groups   Groups
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
	if _, _, err := net.SplitHostPort(o.Server); err != nil && o.Server != "" {
		port := "6667"
		if o.TLS {
			port = "6697"
		}
		o.Server = net.JoinHostPort(strings.Trim(o.Server, "[]"), port)
	}
	o.SASL.Required = o.SASL.Required && o.SASL.Mechanism != ""
	if o.User == "" {
		o.User = userFrom(o.Nick)
	}
	if o.RealName == "" {
		o.RealName = o.Nick
	}
	if o.NickServ.Nick == "" {
		o.NickServ.Nick = "NickServ"
	}
	if o.Groups == "" {
		o.Groups = GroupsMention
	}
	if o.FloodBurst <= 0 {
		o.FloodBurst = 4
	}
	if o.MaxLines == 0 {
		o.MaxLines = 12
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	for _, d := range []struct {
		at *time.Duration
		to time.Duration
	}{
		{&o.FloodEvery, 2 * time.Second},
		{&o.PingEvery, time.Minute},
		{&o.PingTimeout, 30 * time.Second},
		{&o.RegisterTimeout, time.Minute},
		{&o.ConfirmTimeout, 45 * time.Second},
		{&o.RegainEvery, time.Minute},
		{&o.RejoinDelay, 10 * time.Second},
		{&o.RejoinMax, 5 * time.Minute},
		{&o.ReconnectMin, 2 * time.Second},
		{&o.ReconnectMax, 5 * time.Minute},
	} {
		if *d.at <= 0 {
			*d.at = d.to
		}
	}
	return o
}

// userFrom keeps what every server takes as a user name: its first ten
// letters and digits.
func userFrom(nick string) string {
	user := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			return r
		}
		return -1
	}, nick)
	if user == "" {
		return "dragoman"
	}
	return strings.ToLower(user[:min(len(user), 10)])
}

// problems lists everything wrong with o, which has its defaults already.
func (o Options) problems(name string) error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if _, err := channels.NewKey(name, "x"); err != nil {
		errs = append(errs, err)
	}
	host, port, err := net.SplitHostPort(o.Server)
	if n, perr := strconv.Atoi(port); err != nil || host == "" || perr != nil || n < 1 || n > 65535 {
		bad("server: %q is not host:port", o.Server)
	}
	for _, nick := range append([]string{o.Nick}, o.AltNicks...) {
		if !validNick(nick) {
			bad("nick: %q is not a nick", nick)
		}
	}
	if !girc.IsValidUser(o.User) {
		bad("user: %q is not a user name", o.User)
	}
	for field, value := range map[string]string{
		"password": o.Password, "real name": o.RealName,
		"sasl user": o.SASL.User, "sasl password": o.SASL.Password,
		"nickserv nick": o.NickServ.Nick, "nickserv user": o.NickServ.User, "nickserv password": o.NickServ.Password,
	} {
		if strings.ContainsAny(value, "\r\n\x00") {
			bad("%s: has a line break or NUL in it", field) // The value may be a secret.
		}
	}
	if len(o.Password)+len(o.NickServ.Password)+len(o.NickServ.User) > 400 {
		bad("password: too long for one line")
	}
	switch o.NickServ.Regain {
	case "", "REGAIN", "GHOST", "RECOVER":
	default:
		bad("nickserv regain: %q is not REGAIN, GHOST or RECOVER", o.NickServ.Regain)
	}
	switch o.Groups {
	case GroupsMention, GroupsAll, GroupsOff:
	default:
		bad("groups: %q is not mention, all or off", o.Groups)
	}
	errs = append(errs, o.SASL.problems(o)...)
	for _, c := range o.Channels {
		if _, _, err := parseRoom(c); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s SASL) problems(o Options) []error {
	var errs []error
	switch s.Mechanism {
	case "":
		if s.User != "" || s.Password != "" {
			errs = append(errs, errors.New("sasl: no mechanism given (PLAIN or EXTERNAL)"))
		}
	case "PLAIN":
		if s.User == "" || s.Password == "" {
			errs = append(errs, errors.New("sasl: PLAIN needs a user and a password"))
		}
	case "EXTERNAL":
		if !o.TLS || o.TLSConfig == nil || len(o.TLSConfig.Certificates) == 0 && o.TLSConfig.GetClientCertificate == nil {
			errs = append(errs, errors.New("sasl: EXTERNAL needs TLS and a client certificate"))
		}
	default:
		errs = append(errs, fmt.Errorf("sasl: mechanism %q is not PLAIN or EXTERNAL", s.Mechanism))
	}
	if strings.Contains(s.User+s.Password, "\x00") {
		errs = append(errs, errors.New("sasl: user and password cannot contain NUL"))
	}
	return errs
}

// parseRoom reads "#go" or "#locked sesame".
func parseRoom(s string) (name, key string, err error) {
	fields := strings.Fields(s)
	switch {
	case len(fields) == 0 || len(fields) > 2:
		return "", "", fmt.Errorf("channels: %q is not a channel with an optional key", s)
	case !validTarget(fields[0]) || !strings.ContainsRune("#&!+", rune(fields[0][0])) || len(fields[0]) < 2:
		return "", "", fmt.Errorf("channels: %q is not a channel's name (like #go)", fields[0])
	case len(fields) == 1:
		return fields[0], "", nil
	case !validTarget(fields[1]):
		return "", "", fmt.Errorf("channels: the key of %s cannot be sent", fields[0])
	}
	return fields[0], fields[1], nil
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

// validNick is lax about the alphabet, since some networks allow UTF-8, and
// strict about what would make the name something else than a nick.
func validNick(n string) bool {
	return validTarget(n) && len(n) <= 64 && !strings.ContainsAny(n, "!@.:") &&
		!strings.ContainsRune("#&+~%-0123456789", rune(n[0]))
}
