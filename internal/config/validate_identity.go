package config

import (
	"fmt"
	"net/netip"
	"strings"

	"dragoman/channels"
	"dragoman/internal/setting"
)

// namedByProxy checks what a proxy may say about who is logged in there.
func (v *validator) namedByProxy(h HTTP) {
	if h.IdentityHeader == "" {
		if len(h.Identities) > 0 || h.IdentitySecret.IsSet() {
			v.bad("http.identity_header", "is needed for identities and identity_secret", "write the header in which the proxy says who is logged in, like Remote-User")
		}
		return
	}
	if len(h.TrustedProxies) == 0 {
		v.bad("http.identity_header", "is believed from nobody", "write the proxy's address under http.trusted_proxies")
	}
	if len(h.Identities) == 0 {
		v.bad("http.identities", "is needed for identity_header", "write who the names are, like {name: ann, person: operator, scope: operate}")
	}
	if h.IdentitySecret.IsSet() && h.IdentitySecret.Reveal() == h.Token.Reveal() {
		v.bad("http.identity_secret", "is the same as http.token, so the proxy could act as the operator", "make a separate one with: openssl rand -hex 32")
	}
	v.unreachableIdentity(h)
	for i, one := range h.Identities {
		v.identity(fmt.Sprintf("http.identities[%d]", i), one)
	}
	v.anybodysIdentity(h)
}

// unreachableIdentity reports what keeps every proxy from saying who is logged in.
func (v *validator) unreachableIdentity(h HTTP) {
	host, _, ok := setting.HostPort(h.Listen)
	here := func(p netip.Prefix) bool {
		return p.Contains(netip.MustParseAddr("127.0.0.1")) || p.Contains(netip.IPv6Loopback()) || p.Addr().IsLoopback()
	}
	elsewhere := 0
	for _, p := range h.Proxies() {
		if !here(p) {
			elsewhere++
		}
	}
	switch {
	case h.Listen == "off":
		v.bad("http.identity_header", "nobody can come in by it, because http.listen is off", "write an address there, like 127.0.0.1:8787, or remove the header")
	case ok && setting.Loopback(host) && elsewhere > 0 && elsewhere == len(h.TrustedProxies):
		v.warn("http.identity_header", "the proxies are on other machines, which cannot reach http.listen", "write an address there that they reach, like 0.0.0.0:8787, or that of a proxy on this machine under http.trusted_proxies")
	}
}

// identity checks one person whom the proxy knows.
func (v *validator) identity(path string, one Identity) {
	switch {
	case strings.TrimSpace(one.Name) == "":
		v.bad(path+".name", "is needed", "write the name as the proxy writes it")
	case strings.TrimSpace(one.Name) != one.Name:
		v.bad(path+".name", "has spaces around, which no header has, so it would never be found", "remove them")
	case strings.ContainsFunc(one.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		v.bad(path+".name", "has a line break or a control character, which no header has", "write the name as the proxy writes it")
	}
	if one.Person == "" {
		v.bad(path+".person", "is needed", "write operator, or an identity on a network, like telegram:123456")
		return
	}
	k, err := channels.ParseKey(one.Person)
	if err != nil {
		return // operator, or a problem that is reported
	}
	if _, known := v.c.Channels[k.Channel()]; !known {
		v.warn(path+".person", "there is no channel "+k.Channel()+", so this person sees none of their chats", "configured: "+strings.Join(sortedKeys(v.c.Channels), ", "))
	}
}

// anybodysIdentity reports proxies in whose place somebody else could say who it is.
func (v *validator) anybodysIdentity(h HTTP) {
	if h.IdentitySecret.IsSet() {
		return
	}
	for i, network := range h.Proxies() {
		path := fmt.Sprintf("http.trusted_proxies[%d]", i)
		switch {
		case network.Contains(netip.MustParseAddr("127.0.0.1")) || network.Contains(netip.IPv6Loopback()) || network.Addr().IsLoopback():
			v.bad(path, "any program on this machine could say who it is, as long as identity_header needs no secret", "set http.identity_secret, made with: openssl rand -hex 32, and have the proxy send it as X-Dragoman-Identity-Secret")
		case !network.IsSingleIP():
			v.warn(path, "any machine in this network could say who it is, as long as identity_header needs no secret", "write the proxy's address alone, or set http.identity_secret")
		}
	}
}
