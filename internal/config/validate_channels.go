package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/internal/lazily"
)

func (v *validator) channels() {
	tokens, networks, once := map[string]string{}, map[string]string{}, map[string]string{}
	for _, name := range sortedKeys(v.c.Channels) {
		path, ch := "channels."+name, v.c.Channels[name]
		v.access(path, ch)
		v.prompts(path, ch)
		v.models(path, ch)
		switch ch.Type {
		case TypeTelegram:
			v.telegram(path, ch.Telegram, ch.Enabled)
			v.unique(path, ch, tokens, ch.Telegram.Token.Reveal(), "has the same token as %s, and two pollers of one bot stop each other")
		case TypeWhatsApp:
			v.whatsapp(path, ch)
		case TypeIRC:
			v.irc(path, ch.IRC, ch.Enabled)
			v.unique(path, ch, networks, ch.IRC.Server+" "+ch.IRC.Nick, "has the same server and nick as %s")
		default:
			v.unique(path, ch, once, ch.Type, "there is one channel of this type already: %s")
		}
	}
}

// unique refuses two enabled channels that would get into each other's way.
func (v *validator) unique(path string, ch Channel, seen map[string]string, id, what string) {
	if !ch.Enabled || id == "" {
		return
	}
	if first, taken := seen[id]; taken {
		v.bad(path, fmt.Sprintf(what, first), "remove one, or turn it off with enabled: false")
		return
	}
	seen[id] = strings.TrimPrefix(path, "channels.")
}

// access checks who may talk. Each type has ids of its own that the network
// vouches for; anything else in a list would look like protection and be none.
func (v *validator) access(path string, ch Channel) {
	v.oneOf(path+".groups", ch.Groups, GroupsAddressed, GroupsAll, GroupsOff)
	if ch.Type == TypeIRC {
		foldIRC(ch.Allow)
	}
	everybody := slices.Contains(ch.Allow, "*")
	for i, entry := range ch.Allow {
		at := fmt.Sprintf("%s.allow[%d]", path, i)
		switch {
		case entry == "*":
		case slices.Index(ch.Allow, entry) < i:
			v.bad(at, "appears twice", "keep one")
		default:
			what, want := allowChecks[ch.Type](entry)
			if what != "" {
				v.bad(at, v.show(at, entry)+" "+what, want)
			}
		}
	}
	switch {
	case everybody && len(ch.Allow) > 1:
		v.bad(path+".allow", `"*" lets everybody in, so the other entries have no effect`, `keep either "*" or the others`)
	case everybody && ch.Pairing:
		v.bad(path+".pairing", `allow has "*", so nobody would ever be asked for a code`, `remove "*", or pairing`)
	case everybody && ch.Enabled && ch.Type != TypeWeb && ch.Type != TypeCLI:
		v.warn(path+".allow", `everybody on the network may talk and spend your model ("*")`, "list people instead")
	case len(ch.Allow) == 0 && !ch.Pairing && ch.Enabled:
		v.warn(path+".allow", "nobody may talk", "add people to allow, or set pairing: true")
	}
	if ch.Pairing && (ch.Type == TypeWeb || ch.Type == TypeCLI) {
		v.bad(path+".pairing", "nobody can be paired on a channel of type "+ch.Type, "remove the line")
	}
}

var botToken = lazily.Compile(`^[0-9]{1,16}:[A-Za-z0-9_-]{8,}$`)

// telegram checks a bot's settings. One that is turned off needs none.
func (v *validator) telegram(path string, t *Telegram, enabled bool) {
	switch {
	case v.written(path+".token") && t.TokenFile != "":
		v.bad(path+".token_file", "token is set as well", "keep one of the two")
	case t.TokenFile != "":
		t.TokenFile = v.opts.absolute(t.TokenFile, v.base)
		if !enabled {
			break
		}
		text, err := v.secretFile(t.TokenFile)
		if missing := (*missingError)(nil); v.opts.NoSecrets && errors.As(err, &missing) {
			break
		}
		if err != nil {
			v.bad(path+".token_file", err.Error(), "")
			break
		}
		t.Token = NewSecret(text)
		v.botToken(path+".token_file", t.Token)
	case v.written(path + ".token"):
		if !t.Token.Empty() {
			v.botToken(path+".token", t.Token)
		}
	case enabled:
		v.bad(path+".token", "is needed", "get one from @BotFather, and write token: \"${file:/path}\", or token_file")
	}
	if t.APIURL == "" {
		v.bad(path+".api_url", "is empty", "remove the line, or write https://api.telegram.org")
	}
	v.url(path+".api_url", t.APIURL, true)
	v.span(path+".poll_timeout", t.PollTimeout, time.Second, time.Minute)
}

func (v *validator) botToken(path string, token Secret) {
	if !botToken.Regexp().MatchString(token.Reveal()) {
		v.bad(path, "does not look like a bot token", "copy it whole from @BotFather: digits, a colon, letters and digits")
	}
}

