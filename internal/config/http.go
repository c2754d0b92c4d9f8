package config

import (
	"net/netip"

	"dragoman/internal/setting"
)

// HTTP is the chat page, health and metrics.
type HTTP struct {
	Listen string `yaml:"listen" default:"127.0.0.1:8787" is:"listen" doc:"Address of the chat page, /healthz, /readyz and /metrics, or off. Anything but loopback needs a token."`
	Token  Secret `yaml:"token,omitempty" is:"page token" doc:"The operator's secret for the page and for programs, at least 16 characters, with the scope operate. Named tokens (dragoman token create) can do more, and less. Empty: on loopback, everybody on this machine may chat until there is a token; on other addresses this or a named token is needed."`
	// TrustedProxies are addresses or networks, as Load has checked.
	TrustedProxies []string `yaml:"trusted_proxies,flow,omitempty" is:"proxy" doc:"Addresses or networks of proxies in front of the page. Dragoman believes their X-Forwarded-For (the visitor's address) and X-Forwarded-Proto (TLS or not)."`
	PublicURL      string   `yaml:"public_url,omitempty" is:"url" empty:"ok" doc:"The address at which people open the page, if a proxy gives it another name. With https:// the cookie is sent over TLS only."`
	IdentityHeader string   `yaml:"identity_header,omitempty" is:"identity header" empty:"ok" doc:"The header in which the trusted proxies say who is logged in there, like Remote-User. From everybody else it is removed. A proxy on this machine is believed only with identity_secret."`
	IdentitySecret Secret   `yaml:"identity_secret,omitempty" is:"page token" doc:"What the proxies must also send, as X-Dragoman-Identity-Secret, to be believed."`
	OpenAI         bool     `yaml:"openai" default:"true" doc:"Serve OpenAI's API below /v1, for programs that speak it, with the scope chat of their token. false: not."`
	// Identities are who the names in IdentityHeader are.
	Identities []Identity `yaml:"identities" doc:"Who the names in identity_header are. Any other name is refused."`
}

// Identity is one person whom a proxy in front of the page knows.
type Identity struct {
	Name   string `yaml:"name" once:"yes" doc:"The name in identity_header, exactly."`
	Person string `yaml:"person" is:"person" empty:"ok" doc:"Who that is: operator, or an identity on a network, like telegram:123456."`
	Scope  string `yaml:"scope" default:"chat" oneof:"chat read operate" doc:"What they may do: chat, read or operate. Nobody is admin through a proxy."`
}

// Proxies are TrustedProxies as networks.
func (h HTTP) Proxies() (list []netip.Prefix) {
	for _, text := range h.TrustedProxies {
		p, _ := network(text) // Load has checked it
		list = append(list, p)
	}
	return list
}

// Reachable reports whether other machines can reach the port.
func (h HTTP) Reachable() bool {
	host, _, ok := setting.HostPort(h.Listen)
	return ok && !setting.Loopback(host)
}

// NeedsNamedToken reports whether other machines can reach the port and nothing here says
// who may come in. Then only named tokens do, which are in the store.
func (h HTTP) NeedsNamedToken() bool {
	return h.Reachable() && !h.Token.IsSet() && h.IdentityHeader == ""
}

// Private reports whether only people on this machine can open the page: it
// listens on loopback, and no proxy is configured.
func (h HTTP) Private() bool {
	host, _, ok := setting.HostPort(h.Listen)
	return ok && setting.Loopback(host) && len(h.TrustedProxies) == 0 && h.PublicURL == ""
}
