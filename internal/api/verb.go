package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"time"

	"dragoman/internal/people"
	"dragoman/internal/respond"
)

// Root is where the verbs are, at the port and at the socket.
const Root = "/api/v1"

// Spec is a row of the table: all of a verb but its types.
type Spec struct {
	Method string
	// Path is below [Root]. A name in braces is an argument.
	Path  string
	Scope people.Scope // that the caller needs
	// Within is the longest time for one call. 0: as long as the caller stays.
	Within time.Duration
	// Doc is what the verb does, in one sentence.
	Doc string
	// Socket says that only callers at the operator's socket may use the verb.
	Socket bool
	// OwnSecret says that a call needs no scope, but the secret of what it names: the verb
	// checks it by itself.
	OwnSecret bool
	// Act is what the audit log calls a verb that changes something; "": the verb only
	// reads, or what it does is recorded elsewhere.
	Act string

	success int    // the status of a success; 0: 200, or 204 without an answer
	maxBody int64  // of a request in bytes; 0: maxBody
	raw     bool   // the body of a request is read by the verb and holds no arguments
	anyForm bool   // all versions share its JSON: see wireForm
	media   string // of a stream; "": inLines
	ended   string // what to do if the daemon ended during a call; "": runAgain
}

// The media types of answers that a [Stream] writes.
const (
	inLines  = "application/x-ndjson"
	inEvents = "text/event-stream"
	inJSON   = "application/json"
	inBytes  = "application/octet-stream"
)

// Verb is one kind of request. Q is its arguments, a struct: fields that are named in
// the path are sent there, the others in the query of a GET or DELETE, else as the JSON
// body. A is the answer.
type Verb[Q, A any] struct {
	Spec
	do func(*server, context.Context, Q) (A, error)
}

// Order is a verb without an answer.
type Order[Q any] struct {
	Spec
	do func(*server, context.Context, Q) error
}

// Stream is a verb that reads the body of a request or writes the answer piece by
// piece. do returns an error only as long as it has written nothing.
type Stream[Q any] struct {
	Spec
	do func(*server, http.ResponseWriter, *http.Request, Q) error
	// piece is the type of one line or event of the answer.
	piece reflect.Type
}

// None stands for no arguments, or no answer.
type None struct{}

// Page is one page of a list.
type Page[T any] struct {
	Data []T `json:"data"` // never null
	// Next is the "after" of the next page. "": this is the last one.
	Next string `json:"next,omitempty"`
}

// The greatest page that a request may ask for, of whatever list, and the page of one that
// names none.
const (
	maxPage     = 200
	defaultPage = 100
	// limitName is the argument that says how large a page is.
	limitName = "limit"
)

// page is the number of items to list for this limit, which was checked. 0: the request
// named none.
func page(limit int) int { return cmp.Or(limit, defaultPage) }

// pageOf is a page that has all there is.
func pageOf[T any](items []T, err error) (Page[T], error) {
	if items == nil {
		items = []T{}
	}
	return Page[T]{Data: items}, err
}

// Call asks the daemon that c talks to.
func (v Verb[Q, A]) Call(ctx context.Context, c *Client, args Q) (got A, err error) {
	resp, err := c.send(ctx, v.Spec, args)
	if err != nil {
		return got, err
	}
	err = receive(ctx, resp, v.Spec, &got)
	return got, err
}

// Call is [Verb.Call].
func (o Order[Q]) Call(ctx context.Context, c *Client, args Q) error {
	resp, err := c.send(ctx, o.Spec, args)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Route is a verb as the table has it.
type Route struct {
	Spec
	// Args and Answer are the types. For a stream, Answer is that of one line or event.
	Args, Answer reflect.Type
	// Media is the type of an answer that is a stream; "": it is one JSON value.
	Media string

	// do is that of the verb. A stream has written its answer when it returns.
	do func(s *server, w http.ResponseWriter, r *http.Request, args any) (answer any, err error)
}

func (v Verb[Q, A]) route() Route {
	return Route{
		Spec: v.Spec, Args: reflect.TypeFor[Q](), Answer: reflect.TypeFor[A](),
		do: func(s *server, _ http.ResponseWriter, r *http.Request, args any) (any, error) {
			return v.do(s, r.Context(), args.(Q))
		},
	}
}

func (o Order[Q]) route() Route {
	return Route{
		Spec: o.Spec, Args: reflect.TypeFor[Q](), Answer: reflect.TypeFor[None](),
		do: func(s *server, _ http.ResponseWriter, r *http.Request, args any) (any, error) {
			return nil, o.do(s, r.Context(), args.(Q))
		},
	}
}

func (v Stream[Q]) route() Route {
	return Route{
		Spec: v.Spec, Args: reflect.TypeFor[Q](), Answer: v.piece, Media: cmp.Or(v.media, inLines),
		do: func(s *server, w http.ResponseWriter, r *http.Request, args any) (any, error) {
			return nil, v.do(s, w, r, args.(Q))
		},
	}
}

// serve answers a request of somebody who may make it. An error is sent as a refusal.
//
// It and not the verbs' generic methods has what all of them do: the compiler makes one of
// those for each verb.
func (s *server) serve(route Route, w http.ResponseWriter, r *http.Request) error {
	into := reflect.New(route.Args).Elem()
	if err := decodeArgs(r, route.Spec, into); err != nil {
		return err
	}
	args := into.Interface()
	var answer any
	err := s.audited(r.Context(), route.Spec, args, func() (err error) {
		answer, err = route.do(s, w, r, args)
		return err
	})
	switch {
	case err != nil:
		return err
	case route.Media != "":
	case route.Answer == reflect.TypeFor[None]():
		respond.Private(w.Header())
		w.WriteHeader(route.Success())
	default:
		respond.JSON(w, route.Success(), answer)
	}
	return nil
}

// Success is the status of a success.
func (r Route) Success() int {
	if r.Answer == reflect.TypeFor[None]() {
		return r.status(http.StatusNoContent)
	}
	return r.status(http.StatusOK)
}

// isSmaller reports whether answers are worth compressing: one JSON value, not a stream.
func (r Route) isSmaller() bool { return r.Media == "" && r.Answer != reflect.TypeFor[None]() }

// InBody reports whether the arguments beside the path are a JSON object in the body.
func (v Spec) InBody() bool { return !v.inQuery() }

// Raw reports whether the body is no JSON object of arguments.
func (v Spec) Raw() bool { return v.raw }

// status is that of a success.
func (v Spec) status(usual int) int {
	if v.success != 0 {
		return v.success
	}
	return usual
}
