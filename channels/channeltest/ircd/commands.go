package ircd

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// handle does one line. The server's lock is held.
func (s *Server) handle(c *client, line string) {
	tags := ""
	if strings.HasPrefix(line, "@") {
		tags, line, _ = strings.Cut(line[1:], " ")
	}
	head, trailing, hasTrailing := strings.Cut(line, " :")
	p := strings.Fields(head)
	if len(p) == 0 {
		return
	}
	if hasTrailing {
		p = append(p, trailing)
	}
	command, p := strings.ToUpper(p[0]), p[1:]
	arg := func(i int) string {
		if i < len(p) {
			return p[i]
		}
		return ""
	}
	switch command {
	case "CAP":
		s.cap(c, strings.ToUpper(arg(0)), arg(1))
	case "AUTHENTICATE":
		s.sasl(c, arg(0))
	case "PASS":
		c.pass = arg(0)
	case "NICK":
		s.nick(c, arg(0))
	case "USER":
		c.user, c.real = "~"+arg(0), arg(3)
		s.welcome(c)
	case "PING":
		if s.conf.NoPong == "" || c.nick != s.conf.NoPong {
			c.send(":irc.test PONG irc.test :" + arg(0))
		}
	case "QUIT":
		s.remove(c, "Quit: "+arg(0))
		c.send("ERROR :Closing link")
	case "JOIN":
		for name := range strings.SplitSeq(arg(0), ",") {
			s.join(c, name)
		}
	case "PART", "KICK":
		s.part(c, command, arg(0), arg(1), arg(2))
	case "BATCH":
		s.batch(c, arg(0), arg(2))
	case "PRIVMSG", "NOTICE":
		if strings.HasPrefix(tags, "batch=") {
			c.batch.lines = append(c.batch.lines, batchLine{tags, arg(1)})
			return
		}
		s.message(c, command, arg(0), arg(1))
	case "WHO":
		s.who(c, arg(0), arg(1))
	case "WHOIS":
		s.whois(c, arg(0))
	case "PONG", "MODE", "MONITOR", "TAGMSG":
	default:
		c.numeric("421", command+" :Unknown command")
	}
}

func (s *Server) cap(c *client, sub, arg string) {
	if len(s.conf.Caps) == 0 {
		c.numeric("421", "CAP :Unknown command")
		return
	}
	switch sub {
	case "LS":
		c.negotiating = true
		half := len(s.conf.Caps) / 2
		c.send(":irc.test CAP " + c.nick + " LS * :" + strings.Join(s.conf.Caps[:half], " "))
		c.send(":irc.test CAP " + c.nick + " LS :" + strings.Join(s.conf.Caps[half:], " "))
	case "REQ":
		for _, name := range strings.Fields(arg) {
			if slices.Contains(s.conf.Refuse, name) {
				c.send(":irc.test CAP " + c.nick + " NAK :" + arg)
				return
			}
		}
		for _, name := range strings.Fields(arg) {
			c.caps[name] = true
		}
		c.send(":irc.test CAP " + c.nick + " ACK :" + arg)
	case "END":
		c.negotiating = false
		s.welcome(c)
	}
}

func (s *Server) nick(c *client, nick string) {
	if n := s.conf.NickLen; n > 0 && len(nick) > n {
		nick = nick[:n]
	}
	if other := s.find(nick); other != nil && other != c {
		c.numeric("433", nick+" :Nickname is already in use")
		return
	}
	if c.registered {
		for _, other := range s.sharing(c) {
			other.send(c.mask() + " NICK :" + nick)
		}
	}
	c.nick = nick
	s.welcome(c)
}

func (s *Server) welcome(c *client) {
	if c.registered || c.negotiating || c.nick == "*" || c.user == "" {
		return
	}
	if s.conf.Password != "" && c.pass != s.conf.Password {
		c.numeric("464", ":Password incorrect")
		c.send("ERROR :Bad password")
		return
	}
	c.registered = true
	support := append([]string{"CHANTYPES=#&", "STATUSMSG=@+"}, s.conf.Support...)
	if s.conf.CaseMapping != "" {
		support = append(support, "CASEMAPPING="+s.conf.CaseMapping)
	}
	c.send(s.tags(c, nil, "") + ":irc.test 001 " + c.nick + " :Welcome")
	c.numeric("005", strings.Join(support, " ")+" :are supported by this server")
	c.numeric("376", ":End of MOTD")
}