// irc checks a network's settings. One that is turned off needs no server.
func (v *validator) irc(path string, c *IRC, enabled bool) {
	if enabled || c.Server != "" {
		v.ircServer(path, c)
	}
	v.nick(path+".nick", c.Nick)
	for i, nick := range c.AltNicks {
		v.nick(fmt.Sprintf("%s.alt_nicks[%d]", path, i), nick)
	}
	if c.User == "" && ircUser.Regexp().MatchString(c.Nick) {
		c.User = c.Nick
	}
	if c.User == "" {
		c.User = "dragoman" // a user name cannot begin as a nick can
	}
	if !ircUser.Regexp().MatchString(c.User) {
		v.bad(path+".user", "has a character that cannot be in a user name", "write letters and digits")
	}
	oneLine := map[string]string{
		"real_name": c.RealName, "sasl.user": c.SASL.User, "nickserv.user": c.NickServ.User, "nickserv.nick": c.NickServ.Nick,
	}
	for _, field := range sortedKeys(oneLine) {
		if strings.ContainsAny(oneLine[field], "\r\n\x00") {
			v.bad(path+"."+field, "has a line break", "write one line")
		}
	}
	if enabled {
		v.fileAt(path+".ca_file", &c.CAFile)
		v.fileAt(path+".client_cert", &c.ClientCert)
		v.fileAt(path+".client_key", &c.ClientKey)
	}
	v.services(path, c, enabled)
	seen := map[string]bool{}
	for i, ch := range c.Channels {
		at := fmt.Sprintf("%s.channels[%d]", path, i)
		switch {
		case !ircChannel.Regexp().MatchString(ch.Name):
			v.bad(at, v.show(at, ch.Name)+" is not a channel", `write its name with #, in quotes: "#go"`)
		case seen[strings.ToLower(ch.Name)]:
			v.bad(at, "appears twice", "keep one")
		case strings.ContainsAny(ch.Key.Reveal(), " ,"):
			v.bad(at+".key", "has a space or a comma, which a channel key cannot have", "")
		}
		seen[strings.ToLower(ch.Name)] = true
	}
	v.between(path+".max_lines", c.MaxLines, 0, 1000)
	v.between(path+".flood.burst", c.Flood.Burst, 1, 100)
	v.span(path+".flood.every", c.Flood.Every, 10*time.Millisecond, time.Minute)
}

func (v *validator) ircServer(path string, c *IRC) {
	if c.Server == "" {
		v.bad(path+".server", "is needed", "write host:port, like irc.example.org:6697")
		return
	}
	host, port, err := net.SplitHostPort(c.Server)
	n, portErr := strconv.Atoi(port)
	if err != nil || host == "" || portErr != nil || n < 1 || n > 65535 || strings.ContainsAny(host, " /@") {
		v.bad(path+".server", v.show(path+".server", c.Server)+" is not an address", "write host:port, like irc.example.org:6697")
		return
	}
	secrets := !c.Password.Empty() || !c.SASL.Password.Empty() || !c.NickServ.Password.Empty()
	switch {
	case !c.TLS && (c.CAFile != "" || c.ClientCert != ""):
		v.bad(path+".tls", "is false, but certificates are set", "write tls: true, or remove them")
	case !c.TLS && n == 6697:
		v.warn(path+".tls", "is false, but 6697 is the port for TLS", "write tls: true")
	case !c.TLS && secrets && !loopbackHost(host):
		v.warn(path+".tls", "is false, so passwords cross the network unencrypted", "write tls: true")
	}
}

func (v *validator) nick(path, nick string) {
	if !ircNick.Regexp().MatchString(nick) {
		v.bad(path, v.show(path, nick)+" is not a valid nick", "write letters, digits and -_[]{}|, not beginning with a digit")
	}
}

// services checks how we identify to the network. One that is turned off may
// lack what only lies in a file or a variable.
func (v *validator) services(path string, c *IRC, enabled bool) {
	s := &c.SASL
	s.Mechanism = strings.ToLower(s.Mechanism)
	switch s.Mechanism {
	case "":
		if s.User != "" || !s.Password.Empty() {
			v.bad(path+".sasl.mechanism", "is empty, but a user or a password is set", "write plain")
		}
	case "plain":
		if enabled && (s.User == "" || s.Password.Empty()) {
			v.bad(path+".sasl", "plain needs user and password", "write both")
		}
	case "external":
		if enabled && c.ClientCert == "" {
			v.bad(path+".sasl.mechanism", "external needs a certificate", "set client_cert")
		}
		if !s.Password.Empty() {
			v.bad(path+".sasl.password", "external uses no password", "remove it, or write mechanism: plain")
		}
	default:
		v.oneOf(path+".sasl.mechanism", s.Mechanism, "plain", "external")
	}
	if enabled && c.ClientKey != "" && c.ClientCert == "" {
		v.bad(path+".client_key", "is set, but client_cert is not", "set client_cert")
	}
	if enabled && c.NickServ.User != "" && c.NickServ.Password.Empty() {
		v.bad(path+".nickserv", "user is set, but password is not", "write both")
	}
	if c.NickServ.Regain = strings.ToLower(c.NickServ.Regain); c.NickServ.Regain != "" {
		v.oneOf(path+".nickserv.regain", c.NickServ.Regain, "regain", "ghost", "recover")
	}
}
