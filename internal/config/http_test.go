package config_test

import (
	"strings"
	"testing"

	"dragoman/internal/config"
)

func TestPrivate(t *testing.T) {
	for name, tt := range map[string]struct {
		http config.HTTP
		want bool
	}{
		"loopback":            {config.HTTP{Listen: "127.0.0.1:8787"}, true},
		"its name":            {config.HTTP{Listen: "localhost:8787"}, true},
		"of the other family": {config.HTTP{Listen: "[::1]:8787"}, true},
		"everywhere":          {config.HTTP{Listen: ":8787"}, false},
		"a network":           {config.HTTP{Listen: "192.168.1.2:8787"}, false},
		"off":                 {config.HTTP{Listen: "off"}, false},
		"behind a proxy":      {config.HTTP{Listen: "127.0.0.1:8787", TrustedProxies: []string{"127.0.0.1"}}, false},
		"with another name":   {config.HTTP{Listen: "127.0.0.1:8787", PublicURL: "https://chat.example.org"}, false},
	} {
		if got := tt.http.Private(); got != tt.want {
			t.Errorf("%s: Private() = %v, want %v", name, got, tt.want)
		}
	}
}

// A proxy is one address or a network that somebody owns, not everybody.
func TestWideProxies(t *testing.T) {
	for network, warned := range map[string]bool{
		"0.0.0.0/0": true, "::/0": true, "0.0.0.0/1": true, "128.0.0.0/2": true, "2000::/3": true,
		"10.0.0.0/8": false, "172.16.0.0/12": false, "fc00::/7": false, "127.0.0.1": false, "2001:db8::/32": false,
	} {
		c, err := load(t, "http: {listen: '127.0.0.1:8787', trusted_proxies: [10.0.0.1, '"+network+"']}\n")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, w := range c.Warnings() {
			found = found || w.Path == "http.trusted_proxies[1]" && strings.Contains(w.What, "people anywhere")
		}
		if found != warned {
			t.Errorf("%s: warned %t, want %t", network, found, warned)
		}
	}
}