// tags are the ones that c asked for, on a message of from.
func (s *Server) tags(c, from *client, msgid string) string {
	var t []string
	if c.caps["server-time"] {
		t = append(t, "time="+s.conf.Clock().UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	if from != nil && c.caps["account-tag"] && from.account != "" {
		t = append(t, "account="+from.account)
	}
	if c.caps["message-tags"] && msgid != "" {
		t = append(t, "msgid="+msgid)
	}
	if len(t) == 0 {
		return ""
	}
	return "@" + strings.Join(t, ";") + " "
}

func (s *Server) join(c *client, name string) {
	folded := s.fold(name)
	if to := s.conf.Forward[folded]; to != "" {
		c.numeric("470", name+" "+to+" :Forwarding to another channel")
		s.join(c, to)
		return
	}
	if why := s.denied[folded]; why != "" {
		code, text, _ := strings.Cut(why, " ")
		c.numeric(code, name+" "+text)
		return
	}
	if s.rooms[folded] == nil {
		s.rooms[folded] = map[*client]bool{}
	}
	s.rooms[folded][c] = true
	var names []string
	for m := range s.rooms[folded] {
		line := c.mask() + " JOIN " + name
		if m.caps["extended-join"] {
			acct := c.account
			if acct == "" {
				acct = "*"
			}
			line += " " + acct + " :" + c.real
		}
		m.send(s.tags(m, nil, "") + line)
		names = append(names, m.nick)
	}
	sort.Strings(names)
	c.numeric("353", "= "+name+" :"+strings.Join(names, " "))
	c.numeric("366", name+" :End of names")
}

func (s *Server) part(c *client, command, name, who, why string) {
	leaving := c
	line := c.mask() + " PART " + name
	if command == "KICK" {
		leaving = s.find(who)
		if leaving == nil {
			return
		}
		line = c.mask() + " KICK " + name + " " + who + " :" + why
	}
	for m := range s.rooms[s.fold(name)] {
		m.send(line)
	}
	delete(s.rooms[s.fold(name)], leaving)
}

// message passes a PRIVMSG or NOTICE on. If it has several lines more has all of
// them, and text is the first one.
func (s *Server) message(c *client, command, target, text string, more ...batchLine) {
	if strings.EqualFold(target, "NickServ") {
		s.nickServ(c, text)
		return
	}
	name := strings.TrimLeft(target, "@+")
	members := s.rooms[s.fold(name)]
	to := s.find(target)
	switch {
	case s.refuse && strings.HasPrefix(name, "#"):
		c.numeric("404", target+" :Cannot send to channel")
		return
	case s.conf.NoColours && strings.HasPrefix(name, "#") && strings.ContainsAny(text, "\x02\x03\x1d"):
		c.numeric("404", target+" :Cannot send to channel (+c)")
		return
	case s.refuse || !strings.HasPrefix(name, "#") && to == nil:
		c.numeric("401", target+" :No such nick/channel")
		return
	case strings.HasPrefix(name, "#") && !members[c]:
		c.numeric("404", target+" :Cannot send to channel")
		return
	}
	s.msgid++
	id := fmt.Sprintf("m%d", s.msgid)
	pass := func(m *client) {
		if len(more) > 0 && m.caps["draft/multiline"] {
			s.passBatch(c, m, id, target, more)
			return
		}
		for _, l := range append([]batchLine{{text: text}}, more[min(1, len(more)):]...) {
			line := c.mask() + " " + command + " " + target + " :" + l.text
			line = line[:min(len(line), 510)] // As servers do: with our name before it, a line has no more room.
			m.send(s.tags(m, c, id) + line)
		}
	}
	for m := range members {
		if m != c {
			pass(m)
		}
	}
	if to != nil && to != c {
		pass(to)
	}
	if c.caps["echo-message"] && !s.conf.NoEcho {
		pass(c)
	}
}

// nickServ knows IDENTIFY [account] password, and GHOST nick.
func (s *Server) nickServ(c *client, text string) {
	words := strings.Fields(text)
	say := func(text string) { c.send(":NickServ!services@services.test NOTICE " + c.nick + " :" + text) }
	switch {
	case len(words) >= 2 && words[0] == "IDENTIFY":
		user, pass := c.nick, words[len(words)-1]
		if len(words) > 2 {
			user = words[1]
		}
		if want, known := s.conf.Accounts[user]; !known || want != pass {
			say("Invalid password for " + user + ".")
			return
		}
		c.account = user
		c.numeric("900", c.nick+"!*@* "+user+" :You are now logged in as "+user)
		say("You are now identified for " + user + ".")
	case len(words) >= 2 && (words[0] == "GHOST" || words[0] == "REGAIN"):
		if ghost := s.find(words[1]); ghost != nil && ghost != c && c.account != "" {
			s.remove(ghost, "ghosted")
			ghost.send("ERROR :Closing link (NickServ GHOST)")
		}
	}
}

func (s *Server) who(c *client, name, fields string) {
	token := fields[strings.LastIndex(fields, ",")+1:]
	for m := range s.rooms[s.fold(name)] {
		acct := m.account
		if acct == "" {
			acct = "0"
		}
		if fields == "" {
			c.numeric("352", name+" "+m.user+" "+s.conf.Host+" irc.test "+m.nick+" H :0 "+m.real)
			continue
		}
		c.numeric("354", token+" "+m.user+" "+s.conf.Host+" "+m.nick+" "+acct)
	}
	c.numeric("315", name+" :End of WHO list")
}

func (s *Server) whois(c *client, nick string) {
	if m := s.find(nick); m != nil && m.registered {
		c.numeric("311", m.nick+" "+m.user+" "+s.conf.Host+" * :"+m.real)
		if m.account != "" {
			c.numeric("330", m.nick+" "+m.account+" :is logged in as")
		}
	} else {
		c.numeric("401", nick+" :No such nick/channel")
	}
	c.numeric("318", nick+" :End of WHOIS list")
}
