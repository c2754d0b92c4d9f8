package openai

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// Root is where the API begins.
const Root = "/v1"

// Turns runs turns over messages that a caller keeps.
type Turns interface {
	// Given runs t, which has a Given. Errors are those of [agent.Agent.Run], and
	// [ErrStopping].
	Given(ctx context.Context, t agent.Turn) (agent.Result, error)
	// Has reports whether a tool of ours has that name.
	Has(tool string) bool
}

// ErrStopping is the error of [Turns] when the daemon stops.
var ErrStopping = errors.New("openai: Dragoman is stopping")

// Store keeps what repeats need. The comments at engine.Store are the contract.
type Store interface {
	Notes(ctx context.Context, f sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error
	AddNotes(ctx context.Context, notes ...sessions.Note) error
}

// Options are what the API works with. All fields but Logger and Now must be set.
type Options struct {
	Turns Turns
	Rooms Rooms
	Store Store
	// Lend lets models read a picture while a turn runs, under the name of a file: see
	// media.Store.
	Lend func(data []byte) (file string, giveBack func())
	// MaxPicture is the size limit of a picture, in bytes.
	MaxPicture int64
	// Models returns the names that a request may give besides [Model].
	Models func() []string
	// Agents returns the names of the personas, each of which is a model of its own. Nil:
	// there are none.
	Agents func() []string
	// Choose lets one of Agents answer in a conversation from the next message on. Errors
	// are [respond.Refusal] if it may not, and the store's. Nil if Agents is.
	Choose func(ctx context.Context, k channels.Key, agent string) error
	// Beat is how often a stream shows a sign of life. 0: 15 s; clients give up after
	// minutes, proxies after one.
	Beat   time.Duration
	Logger *slog.Logger     // nil: discard
	Now    func() time.Time // nil: time.Now
}

// server answers the requests.
type server struct {
	Options
	started time.Time
	flights flights
	bodies  *semaphore.Weighted // bytes of the requests that are being answered
	// said are the unknown fields that the log has named.
	said sync.Map
	// since counts the notes that were added for each kind and person since there was room
	// made for more.
	since sync.Map // string -> *atomic.Int64
}

// New serves the API below [Root]. Each request must carry who asks ([people.With]).
func New(o Options) http.Handler {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Beat = cmp.Or(o.Beat, 15*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &server{Options: o, started: o.Now(), bodies: semaphore.NewWeighted(maxBodies)}
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /v1/models":                          s.listModels,
		"GET /v1/models/{model...}":               s.showModel,
		"POST /v1/chat/completions":               s.chat,
		"POST /v1/responses":                      s.responses,
		"GET /v1/responses/{id}":                  s.showResponse,
		"DELETE /v1/responses/{id}":               s.deleteResponse,
		"POST /v1/conversations":                  s.makeConversation,
		"GET /v1/conversations/{id}":              s.showConversation,
		"DELETE /v1/conversations/{id}":           s.closeConversation,
		"GET /v1/conversations/{id}/items":        s.listItems,
		"GET /v1/conversations/{id}/items/{item}": s.showItem,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := answer(w, r); err != nil {
				s.refuse(w, r, err)
			}
		})
	}
	routes := respond.Routes(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := people.From(r.Context()); !known {
			respond.Refuse(w, &respond.Refusal{Status: http.StatusUnauthorized, Sentence: "Send a token as Authorization: Bearer."})
			return
		}
		routes.ServeHTTP(w, r)
	})
}

// enter admits a request that holds its body in memory, until free is called.
func (s *server) enter(r *http.Request) (free func(), err error) {
	size := min(max(r.ContentLength, leastBody), maxBody)
	if r.ContentLength < 0 {
		size = maxBody // it does not say
	}
	if s.bodies.TryAcquire(size) {
		return func() { s.bodies.Release(size) }, nil
	}
	return nil, &respond.Refusal{Status: http.StatusTooManyRequests, RetryAfter: time.Second, Sentence: "Too many requests are being answered. Try again in a moment."}
}

// newID is what follows the prefix of an id.
func newID() string { return strings.ToLower(rand.Text()[:24]) }

// refuse answers with err, which is logged unless the caller may read it.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var no *respond.Refusal
	if !errors.As(err, &no) && r.Context().Err() == nil {
		s.Logger.Error("a request of OpenAI's API failed", "path", r.Pattern, "err", err)
	}
	respond.Refuse(w, err)
}

// caller is who asks.
func caller(r *http.Request) people.Principal {
	who, _ := people.From(r.Context())
	return who
}