// Who a proxy may name, and which settings that needs.
func TestIdentities(t *testing.T) {
	const ann = "identities: [{name: ann, person: 'telegram:42', scope: read}]"
	const secret = "identity_secret: '0123456789abcdef'"
	for name, tt := range map[string]struct{ http, want string }{
		"a proxy elsewhere":          {"trusted_proxies: [10.0.0.1], identity_header: Remote-User, " + ann, ""},
		"on this machine":            {"trusted_proxies: [127.0.0.1], identity_header: Remote-User, " + ann + ", " + secret, ""},
		"in place of a token":        {"listen: '0.0.0.0:8787', trusted_proxies: [10.0.0.1], identity_header: Remote-User, " + ann, ""},
		"here, without a secret":     {"trusted_proxies: ['::1'], identity_header: Remote-User, " + ann, "http.trusted_proxies[0]: any program on this machine"},
		"everywhere, without one":    {"trusted_proxies: [10.0.0.1, 0.0.0.0/0], identity_header: Remote-User, " + ann, "http.trusted_proxies[1]: any program on this machine"},
		"a short secret":             {"trusted_proxies: [127.0.0.1], identity_header: Remote-User, identity_secret: short, " + ann, "http.identity_secret: is shorter than 16"},
		"from nobody":                {"identity_header: Remote-User, " + ann, "http.identity_header: is believed from nobody"},
		"without names":              {"trusted_proxies: [10.0.0.1], identity_header: Remote-User", "http.identities: is needed"},
		"without the header":         {ann, "http.identity_header: is needed"},
		"a header with a meaning":    {"trusted_proxies: [10.0.0.1], identity_header: cookie, " + ann, "another meaning"},
		"what proxies forward":       {"trusted_proxies: [10.0.0.1], identity_header: X-Forwarded-For, " + ann, "another meaning"},
		"an underscore":              {"trusted_proxies: [10.0.0.1], identity_header: Remote_User, " + ann, "underscore"},
		"a name twice":               {"trusted_proxies: [10.0.0.1], identity_header: Remote-User, identities: [{name: ann, person: operator}, {name: ann, person: 'irc:bob'}]", "http.identities[1].name: appears twice"},
		"admin through a proxy":      {"trusted_proxies: [10.0.0.1], identity_header: Remote-User, identities: [{name: ann, person: operator, scope: admin}]", "http.identities[0].scope"},
		"nobody":                     {"trusted_proxies: [10.0.0.1], identity_header: Remote-User, identities: [{name: ann, person: ann}]", "http.identities[0].person"},
		"a name of nobody":           {"trusted_proxies: [10.0.0.1], identity_header: Remote-User, identities: [{name: ann}]", "http.identities[0].person: is needed"},
		"without a name":             {"trusted_proxies: [10.0.0.1], identity_header: Remote-User, identities: [{person: operator}]", "http.identities[0].name"},
		"a hop's header":             {"trusted_proxies: [10.0.0.1], identity_header: Transfer-Encoding, " + ann, "another meaning"},
		"the visitor's program":      {"trusted_proxies: [10.0.0.1], identity_header: user-agent, " + ann, "another meaning"},
		"the visitor's address":      {"trusted_proxies: [10.0.0.1], identity_header: X-Real-IP, " + ann, "another meaning"},
		"a header of ours":           {"trusted_proxies: [10.0.0.1], identity_header: X-Dragoman-User, " + ann, "another meaning"},
		"what the browser says":      {"trusted_proxies: [10.0.0.1], identity_header: Sec-Fetch-User, " + ann, "another meaning"},
		"what a login proxy says":    {"trusted_proxies: [10.0.0.1], identity_header: X-Forwarded-User, " + ann, ""},
		"no page":                    {"listen: 'off', trusted_proxies: [10.0.0.1], identity_header: Remote-User, " + ann, "http.identity_header: nobody can come in by it"},
		"the secret is the token":    {"token: '0123456789abcdef', trusted_proxies: [10.0.0.1], identity_header: Remote-User, " + ann + ", " + secret, "http.identity_secret: is the same as http.token"},
		"a name with spaces around":  {"trusted_proxies: [10.0.0.1], identity_header: Remote-User, identities: [{name: ' ann', person: operator}]", "http.identities[0].name: has spaces around"},
		"a name of two lines":        {"trusted_proxies: [10.0.0.1], identity_header: Remote-User, identities: [{name: \"ann\\nbob\", person: operator}]", "http.identities[0].name: has a line break"},
		"listening without a header": {"listen: '0.0.0.0:8787', trusted_proxies: [10.0.0.1]", ""}, // named tokens may be in the store
	} {
		_, err := load(t, "http: {"+tt.http+"}\n")
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// What makes the header of a proxy useless or unsafe, and may be meant, is a warning.
func TestDoubtfulIdentities(t *testing.T) {
	const ann = "identity_header: Remote-User, identities: [{name: ann, person: operator}]"
	for name, tt := range map[string]struct{ http, want string }{
		"a proxy that cannot come":  {"trusted_proxies: [10.0.0.1], " + ann, "http.identity_header: the proxies are on other machines"},
		"one that can":              {"listen: '0.0.0.0:8787', trusted_proxies: [10.0.0.1], " + ann, ""},
		"one of two can":            {"trusted_proxies: [127.0.0.1, 10.0.0.1], identity_secret: '0123456789abcdef', " + ann, ""},
		"a whole network":           {"listen: '0.0.0.0:8787', trusted_proxies: [10.1.2.0/24], " + ann, "http.trusted_proxies[0]: any machine in this network"},
		"a network with a secret":   {"listen: '0.0.0.0:8787', trusted_proxies: [10.1.2.0/24], identity_secret: '0123456789abcdef', " + ann, ""},
		"a person of no channel":    {"listen: '0.0.0.0:8787', trusted_proxies: [10.0.0.1], identity_header: Remote-User, identities: [{name: ann, person: 'telegarm:42'}]", "http.identities[0].person: there is no channel telegarm"},
		"a person of a channel":     {"listen: '0.0.0.0:8787', trusted_proxies: [10.0.0.1], identity_header: Remote-User, identities: [{name: ann, person: 'irc:account:ann'}]", ""},
		"a network without a login": {"listen: '0.0.0.0:8787', trusted_proxies: [10.1.2.0/24]", ""},
	} {
		c, err := load(t, "http: {"+tt.http+"}\nchannels: {irc: {server: 'h:6697', allow: ['account:a']}}\n")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, w := range c.Warnings() {
			if strings.Contains(w.Path, "identit") || strings.Contains(w.Path, "trusted_proxies") {
				got = append(got, w.Path+": "+w.What)
			}
		}
		if all := strings.Join(got, "; "); (all == "") != (tt.want == "") || !strings.Contains(all, tt.want) {
			t.Errorf("%s: the warnings are %q, want %q", name, all, tt.want)
		}
	}
}
