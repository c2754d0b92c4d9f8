package oauth

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"dragoman/sessions"
)

// Settings are what an operator writes about the login at one server.
type Settings struct {
	// Server is its name, and URL its address.
	Server, URL string
	// ClientID is who we are there. ClientSecret is "" for a public client.
	ClientID, ClientSecret string
	// Scopes to ask for. None: those that the server names.
	Scopes []string
	// Issuer is the authorization server. "": the one that the server names.
	Issuer string
	// Redirect is an address of this machine, to which the browser is sent back.
	Redirect string
}

// Notes is the store, as far as tokens need it. The comments at engine.Store are the contract.
type Notes interface {
	Notes(ctx context.Context, like sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error
}

// Options are what a [Login] works with. All but Now are needed.
type Options struct {
	Notes Notes
	// Hold runs f while nobody else holds a lease of that name, on any node.
	Hold func(ctx context.Context, name string, f func(context.Context) error) error
	// Via makes requests to hosts that the operator has written.
	Via http.RoundTripper
	// Public accepts or refuses the address of a socket to any other host.
	Public func(netip.AddrPort) error
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Login is the login at one server. It is safe for concurrent use.
type Login struct {
	Settings
	o Options

	mu      sync.Mutex
	pending *pending // the newest link, until it was answered
	copy    *kept    // of the note, at most freshFor old; nil: there was none
	read    time.Time
	failed  error     // of the last request for a token; nil: it worked
	pause   time.Time // until then a refresh is not tried again, while the token lasts
	refused time.Time // when a refusal last led to a refresh
}

// New returns a login that asks nobody yet.
func New(s Settings, o Options) *Login {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Login{Settings: s, o: o}
}
