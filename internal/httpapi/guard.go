package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Guard lets a request through to next if it may be answered. With a token it
// must carry "Authorization: Bearer TOKEN". Without one it must be addressed to
// this machine by a name that no foreign page can make point here, and if a
// browser sent it, from a page of ours: being on loopback alone proves nothing,
// since every page that is open in a browser here can send requests there.
func Guard(token string, next http.Handler) http.Handler {
	if token == "" {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !sameMachine(r) {
				writeJSON(w, http.StatusForbidden, failure{Error: "Without a token only this machine itself is answered."})
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	want := sha256.Sum256([]byte(token))
	guesses := &guesses{perAddress: map[string]*rate.Limiter{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address, _, _ := net.SplitHostPort(r.RemoteAddr)
		if guesses.tooMany(address) {
			w.Header().Set("Retry-After", "10")
			writeJSON(w, http.StatusTooManyRequests, failure{Error: "Too many wrong tokens from this address."})
			return
		}
		given, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		// Comparing digests takes the same time whatever was given.
		got := sha256.Sum256([]byte(given))
		if !found || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			guesses.wrong(address)
			w.Header().Set("WWW-Authenticate", `Bearer realm="dragoman"`)
			writeJSON(w, http.StatusUnauthorized, failure{Error: "This needs the token: Authorization: Bearer …"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameMachine reports whether r was addressed to loopback by address or as
// localhost, came from there, and was not caused by a page of another origin.
func sameMachine(r *http.Request) bool {
	if remote, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && !remote.Addr().Unmap().IsLoopback() {
		return false
	}
	if !loopbackName(r.Host) {
		return false // a name that was made to point here (DNS rebinding)
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err == nil && u.Host == r.Host
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || site == "none"
}

func loopbackName(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || (err == nil && ip.Unmap().IsLoopback())
}

// guesses slows down who tries tokens: 10 wrong ones at once, then one in 10
// seconds. An address that is over the limit is not even compared.
type guesses struct {
	mu         sync.Mutex
	perAddress map[string]*rate.Limiter
}

// mostAddresses bounds the memory that guessing from many addresses takes.
// When it is used up all of them start again, which costs less than any
// cleverness: the token has at least 16 characters.
const mostAddresses = 1024

func (g *guesses) limiter(address string) *rate.Limiter {
	l := g.perAddress[address]
	if l == nil {
		if len(g.perAddress) >= mostAddresses {
			clear(g.perAddress)
		}
		l = rate.NewLimiter(rate.Every(10*time.Second), 10)
		g.perAddress[address] = l
	}
	return l
}

func (g *guesses) tooMany(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.perAddress[address]
	return l != nil && l.Tokens() < 1
}

func (g *guesses) wrong(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limiter(address).Allow()
}
