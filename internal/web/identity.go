package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/textproto"
	"strings"

	"dragoman/internal/people"
	"dragoman/internal/respond"
)

// SecretHeader is where a proxy shows Identity.Secret.
const SecretHeader = "X-Dragoman-Identity-Secret"

// Identity says which proxies may tell us who is logged in there.
type Identity struct {
	// Header is what they set, like "Remote-User". "": they cannot.
	Header string
	// Secret is what they must send as well, in [SecretHeader]. "": nothing; then a
	// proxy on this machine is not believed, because any program here could be one.
	Secret string
	// People are the names in the header, and who they are. Another name is refused.
	People map[string]people.Principal
}

// identity reads what proxies say of a request.
type identity struct {
	Identity
	secret  [sha256.Size]byte // hashed, so that comparing takes the same time for every length
	proxies *proxies
}

// newIdentity prepares o.
func newIdentity(o Identity, p *proxies) identity {
	o.Header = textproto.CanonicalMIMEHeaderKey(o.Header)
	return identity{Identity: o, secret: sha256.Sum256([]byte(o.Secret)), proxies: p}
}

// strip removes what proxies say, so that nothing behind the door can believe it.
func (i *identity) strip(h http.Header) {
	if i.Header != "" {
		h.Del(i.Header)
	}
	h.Del(SecretHeader)
}

// believes reports whether r comes from a proxy that may say who is logged in.
func (i *identity) believes(r *http.Request) bool {
	peer := parseAddr(r.RemoteAddr)
	if !i.proxies.isTrusted(peer) {
		return false
	}
	if i.Secret == "" {
		return !peer.IsLoopback()
	}
	shown := r.Header.Values(SecretHeader)
	if len(shown) != 1 {
		return false
	}
	given := sha256.Sum256([]byte(shown[0]))
	return subtle.ConstantTimeCompare(given[:], i.secret[:]) == 1
}

// findProxied looks for what a proxy says. What a stranger says in its name counts as
// not there.
func (d *Door) findProxied(r *http.Request) (c caller, found bool, err error) {
	i := &d.identity
	if i.Header == "" {
		return c, false, nil
	}
	names := r.Header.Values(i.Header)
	if len(names) == 0 || !i.believes(r) {
		return c, false, nil
	}
	if len(names) > 1 {
		return c, false, &respond.Refusal{Status: http.StatusBadRequest, Sentence: "The proxy says several times who this is. It must replace the header " + i.Header + ", not add to it."}
	}
	name := strings.TrimSpace(names[0])
	if name == "" { // nobody is logged in there
		return c, false, nil
	}
	p, known := i.People[name]
	if !known {
		d.opts.Logger.Warn("a proxy names somebody who is not in http.identities", "remote", d.proxies.client(r))
		return c, false, forbidden("The proxy says who you are, and the configuration does not know that name.")
	}
	return caller{Principal: p, way: byProxy}, true, nil
}
