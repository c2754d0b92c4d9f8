package irc

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lrstanley/girc"

	"dragoman/channels"
)

var wantedCaps = []string{
	"message-tags", "server-time", "batch", "echo-message", "account-tag", "account-notify",
	"extended-join", "chghost", "multi-prefix", "userhost-in-names", "cap-notify", multilineCap,
}

// identifyTimeout is how long we wait for NickServ to recognise us before we join
// anyway. Many channels admit only recognised users.
const identifyTimeout = 8 * time.Second

// login is the state of registering and of logging in.
type login struct {
	offered    map[string]string // capabilities and their values
	requested  []string          // capabilities not granted or refused yet
	capsDone   bool
	inSASL     bool
	mech       string // the SASL mechanism in use
	scram      *scram
	challenge  string // the parts of the server's SASL message so far
	account    string // our account, as the services report it
	triedNick  int
	welcomed   time.Time
	waitUntil  time.Time // when we stop waiting for NickServ; zero: we did not identify
	recognised bool      // NickServ has recognised us
	lastNotice string    // from NickServ
}

func (s *session) register() {
	o := s.ch.opts
	if o.Password != "" {
		s.push("PASS", o.Password)
	}
	s.push("CAP", "LS", "302")
	s.push("NICK", o.Nick)
	s.push("USER", o.User, "0", "*", o.RealName)
}

func (s *session) onCap(e *girc.Event) {
	switch sub := strings.ToUpper(param(e, 1)); sub {
	case "LS", "NEW":
		if s.login.offered == nil {
			s.login.offered = map[string]string{}
		}
		for _, c := range strings.Fields(e.Last()) {
			name, value, _ := strings.Cut(c, "=")
			s.login.offered[name] = value
		}
		if sub == "NEW" || param(e, 2) != "*" || len(e.Params) < 4 {
			s.askCaps()
		}
	case "ACK", "NAK":
		names := strings.Fields(e.Last())
		if sub == "NAK" && len(names) > 1 {
			// One refused capability makes the server refuse them all: ask one by one.
			for _, name := range names {
				s.push("CAP", "REQ", name)
			}
			return
		}
		for _, name := range names {
			off := strings.HasPrefix(name, "-")
			name = strings.TrimLeft(name, "-~=")
			s.login.requested = slices.DeleteFunc(s.login.requested, func(a string) bool { return a == name })
			if sub == "ACK" {
				s.net.caps[name] = !off
			}
		}
		s.readLimits()
		s.capsAnswered()
	case "DEL":
		for _, name := range strings.Fields(e.Last()) {
			delete(s.net.caps, name)
			delete(s.login.offered, name)
		}
		s.readLimits()
	}
}

func (s *session) askCaps() {
	want := wantedCaps
	if s.phase == registering && s.ch.opts.SASL.Mechanism != "" {
		want = append(slices.Clip(want), "sasl")
	}
	var ask []string
	for _, name := range want {
		if _, ok := s.login.offered[name]; ok && !s.net.caps[name] && !slices.Contains(s.login.requested, name) {
			ask = append(ask, name)
		}
	}
	if len(ask) > 0 {
		s.login.requested = append(s.login.requested, ask...)
		s.push("CAP", "REQ", strings.Join(ask, " "))
	}
	s.capsAnswered()
}

// capsAnswered continues once all requests are answered: with SASL, or by ending
// the negotiation.
func (s *session) capsAnswered() {
	if len(s.login.requested) > 0 || s.login.capsDone || s.login.inSASL {
		return
	}
	o := s.ch.opts.SASL
	if o.Mechanism == "" {
		s.endCaps()
		return
	}
	mech := o.Mechanism
	if mech == "PLAIN" && s.offersSASL(scramSHA256) {
		mech = scramSHA256 // so that the server does not learn the password
	}
	if !s.net.caps["sasl"] || s.login.offered["sasl"] != "" && !s.offersSASL(mech) {
		if o.Required {
			s.end(refused("%s does not offer SASL %s, which is required here", s.ch.opts.Server, o.Mechanism))
			return
		}
		s.log.Warn("not logged in: the network does not offer this way of logging in", "mechanism", o.Mechanism)
		s.endCaps()
		return
	}
	s.login.inSASL = true
	s.authenticate(mech)
}

// offersSASL reports whether the server lists mech. Old servers list none.
func (s *session) offersSASL(mech string) bool {
	return slices.Contains(strings.Split(strings.ToUpper(s.login.offered["sasl"]), ","), mech)
}

func (s *session) authenticate(mech string) {
	o := s.ch.opts.SASL
	s.login.scram, s.login.challenge = nil, ""
	if mech == scramSHA256 {
		s.login.scram = &scram{user: o.User, password: o.Password, nonce: rand.Text()}
	}
	s.login.mech = mech
	s.push("AUTHENTICATE", mech)
}

func (s *session) endCaps() {
	if !s.login.capsDone && s.phase == registering {
		s.push("CAP", "END")
	}
	s.login.capsDone, s.login.inSASL = true, false
}

// onAuthenticate answers the server's go-ahead, in parts of 400 bytes; a last
// part of exactly 400 is followed by an empty one.
func (s *session) onAuthenticate(e *girc.Event) {
	if !s.login.inSASL {
		return
	}
	if s.login.scram != nil {
		s.answerScram(e.Last())
		return
	}
	if e.Last() != "+" {
		return
	}
	o := s.ch.opts.SASL
	answer := o.User // EXTERNAL: the account to act as, or "" for the certificate's
	if o.Mechanism == "PLAIN" {
		answer = o.User + "\x00" + o.User + "\x00" + o.Password
	}
	s.sendAuth(answer)
}

