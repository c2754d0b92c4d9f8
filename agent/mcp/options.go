package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"dragoman/agent"
	"dragoman/agent/mcp/oauth"
	"dragoman/sessions"
)

// Server is one server, as the operator configures it.
type Server struct {
	// Name is the first part of the names of its tools: 1 to 32 of a-z, 0-9 and "-".
	Name string
	// Command is a program and its arguments. Its environment is PATH, HOME, LANG and Env.
	Command []string
	Env     map[string]string
	// URL is where it is, if it has no Command. Headers are added to each request.
	URL     string
	Headers map[string]string
	// OAuth, if not nil, is how we log in at URL.
	OAuth *oauth.Settings
	// Protocol, if not "", is the revision to begin with, for servers that do not answer
	// server/discover: 2025-11-25.
	Protocol string
	// Effects are what calls of its tools do, by the tools' own names. The others let words
	// out.
	Effects map[string]agent.Effect
	// TrustHints believes a server that says of a tool that it only reads, and how it describes
	// its tools. Otherwise a request that shows descriptions which no operator has accepted
	// ([Pool.Accept]) is tainted by them.
	TrustHints bool
	// May reports whether the tool of that own name may be offered. Nil: all may.
	May func(own string) bool
}

// Notes is the store, as far as pins need it. The comments at engine.Store are the contract.
type Notes interface {
	Notes(ctx context.Context, like sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error
}

// Options configure a [Pool]. The zero value works.
type Options struct {
	// Version is what servers are told about us.
	Version string
	// Home is HOME of the programs, and their working directory, without Launch. "": a folder
	// that is removed by Close.
	Home string
	// Launch starts programs as another user. Nil: they are children, with the daemon's user.
	Launch Launch
	// HTTP makes requests to servers with an address. Nil: http.DefaultTransport.
	HTTP http.RoundTripper
	// Hold runs f while nobody else holds a lease of that name, on any node. Nil: within this
	// process.
	Hold func(ctx context.Context, name string, f func(context.Context) error) error
	// Public accepts or refuses the address of a socket to a host that a server names for a
	// login. Nil: refuses all.
	Public func(netip.AddrPort) error
	// Wait is how long [Pool.Tools] waits for servers of which nothing is known. 0: 2 s.
	Wait time.Duration
	// Start limits the beginning of a connection. 0: 30 s.
	Start time.Duration
	// Call is how long a call may go without progress, and LongCall how long with. 0: 60 s
	// and 10 min.
	Call, LongCall time.Duration
	// Idle is how long a connection lasts without a call. 0: 10 min.
	Idle time.Duration
	// Logger never gets a word of a server. Default: nothing is logged.
	Logger *slog.Logger
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Missing is a server whose tools cannot be offered in this turn.
type Missing struct {
	Server string
	Why    string
}

// State is what a server does.
type State string

// The states.
const (
	StateIdle     State = "idle" // it is started by the next call
	StateStarting State = "starting"
	StateRunning  State = "running"
	StateFailed   State = "failed" // it is tried again by the next call, or after a pause
)

// Status is how a server is.
type Status struct {
	Server string
	// State is one of those below.
	State State
	// Why says what is wrong; "" if nothing is.
	Why string
	// Tools are offered. Of them, nobody has read how Unread describe themselves, so a request
	// that offers one is tainted. Waiting are the names of new or changed ones that nobody has
	// accepted.
	Tools   int
	Unread  int
	Waiting []string
	// Odd is what was left out of its last listing.
	Odd []string
	// Since is when the first listing was accepted; zero: there was none.
	Since time.Time
	// Login is that at a server with OAuth; nil: it has none, or the store does not say.
	Login *oauth.State
}

// Report is what a test of a server found.
type Report struct {
	// Protocol is the revision that was agreed on, and Name what the server calls itself.
	Protocol, Name string
	// Tools are all that it lists, by the names that the model sees.
	Tools []Listed
	// Dropped are the last lines of its stdout that were no messages, and Errors those of
	// its stderr.
	Dropped, Errors []string
	// Digest stands for all that is listed: see [Pool.Accept].
	Digest string
	// Said is what is odd: a listing that was cut, a name that was changed.
	Said []string
}

// Listed is a tool in a listing, compared with what was accepted.
type Listed struct {
	Name, Own   string
	Description string
	// Change is "" (accepted as it is), "new", "changed", "gone" or "unread".
	Change string
	// Before is what was accepted, of a changed one, and Now what is listed: canonical JSON.
	Before, Now string
}
