package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/internal/stream"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// Options are what the verbs work with. Store, Tokens, Eraser and Info must be set.
type Options struct {
	Store Store
	// Tokens are the named tokens.
	Tokens *people.Tokens
	// Configuration is the one that counts. Nil: no daemon runs.
	Configuration func() (Configuration, error)
	// Files has the files of messages. Nil: there are none.
	Files Files
	// Uploads keeps files for messages, of at most MaxFile bytes. Nil: none can be sent.
	Uploads Uploads
	MaxFile int64
	// Notes keep what each person has read and pinned, and thinks of answers. Nil: nothing is.
	Notes people.Notes
	// Directory knows who is one person. Nil: nobody has joined identities, and nobody can.
	Directory *people.Directory
	// PageURL is where people open the page, without a slash at its end; "" where it
	// is off. Nil: no daemon runs.
	PageURL func() string
	// Jobs is nil where jobs cannot be listed or run.
	Jobs Scheduler
	// Reminders is nil where none can be made or changed.
	Reminders Reminders
	Info      func() Info
	// Channels lists the channels by name. Nil: no daemon runs, and there are none.
	Channels func() []Channel
	// Nodes lists the nodes that share the store. Nil: it is not shared.
	Nodes func(ctx context.Context) ([]sessions.Node, error)
	// Approve lets a person in and tells them. Nil: Store does it, and the
	// person is not told.
	Approve func(ctx context.Context, code string, now time.Time) (sessions.Pairing, error)
	// Features say what is on. Nil: no daemon runs.
	Features func() []Feature
	// Figures has those of the last hour, and of the channels' last day. Nil: no daemon runs.
	Figures Figuring
	// Models are those that a prompt may name, the usual one first. Nil: no daemon runs.
	Models func() []ModelChoice
	// Commands are those that a person may use in a room of theirs. Nil: no daemon runs.
	Commands func(room channels.Key) []Command
	// Agents are the personas of a conversation. Nil: no daemon runs.
	Agents Agents
	// MayAnswer is an error with a sentence if the persona of that name may not answer in k.
	// Nil: no daemon runs, and nobody knows.
	MayAnswer func(k channels.Key, name string) error
	// Log has the newest records of the log. Nil: no daemon runs.
	Log *LogTail
	// Phones links channels to phones.
	Phones Phones
	// Ask answers questions. Nil: no daemon runs.
	Ask Asker
	// Talk is what can be done in a conversation. Nil: no daemon runs.
	Talk Talk
	// Approvals has what needs a yes. Nil: no daemon runs.
	Approvals Approvals
	// Budgets are those of limits.budgets. Nil: there are none.
	Budgets Budgets
	// ToolServers are those of mcp.servers. Nil: there are none.
	ToolServers ToolServers
	// ToolLogins log in at them. Nil: there are none.
	ToolLogins ToolLogins
	// Skills are those of skills.dir. Nil: there are none.
	Skills Skills
	// Callers takes calls of webhooks. Nil: no daemon runs.
	Callers Callers
	// Reads decides who may read what. Nil: only the operator at the socket reads, and
	// nothing is anybody's own.
	Reads Reads
	// Listening is where streams of events come from. Nil: no daemon runs.
	Listening Listening
	// Stopping is closed when the daemon stops: streams end then. Nil: they do not.
	Stopping <-chan struct{}
	// Events receives what the operator ended, and must not block. Nil: events
	// are dropped.
	Events func(stream.Event)
	// Audit gets two lines for every call of a verb that changes something: see audited.
	Audit  erasure.Log
	Eraser *erasure.Eraser
	// Served hears of each request: its route like "GET /api/v1/jobs", the status code, and
	// how long it took, 0 for a stream. It must not block. Nil: not called.
	Served func(route string, code int, took time.Duration)
	// Zone is the time zone of days. Default: UTC.
	Zone *time.Location
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Logger gets errors that the caller is not told. Nil: discarded.
	Logger *slog.Logger
}

// The bounds of requests, in bytes.
const (
	// maxBody is the usual one; the longest is a system prompt.
	maxBody = 64 << 10
	// maxErasure is for an erasure: a person on IRC can have had thousands of masks.
	maxErasure = 4 << 20
	// maxQuestion is for a question. The gateway bounds the text itself.
	maxQuestion = 32 << 20
)

// server answers the verbs.
type server struct {
	Options
	streams streamCount
	process string // names this process in ids of records of the log
}

