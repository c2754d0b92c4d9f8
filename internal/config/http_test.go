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
