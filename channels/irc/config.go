package irc

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"

	"dragoman/channels"
	"dragoman/internal/lazily"
	"dragoman/internal/setting"
)

// Type is what the configuration knows of IRC.
var Type = channels.Type{Name: "irc", Settings: func() channels.Settings { return new(Settings) }}

// Settings are those of one network.
type Settings struct {
	Server     string           `yaml:"server,omitempty" is:"server address" empty:"ok" doc:"host:port of the network."`
	TLS        bool             `yaml:"tls" default:"true" doc:"Use TLS. Without it, anybody on the network path can read along."`
	CAFile     string           `yaml:"ca_file" is:"file" empty:"ok" doc:"PEM file with the authorities to trust instead of the system's."`
	ClientCert string           `yaml:"client_cert" is:"file" empty:"ok" doc:"PEM file with our certificate, for SASL EXTERNAL or CertFP."`
	ClientKey  string           `yaml:"client_key" is:"file" empty:"ok" doc:"PEM file with the certificate's key. Default: the key is in client_cert."`
	Password   setting.Secret   `yaml:"password,omitempty" doc:"The server's password, if it needs one."`
	Nick       string           `yaml:"nick" default:"dragoman" is:"nick" doc:"Our name there."`
	AltNicks   []string         `yaml:"alt_nicks,flow" is:"nick" doc:"Nicks to use while nick is taken."`
	User       string           `yaml:"user" is:"ident" empty:"ok" doc:"User name (ident). Default: nick."`
	RealName   string           `yaml:"real_name" default:"Dragoman" is:"line" doc:"Shown by WHOIS."`
	SASL       SASLSettings     `yaml:"sasl"`
	NickServ   NickServSettings `yaml:"nickserv"`
	Channels   []RoomSettings   `yaml:"channels"`
	Bridges    []string         `yaml:"bridges,omitempty,flow" is:"nick" doc:"Nicks of bridges, which relay people of other networks into a channel as <name> text. These people are heard as themselves."`
	MaxLines   int              `yaml:"max_lines" default:"12" range:"0..1000" doc:"Maximum lines of an answer shown in a channel; !more shows as many again. 0: no limit."`
	Flood      FloodSettings    `yaml:"flood"`
}

// SASLSettings identify us to the network's services while connecting.
type SASLSettings struct {
	Mechanism string         `yaml:"mechanism" oneof:"plain external" empty:"ok" doc:"plain (user and password) or external (client_cert). Empty: no SASL."`
	User      string         `yaml:"user" is:"line" doc:"The services account."`
	Password  setting.Secret `yaml:"password,omitempty" doc:"Its password."`
	Required  bool           `yaml:"required" default:"true" doc:"Disconnect if SASL login fails."`
}

// NickServSettings identify us where the network has no SASL.
type NickServSettings struct {
	User     string         `yaml:"user" is:"line" doc:"The services account."`
	Password setting.Secret `yaml:"password,omitempty" doc:"Its password, sent to NickServ after connecting."`
	Nick     string         `yaml:"nick" is:"line" doc:"Who receives the password. A form like NickServ@services.example protects it from impostors."`
	Regain   string         `yaml:"regain" oneof:"regain ghost recover" empty:"ok" doc:"The service's command that frees our nick from a dead connection: regain, ghost or recover. Empty: none."`
}

// RoomSettings are those of one channel to join. In YAML they may be the name alone.
type RoomSettings struct {
	Name string         `yaml:"name" short:"yes" once:"yes" is:"irc channel" doc:"The channel, with its #."`
	Key  setting.Secret `yaml:"key,omitempty" is:"channel key" doc:"Its key (mode +k)."`
}

// FloodSettings limit the rate of our lines.
type FloodSettings struct {
	Burst int              `yaml:"burst" default:"4" range:"1..100" doc:"Lines that may go out at once."`
	Every setting.Duration `yaml:"every" default:"2s" range:"10ms..1m" doc:"After these, one line per this interval."`
}