// New serves the verbs of the table below [Root]. Each request must carry who asks
// ([people.With]): whoever serves the handler sees to that. See the package comment.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Approve == nil {
		o.Approve = o.Store.ApprovePairing
	}
	if o.Served == nil {
		o.Served = func(string, int, time.Duration) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Directory == nil {
		o.Directory = people.NewDirectory(nil, people.DirectoryOptions{})
	}
	if o.Reads == nil {
		o.Reads = onlyTheSocket{}
	}
	s := &server{Options: o, process: strconv.FormatInt(o.Now().UnixMilli(), 36)}
	mux := http.NewServeMux()
	for _, route := range table {
		mux.Handle(route.Method+" "+Root+route.Path, s.guarded(route))
	}
	routes := respond.Routes(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(formHeader, wireForm)
		if _, known := people.From(r.Context()); !known && !IsHook(r) {
			respond.Refuse(w, &respond.Refusal{Status: http.StatusUnauthorized, Sentence: "Send a token as Authorization: Bearer."})
			return
		}
		routes.ServeHTTP(w, r)
	})
}

// HookPattern is the route of calls that show a secret of their own, and so need nobody in
// their context.
const HookPattern = "POST " + Root + "/hooks/{name}"

// IsHook reports whether r is one of [HookPattern].
func IsHook(r *http.Request) bool {
	name, found := strings.CutPrefix(r.URL.Path, Root+"/hooks/")
	return found && r.Method == http.MethodPost && name != "" && !strings.Contains(name, "/")
}

// guarded answers the requests of one verb, of those who may use it. It alone compares the
// scope of a verb. Verbs that show or do more with a greater scope (a list of all, a talk
// of others, the name of a paired person) ask caller(ctx).May by themselves.
func (s *server) guarded(route Route) http.Handler {
	pattern := route.Method + " " + Root + route.Path
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		watched := respond.Watch(to)
		began := time.Now()
		defer func() {
			took := time.Since(began)
			if route.Within == 0 {
				took = 0
			}
			s.Served(pattern, watched.Code(), took)
		}()
		var w http.ResponseWriter = watched
		if err := route.admit(r.Context()); err != nil {
			respond.Refuse(w, err)
			return
		}
		if route.Within > 0 {
			ctx, cancel := context.WithTimeout(r.Context(), route.Within)
			defer cancel()
			r = r.WithContext(ctx)
		}
		if !route.raw {
			most := int64(maxBody)
			if route.maxBody > 0 {
				most = route.maxBody
			}
			r.Body = http.MaxBytesReader(w, r.Body, most)
		}
		if route.isSmaller() && !AtSocket(r.Context()) {
			small, end := respond.Compress(w, r)
			defer end()
			w = small
		}
		if err := s.serve(route, w, withVia(r)); err != nil {
			s.refuse(w, r, err)
		}
	})
}

// admit refuses those who may not use a verb, whatever it is about.
func (v Spec) admit(ctx context.Context) error {
	who := caller(ctx)
	switch {
	case v.OwnSecret:
		return nil
	case !who.May(v.Scope) && who.Token == "":
		return &respond.Refusal{
			Status: http.StatusForbidden, Code: respond.CodeScope,
			Sentence: "This needs a token with the scope " + string(v.Scope) + ".",
		}
	case !who.May(v.Scope):
		return &respond.Refusal{
			Status: http.StatusForbidden, Code: respond.CodeScope,
			Sentence: "This needs the scope " + string(v.Scope) + ", and you have the scope " + string(who.Scope) + ".",
		}
	case v.Socket && !AtSocket(ctx):
		return &respond.Refusal{Status: http.StatusForbidden, Sentence: "This works only on the machine itself, with the dragoman command."}
	}
	return nil
}

// refuse sends an error. Words that are not meant for everybody are only for those who
// may read the log.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	no, told := refusalOf(err)
	if told && errors.Is(no.Cause, sessions.ErrNotFound) {
		no.Sentence = nothingAt(r)
	}
	if !told {
		if !caller(r.Context()).May(people.Admin) {
			s.Logger.Error("a request failed", "method", r.Method, "route", r.Pattern, "err", err)
			no.Sentence = "Something went wrong here. Try again; the log says why."
		}
	}
	respond.Refuse(w, no)
}

// AsOperator serves h to callers who are the machine's own operator: those of the
// socket, which only they can open, and of a command that works without a daemon.
func AsOperator(h http.Handler) http.Handler {
	operator := people.Principal{ID: people.OperatorID, Name: people.OperatorID, Scope: people.Admin}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(people.With(r.Context(), operator)))
	})
}

// AtSocket reports whether the caller is the machine's own operator: see [AsOperator].
// Nobody at the port is, whatever their token.
func AtSocket(ctx context.Context) bool { return caller(ctx).AtSocket() }

// caller is who asks.
func caller(ctx context.Context) people.Principal {
	who, _ := people.From(ctx)
	return who
}
