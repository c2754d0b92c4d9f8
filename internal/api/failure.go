package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"

	"dragoman/internal/plain"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// failure is the body of every refusal.
type failure struct {
	Error string `json:"error"`
	// Code names the error that the client returns: see codes.
	Code string `json:"code,omitempty"`
}

// Refusal is an error that the caller is to read, in a sentence: often a mistake of
// theirs. At a client it unwraps to the sentinel error that the daemon returned.
type Refusal struct {
	Sentence string
	cause    error
}

func (e *Refusal) Error() string { return e.Sentence }

// Plain is for [plain.Text]: the sentence may begin with words of the caller.
func (e *Refusal) Plain() string { return e.Sentence }

// Unwrap returns the sentinel, or nil.
func (e *Refusal) Unwrap() error { return e.cause }

// ErrNoDaemon: only a running daemon can do this.
var ErrNoDaemon = errors.New("only the daemon can do that, and it is not running")

// codes are the errors that callers branch on, and their names in answers.
var codes = []struct {
	err    error
	code   string
	status int
}{
	{sessions.ErrNotFound, "not_found", http.StatusNotFound},
	{sessions.ErrConflict, "conflict", http.StatusConflict},
	{sessions.ErrFenced, "fenced", http.StatusConflict},
	{errors.ErrUnsupported, "unsupported", http.StatusNotImplemented},
	{ErrNoDaemon, "no_daemon", http.StatusServiceUnavailable},
	{context.DeadlineExceeded, "timeout", http.StatusGatewayTimeout},
}

func writeFailure(w http.ResponseWriter, err error) {
	f, status := failureOf(err)
	respond.JSON(w, status, f)
}

func failureOf(err error) (failure, int) {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return failure{Error: plain.Text(err), Code: c.code}, c.status
		}
	}
	status := http.StatusInternalServerError
	if _, refused := errors.AsType[*Refusal](err); refused {
		status = http.StatusBadRequest
	}
	return failure{Error: plain.Text(err)}, status
}

// refusal is a failure at the client.
func (f failure) refusal() error {
	e := &Refusal{Sentence: f.Error}
	for _, c := range codes {
		if c.code == f.Code {
			e.cause = c.err
		}
	}
	return e
}

// EndedError: the daemon ended before or while it worked on a request.
type EndedError struct {
	what  string // happened to the request, and what to do
	cause error
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("api: ask the daemon: %v", e.cause)
}

// Plain is for [plain.Text].
func (e *EndedError) Plain() string { return e.what }

// Unwrap returns the error of the connection.
func (e *EndedError) Unwrap() error { return e.cause }

// runAgain is the advice after a change whose outcome is unknown. Running most
// verbs a second time changes nothing, or says that it was done.
const runAgain = "it may or may not be done; run the same command again, which is safe either way"

// afterEnd is the advice for the verbs that need more, by their path.
var afterEnd = map[string]string{
	"/v1/sessions/erase": "it may be partly done; run the same command again to erase what is left (the daemon also does that when it starts)",
	"/v1/sessions/join":  "it is either done or not, never half done; if `dragoman sessions show` no longer finds the first conversation, it is done, otherwise run the command again",
	restorePath:          "everything stored so far is complete; run the same command again for the rest",
	"/v1/queue/retry":    "it may or may not be done; `dragoman queue list` shows whether the entry is still there",
	"/v1/jobs/run":       "the job may or may not have started; check `dragoman jobs list` before you run it again, or it may run twice",
	"/v1/pairings/add":   "the person may or may not have been let in; check `dragoman pair list`, and if not, run the command again",
}

// callError is the error of a request that got no answer.
func callError(ctx context.Context, method, path string, err error) error {
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return &EndedError{"the daemon stopped before it was asked, so nothing was done; run the command again", err}
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE):
	case method == http.MethodGet:
		return &EndedError{"the daemon stopped while it answered; nothing was changed, so run the command again", err}
	default:
		return &EndedError{"the daemon stopped while it worked on this: " + cmp.Or(afterEnd[path], runAgain), err}
	}
	return fmt.Errorf("api: ask the daemon: %w", err)
}