var (
	_ channels.FormTeller = (*Settings)(nil)
	_ channels.Distinct   = (*Settings)(nil)
	_ channels.Folder     = (*Settings)(nil)
	_ channels.Nicknamed  = (*Settings)(nil)
	_ channels.Maker      = (*Settings)(nil)
)

// Network is the server's host.
func (s *Settings) Network() string {
	if host, _, err := net.SplitHostPort(s.Server); err == nil {
		return host
	}
	return s.Server
}

// Nickname is the configured nick, whether or not the network gave it to us.
func (s *Settings) Nickname() string { return s.Nick }

// Expressions that several forms share.
const (
	maskForm = `^mask:([^\s!@*?]+)!([^\s!@*?]+)@([^\s!@*?]+)$`
	roomForm = `[#&+!][^\s,:\x00-\x1f]{1,63}`
)

var (
	mask  = lazily.Compile(maskForm)
	ident = lazily.Compile("^~?[A-Za-z0-9][A-Za-z0-9\\[\\]\\\\`_^{|}.-]*$")
)

// Forms are those of names and addresses.
func (*Settings) Forms() map[string]func(text string) (what, want string) {
	return map[string]func(string) (string, string){
		"server address": setting.Must(isServer, "%s is not an address", "write host:port, like irc.example.org:6697"),
		"nick":           setting.Like("^[A-Za-z\\[\\]\\\\`_^{|}][A-Za-z0-9\\[\\]\\\\`_^{|}-]{0,31}$", "%s is not a valid nick", "write letters, digits and -_[]{}|, not beginning with a digit"),
		"ident":          setting.Must(ident.Matches, "has a character that cannot be in a user name", "write letters and digits"),
		"irc channel":    setting.Like(`^`+roomForm+`$`, "%s is not a channel", `write its name with #, in quotes: "#go"`),
		"channel key":    setting.Like(`^[^ ,]*$`, "has a space or a comma, which a channel key cannot have", ""),
	}
}

func isServer(address string) bool {
	host, port, ok := setting.HostPort(address)
	return ok && host != "" && port > 0 && !strings.ContainsAny(host, " /@")
}

// Identities are accounts and whole masks. A nick alone can be taken by anybody.
func (*Settings) Identities() []channels.Identity {
	return []channels.Identity{
		{Form: `^account:[^\s*?!@:,]+$`},
		{Form: maskForm},
		{Form: `^chat:` + roomForm + `$`},
		{Form: `^bridge:[^\s*?!@:,/]+/[^*?!@,<>\n]{1,64}$`},
		{
			Form: `^mask:`, What: "is not a full mask: a nick alone proves nothing, and wildcards let in anybody who matches",
			Want: "write mask:nick!user@host without * and ?, or better account:name",
		},
		{Form: `^#`, What: "is a channel", Want: "write chat:%s"},
		{Form: ``, What: "is not an identity that an IRC network vouches for", Want: `write account:name (services), mask:nick!user@host, bridge:nick/name, chat:#channel, or "*"`},
	}
}

// Fold folds A to Z, which all networks do; they differ in what else they fold. The
// user part of a mask is compared unchanged.
func (*Settings) Fold(identity string) string {
	if parts := mask.Regexp().FindStringSubmatch(identity); parts != nil {
		return "mask:" + lowerASCII(parts[1]) + "!" + parts[2] + "@" + strings.ToLower(parts[3])
	}
	if strings.HasPrefix(identity, "account:") || strings.HasPrefix(identity, "chat:") || strings.HasPrefix(identity, "bridge:") {
		return lowerASCII(identity)
	}
	return identity
}

// Distinct is the nick, which a network gives to one connection.
func (s *Settings) Distinct() (id, what string) {
	return s.Server + " " + s.Nick, "has the same server and nick as %s"
}

