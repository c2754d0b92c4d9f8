package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"dragoman/channels"
	"dragoman/internal/plain"
	"dragoman/internal/respond"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// Verb is one kind of request that a command makes. Q is its arguments, A the answer.
type Verb[Q, A any] struct {
	method, path string
	within       time.Duration // of one call
}

// Order is a verb without an answer.
type Order[Q any] Verb[Q, None]

// None stands for no arguments, or no answer.
type None struct{}

const (
	get, post = http.MethodGet, http.MethodPost
	// callWithin is enough for a full page of long messages.
	callWithin = time.Minute
	// patient is for calls that read or rewrite much of the store, or wait for others.
	patient = maxWait + callWithin
)

// The verbs. An error can be any of codes, and is said below where it is usual.
// Besides these there are [Client.Dump], [Client.Restore] and [Client.Link].
var (
	// ReadStatus returns the state of the daemon and its queues.
	ReadStatus = Verb[None, Status]{get, "/v1/status", callWithin}
	// ListNodes lists the nodes that work on the store.
	ListNodes = Verb[None, Nodes]{get, "/v1/nodes", callWithin}

	// Find lists the conversations that match, most recently updated first.
	Find = Verb[sessions.Query, []Listed]{get, "/v1/sessions", callWithin}
	// ReadConversation returns one conversation with its settings. Errors:
	// sessions.ErrNotFound.
	ReadConversation = Verb[channels.Key, sessions.Conversation]{get, "/v1/sessions/one", callWithin}
	// ReadMessages reads the first messages of a part of a transcript or, if it has no
	// After, the last, oldest first.
	ReadMessages = Verb[Part, []sessions.Message]{get, "/v1/sessions/log", callWithin}
	// ReadRunning returns the messages of a conversation's unfinished turn.
	ReadRunning = Verb[channels.Key, Running]{get, "/v1/sessions/running", callWithin}
	// ReadSummary returns the summary that replaces the older messages of the current
	// generation; nil if there is none.
	ReadSummary = Verb[channels.Key, *sessions.Summary]{get, "/v1/sessions/summary", callWithin}
	// ListGenerations lists the generations of a conversation, oldest first.
	ListGenerations = Verb[channels.Key, []sessions.Generation]{get, "/v1/sessions/generations", callWithin}
	// ReadNumbers returns the statistics of the conversations.
	ReadNumbers = Verb[None, Numbers]{get, "/v1/sessions/numbers", callWithin}
	// SearchAll finds messages by words, best match first.
	SearchAll = Verb[sessions.Search, []Hit]{get, "/v1/search", callWithin}
	// Configure changes a conversation's settings and returns the new ones.
	Configure = Verb[Change, sessions.Settings]{post, "/v1/sessions/configure", callWithin}
	// Rename gives a conversation a title.
	Rename = Order[Title]{post, "/v1/sessions/rename", callWithin}
	// Delete removes a conversation's transcript.
	Delete = Order[channels.Key]{post, "/v1/sessions/delete", callWithin}
	// Join makes one conversation of two.
	Join = Order[Pair]{post, "/v1/sessions/join", patient}
	// PlanErase lists what an erasure would remove, and Erase carries it out.
	PlanErase = Verb[Target, erasure.Plan]{get, "/v1/sessions/erase", patient}
	Erase     = Verb[sessions.Erasure, sessions.Erased]{post, "/v1/sessions/erase", patient}

	// ListFacts lists the facts of a key, a person, or a name.
	ListFacts = Verb[string, []Remembered]{get, "/v1/facts", patient}
	// Forget removes one fact. Errors: sessions.ErrNotFound.
	Forget = Order[Fact]{post, "/v1/facts/forget", patient}

	// ListQueue lists the items of inbox, outbox and quarantine that are not done.
	ListQueue = Verb[Limited, []sessions.QueueItem]{get, "/v1/queue", callWithin}
	// ShowQueue shows one item with its text.
	ShowQueue = Verb[string, sessions.QueueItem]{get, "/v1/queue/item", callWithin}
	// RetryQueue makes an item due now, and DropQueue gives it up.
	RetryQueue = Order[string]{post, "/v1/queue/retry", callWithin}
	DropQueue  = Order[string]{post, "/v1/queue/drop", callWithin}

	// ListJobs lists the configured jobs.
	ListJobs = Verb[None, []Job]{get, "/v1/jobs", callWithin}
	// ListOccurrences lists the outcomes of due times, newest first.
	ListOccurrences = Verb[JobLimited, []sessions.Occurrence]{get, "/v1/jobs/log", callWithin}
	// RunJob fires a job now.
	RunJob = Order[string]{post, "/v1/jobs/run", callWithin}

	// ListPairings lists the people who were let in and those who ask.
	ListPairings = Verb[None, []sessions.Pairing]{get, "/v1/pairings", callWithin}
	// ApprovePairing lets in the person with this code.
	ApprovePairing = Verb[string, sessions.Pairing]{post, "/v1/pairings/add", callWithin}
	// Unpair withdraws an approval.
	Unpair = Order[Paired]{post, "/v1/pairings/remove", callWithin}
	// Unlink forgets the account that a channel is linked to.
	Unlink = Verb[string, Unlinked]{post, "/v1/channels/unlink", patient}

	// PutQuestion asks a question in a conversation and waits for the answer. Errors:
	// ErrNoDaemon, context.DeadlineExceeded.
	PutQuestion = Verb[Question, Asked]{post, "/v1/ask", patient}
)

