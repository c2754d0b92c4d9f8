package config

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dragoman/agent/window"
	"dragoman/internal/lazily"
)

// forms say what is wrong with a text, and what to write; "" if nothing is. "%s"
// is where a message may show the text.
var forms = map[string]func(text string) (what, want string){
	"zone":  must(isZone, "%s is not a time zone", "write one like Europe/Rome or UTC"),
	"clock": must(func(s string) bool { _, err := clockTime(s); return err == nil }, "%s is not a time of day", `write one like "04:00"`),
	"whole seconds": must(func(s string) bool { span, _ := time.ParseDuration(s); return span%time.Second == 0 },
		"has a fraction of a second", "write whole seconds"),
	"threshold": must(func(s string) bool { n, err := strconv.Atoi(s); return err != nil || n != 0 },
		"0 could mean every turn or never", "write none to do without it, or summary.when: every_turn, or a number"),
	"name": must(func(s string) bool { return strings.TrimSpace(s) != "" }, "is empty", "write a name"),
	"line": must(func(s string) bool { return !strings.ContainsAny(s, "\r\n\x00") }, "has a line break", "write one line"),

	"url":         urlFlaw,
	"server":      serverFlaw,
	"private url": privateFlaw,
	"listen":      listenFlaw,
	"proxy": must(func(s string) bool { _, err := network(s); return err == nil },
		"%s is neither an address nor a network", "write one like 127.0.0.1 or 10.0.0.0/8"),
	"postgres": must(func(s string) bool {
		return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
	},
		"does not begin with postgres://", "write it like postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full"),
	"page token": must(func(s string) bool { return len(s) >= 16 }, // shorter ones can be guessed
		"is shorter than 16 characters", "make one with: openssl rand -hex 32"),
	"header": must(func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f })
	}, "has a character that is not allowed in a header", "use plain characters only"),
	"template": func(s string) (string, string) { _, err := window.ParseTemplate(s); return flaw(err) },
	"schema":   func(s string) (string, string) { _, err := window.ParseSchema(s); return flaw(err) },

	"prompt": func(s string) (string, string) {
		if p := unknownPlaceholder(s); p != "" {
			return "has an unknown placeholder, " + p, "the placeholders are " + strings.Join(placeholders, ", ") + ", and {{name}} is a plain {name}"
		}
		return "", ""
	},

	"bot token": must(botToken.Matches, "does not look like a bot token", "copy it whole from @BotFather: digits, a colon, letters and digits"),

	"server address": must(isServer, "%s is not an address", "write host:port, like irc.example.org:6697"),
	"nick":           must(ircNick.Matches, "%s is not a valid nick", "write letters, digits and -_[]{}|, not beginning with a digit"),
	"ident":          must(ircUser.Matches, "has a character that cannot be in a user name", "write letters and digits"),
	"irc channel":    must(ircChannel.Matches, "%s is not a channel", `write its name with #, in quotes: "#go"`),
	"channel key": must(func(s string) bool { return !strings.ContainsAny(s, " ,") },
		"has a space or a comma, which a channel key cannot have", ""),

	"calling name": must(func(s string) bool {
		return s == strings.TrimSpace(s) && s != "" && len(s) <= 60 && !strings.ContainsAny(s, "\r\n\x00:,@/")
	}, "%s does not work as a name in messages", "write a name without : , @ and /"),
	"device name": must(func(s string) bool { return s != "" && len(s) <= 60 && !strings.ContainsAny(s, "\r\n\x00") },
		"must be one line of 1 to 60 characters", "write a name that you will recognise on the phone"),
	"web version": must(whatsappVersion.Matches, "%s is not a version", "write auto, or three numbers like 2.3000.1045649367"),
}

// must is the form of texts that are ok.
func must(ok func(text string) bool, what, want string) func(string) (string, string) {
	return func(text string) (string, string) {
		if ok(text) {
			return "", ""
		}
		return what, want
	}
}

// flaw is what package window finds wrong.
func flaw(err error) (what, want string) {
	if f := (*window.Flaw)(nil); errors.As(err, &f) {
		return f.What, f.Want
	}
	return "", ""
}

func isZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local"
}

// clockTime reads "04:00".
func clockTime(s string) (time.Duration, error) {
	t, err := time.Parse("15:04", s)
	if err == nil && len(s) != len("15:04") {
		err = errors.New("an hour of one digit")
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err
}

// network reads an address or a network.
func network(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(s)
	return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), err
}

// hostPort takes an address apart.
func hostPort(s string) (host string, port int, ok bool) {
	host, number, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(number, 10, 16)
	return host, int(n), err == nil && bad == nil
}

func isServer(s string) bool {
	host, port, ok := hostPort(s)
	return ok && host != "" && port > 0 && !strings.ContainsAny(host, " /@")
}

func listenFlaw(s string) (what, want string) {
	host, _, ok := hostPort(s)
	_, err := netip.ParseAddr(host)
	switch {
	case s == "off":
	case !ok:
		return "%s is not an address", "write host:port, like 127.0.0.1:8787, or off"
	case err != nil && host != "" && host != "localhost":
		return "%s has no IP address", "write the address of an interface, like 127.0.0.1:8787"
	}
	return "", ""
}

func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

// urlFlaw checks an address that requests go to. A secret inside of it would
// end up in logs, so it is refused there.
func urlFlaw(s string) (what, want string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return "is not a web address", "write one like https://host/path"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "has a user, a query or a fragment", "write the plain address; there are other settings for keys"
	}
	return "", ""
}

// secretQuery finds names of values in a query that are secrets.
var secretQuery = lazily.Compile(`(?i)key|token|secret|password|^sig`)

// serverFlaw checks the address of a model's server, which may have a query.
func serverFlaw(s string) (what, want string) {
	u, err := url.Parse(s)
	if err != nil {
		return urlFlaw(s)
	}
	for name := range u.Query() {
		if secretQuery.Matches(name) {
			return "has a key in its query, where logs would show it", "remove it; model.api_key and model.extra_headers are for keys"
		}
	}
	u.RawQuery = ""
	return urlFlaw(u.String())
}

// privateFlaw checks an address to which what people know goes.
func privateFlaw(s string) (what, want string) {
	if what, want = urlFlaw(s); what == "" && unencrypted(s) {
		return "what is sent there would cross the network unencrypted", "write https://, or http:// with 127.0.0.1"
	}
	return what, want
}

// unencrypted reports whether requests to a URL can be read on the network.
func unencrypted(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "http" && !loopbackHost(u.Hostname())
}