// Check checks how we connect and log in. A channel that is turned off need not be
// complete.
func (s *Settings) Check(r channels.Report) {
	if s.User == "" {
		s.User = s.Nick
		if !ident.Matches(s.Nick) {
			s.User = "dragoman" // a user name cannot begin as a nick can
		}
	}
	for i, room := range s.Channels {
		if room.Name == "" {
			r.Bad(fmt.Sprintf("channels[%d].name", i), "is needed", "write the channel, with its #")
		}
	}
	if !r.Enabled() {
		return
	}
	s.checkServer(r)
	s.SASL.check(r, s.ClientCert != "")
	if s.ClientKey != "" && s.ClientCert == "" {
		r.Bad("client_key", "is set, but client_cert is not", "set client_cert")
	}
	if s.NickServ.User != "" && !s.NickServ.Password.IsSet() {
		r.Bad("nickserv", "user is set, but password is not", "write both")
	}
}

func (s *Settings) checkServer(r channels.Report) {
	host, port, _ := setting.HostPort(s.Server)
	secrets := s.Password.IsSet() || s.SASL.Password.IsSet() || s.NickServ.Password.IsSet()
	switch {
	case s.Server == "":
		r.Bad("server", "is needed", "write host:port, like irc.example.org:6697")
	case !s.TLS && (s.CAFile != "" || s.ClientCert != ""):
		r.Bad("tls", "is false, but certificates are set", "write tls: true, or remove them")
	case !s.TLS && port == 6697:
		r.Warn("tls", "is false, but 6697 is the port for TLS", "write tls: true")
	case !s.TLS && secrets && !setting.Loopback(host):
		r.Warn("tls", "is false, so passwords cross the network unencrypted", "write tls: true")
	}
}

func (s SASLSettings) check(r channels.Report, certificate bool) {
	switch {
	case s.Mechanism == "" && (s.User != "" || s.Password.IsSet()):
		r.Bad("sasl.mechanism", "is empty, but a user or a password is set", "write plain")
	case s.Mechanism == "plain" && (s.User == "" || !s.Password.IsSet()):
		r.Bad("sasl", "plain needs user and password", "write both")
	case s.Mechanism == "external" && !certificate:
		r.Bad("sasl.mechanism", "external needs a certificate", "set client_cert")
	case s.Mechanism == "external" && s.Password.IsSet():
		r.Bad("sasl.password", "external uses no password", "remove it, or write mechanism: plain")
	}
}

// Make makes the network's channel. It reads the certificates.
func (s *Settings) Make(with channels.Setup) (channels.Channel, error) {
	certificates, err := s.certificates(with.ReadFile)
	if err != nil {
		return nil, err
	}
	o := Options{
		Server: s.Server, TLS: s.TLS, TLSConfig: certificates, Password: s.Password.Reveal(),
		Nick: s.Nick, AltNicks: s.AltNicks, User: s.User, RealName: s.RealName,
		SASL: SASL{
			Mechanism: strings.ToUpper(s.SASL.Mechanism), User: s.SASL.User,
			Password: s.SASL.Password.Reveal(), Required: s.SASL.Required,
		},
		NickServ: NickServ{
			Nick: s.NickServ.Nick, User: s.NickServ.User, Password: s.NickServ.Password.Reveal(),
			Regain: strings.ToUpper(s.NickServ.Regain),
		},
		FloodBurst: s.Flood.Burst, FloodEvery: s.Flood.Every.D(), Shared: with.Shared, Logger: with.Logger,
		MaxLines:   cmp.Or(s.MaxLines, -1),
		Bridges:    s.Bridges,
		Everything: with.Everything, // "!new" is a command for us then; the gateway decides about the rest
	}
	for _, room := range s.Channels {
		o.Channels = append(o.Channels, strings.TrimSpace(room.Name+" "+room.Key.Reveal()))
	}
	return New(with.Name, o)
}

// certificates reads the files with the authorities to trust and with our certificate.
func (s *Settings) certificates(read func(path string) ([]byte, error)) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CAFile != "" {
		pem, err := read(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("irc: read ca_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("irc: ca_file %s holds no certificate in PEM form", s.CAFile)
		}
	}
	if s.ClientCert == "" {
		return c, nil
	}
	certificate, err := read(s.ClientCert)
	if err != nil {
		return nil, fmt.Errorf("irc: read client_cert: %w", err)
	}
	key, err := read(cmp.Or(s.ClientKey, s.ClientCert))
	if err != nil {
		return nil, fmt.Errorf("irc: read client_key: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("irc: read client_cert: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}