// answerScram answers one SCRAM message of the server, which may come in parts.
func (s *session) answerScram(part string) {
	if part != "+" {
		s.login.challenge += part
	}
	if len(part) == 400 && len(s.login.challenge) < maxLineRead {
		return
	}
	message, err := base64.StdEncoding.DecodeString(s.login.challenge)
	s.login.challenge = ""
	answer := ""
	if err == nil {
		answer, err = s.login.scram.next(string(message))
	}
	if err != nil {
		s.end(refused("SASL %s with %s: %w", scramSHA256, s.ch.opts.Server, err))
		return
	}
	s.sendAuth(answer)
}

func (s *session) sendAuth(answer string) {
	coded := base64.StdEncoding.EncodeToString([]byte(answer))
	for len(coded) >= 400 {
		s.push("AUTHENTICATE", coded[:400])
		coded = coded[400:]
	}
	s.push("AUTHENTICATE", cmp.Or(coded, "+"))
}

func (s *session) onSASLDone(*girc.Event) {
	if s.login.inSASL {
		if s.login.account == "" {
			s.login.account = "*" // Logged in; the server did not say as whom.
		}
		s.endCaps()
	}
}

// onSASLFailed distinguishes refused credentials, which are permanent because
// repeating them gets the account locked, from an exchange that broke off.
func (s *session) onSASLFailed(e *girc.Event) {
	if !s.login.inSASL {
		return
	}
	o := s.ch.opts
	if s.login.mech == scramSHA256 && s.offersSASL("PLAIN") && (e.Command == "904" || e.Command == "905" || e.Command == "908") {
		// Accounts created under old services have no SCRAM verifier.
		s.authenticate("PLAIN")
		return
	}
	if !o.SASL.Required {
		s.log.Warn("not logged in: the network refused", "mechanism", o.SASL.Mechanism, "numeric", e.Command)
		s.endCaps()
		return
	}
	switch e.Command {
	case "902", "904", "905":
		s.end(fmt.Errorf("%s refused the SASL %s login: %w", o.Server, o.SASL.Mechanism, channels.ErrPermanent))
	case "908":
		s.end(refused("%s does not offer SASL %s, which is required here", o.Server, o.SASL.Mechanism))
	default:
		s.end(refused("%s broke off the SASL login, which is required here", o.Server))
	}
}

// onLoggedIn handles the services' confirmation of a login by SASL or NickServ.
func (s *session) onLoggedIn(e *girc.Event) {
	s.login.account = param(e, 2)
	s.identified()
}

// identify sends NickServ the password, if one is configured. Otherwise we are
// ready.
func (s *session) identify() {
	ns := s.ch.opts.NickServ
	if ns.Password == "" || s.login.account != "" {
		s.becomeReady()
		return
	}
	if !s.login.waitUntil.IsZero() {
		return
	}
	user := ns.User
	if user == "" && !s.net.fold.same(s.me.nick, s.ch.opts.Nick) {
		user = s.ch.opts.Nick // we have another nick, so name the account
	}
	s.push("PRIVMSG", ns.Nick, strings.Join(strings.Fields("IDENTIFY "+user), " ")+" "+ns.Password)
	s.login.waitUntil = time.Now().Add(identifyTimeout)
}

// identified is called when the services have recognised us. Rooms are joined
// after that, because many admit only recognised users.
func (s *session) identified() {
	if s.login.waitUntil.IsZero() {
		return
	}
	s.login.recognised = true
	if s.phase == welcomed {
		s.becomeReady()
	} else {
		s.report()
	}
}

// nickServProblem says that NickServ does not recognise us and quotes its last
// notice; "" if all is well.
func (s *session) nickServProblem() string {
	ns := s.ch.opts.NickServ
	switch {
	case s.login.waitUntil.IsZero() || s.login.recognised:
		return ""
	case s.login.lastNotice == "":
		return fmt.Sprintf("not identified: %s has not answered", ns.Nick)
	}
	return fmt.Sprintf("not identified: %s said %q", ns.Nick, strings.ReplaceAll(s.login.lastNotice, ns.Password, "<secret>"))
}

// onNotice reads NickServ's replies. All other notices are ignored.
func (s *session) onNotice(e *girc.Event) {
	nick, _, _ := strings.Cut(s.ch.opts.NickServ.Nick, "@")
	if e.Source == nil || !s.net.fold.same(e.Source.Name, nick) || s.login.waitUntil.IsZero() {
		return
	}
	s.login.lastNotice = plain(e.Last())
	text := strings.ToLower(s.login.lastNotice)
	for _, yes := range []string{"you are now identified", "you are now recognized", "you are now logged in", "you're now logged in", "password accepted"} {
		if strings.Contains(text, yes) {
			s.identified()
		}
	}
	s.report()
}

// tickLogin continues when the server stays silent: five seconds after the start
// of a welcome that does not end, or when NickServ's time is up.
func (s *session) tickLogin(now time.Time) {
	if s.phase != welcomed {
		return
	}
	switch wait := s.login.waitUntil; {
	case wait.IsZero():
		if now.Sub(s.login.welcomed) > 5*time.Second {
			s.identify()
		}
	case now.After(wait):
		s.log.Warn("NickServ has not recognised us; joining anyway")
		s.becomeReady()
	}
}

func (s *session) becomeReady() {
	s.phase = ready
	if s.hasNick() {
		s.ch.yielded.Store(false)
	}
	s.log.Info("connected", "nick", s.me.nick, "logged_in", s.login.account != "" || s.login.recognised)
	if s.net.botMode != "" {
		s.push("MODE", s.me.nick, "+"+s.net.botMode)
	}
	s.regainByService()
	s.joinAll()
	s.report()
}