// Call asks the daemon that c talks to.
func (v Verb[Q, A]) Call(ctx context.Context, c *Client, args Q) (got A, err error) {
	resp, err := c.send(ctx, v.within, v.method, v.path, args)
	if err == nil {
		err = receive(ctx, resp, &got)
	}
	return got, err
}

// Call is [Verb.Call].
func (o Order[Q]) Call(ctx context.Context, c *Client, args Q) error {
	_, err := Verb[Q, None](o).Call(ctx, c, args)
	return err
}

// serve has do answer the requests.
func (v Verb[Q, A]) serve(mux *http.ServeMux, do func(context.Context, Q) (A, error)) {
	mux.Handle(v.method+" "+v.path, http.MaxBytesHandler(answering(do), maxBody))
}

func (o Order[Q]) serve(mux *http.ServeMux, do func(context.Context, Q) error) {
	Verb[Q, None](o).serve(mux, func(ctx context.Context, args Q) (None, error) { return None{}, do(ctx, args) })
}

// The greatest page that a request may ask for, and the page of one that names
// none.
const (
	maxPage     = 1000
	defaultPage = 100
)

// page is the number of items to list for this limit.
func page(limit int) int {
	return min(max(cmp.Or(limit, defaultPage), 1), maxPage)
}

// answering answers a request with the result of do. The argument of do is the JSON
// in the request's body, also of a GET, or, for scripts, the query of its URL.
// Without either it is the zero Q.
func answering[Q, A any](do func(ctx context.Context, args Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var args Q
		err := decode(r, &args)
		if k, about := any(args).(channels.Key); about && err == nil {
			err = requireKey(k)
		}
		var answer A
		if err == nil {
			answer, err = do(r.Context(), args)
		}
		if err != nil {
			writeFailure(w, err)
			return
		}
		respond.JSON(w, http.StatusOK, answer)
	})
}

func decode(r *http.Request, args any) error {
	text, err := io.ReadAll(r.Body)
	if err == nil && len(text) == 0 && r.URL.RawQuery != "" {
		text, err = fromQuery(r.URL.Query())
	}
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, args)
	}
	if err != nil {
		return &Refusal{Sentence: fmt.Sprintf("the request cannot be understood: %s", plain.Text(err))}
	}
	return nil
}

// fromQuery makes JSON of a query. Only its limit is a number.
func fromQuery(query url.Values) ([]byte, error) {
	args := map[string]any{}
	for name := range query {
		args[name] = query.Get(name)
		if n, err := strconv.Atoi(query.Get(name)); err == nil && name == "limit" {
			args[name] = n
		}
	}
	return json.Marshal(args)
}

func requireKey(k channels.Key) error {
	if k.IsZero() {
		return &Refusal{Sentence: "name a conversation by its key, like telegram:123456"}
	}
	return nil
}

// list replaces a nil list by an empty one, which is encoded as [].
func list[T any](items []T, err error) ([]T, error) {
	if items == nil {
		items = []T{}
	}
	return items, err
}
