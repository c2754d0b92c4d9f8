package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"

	"dragoman/internal/people"
	"dragoman/internal/plain"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// ErrNoDaemon: only a running daemon can do this.
var ErrNoDaemon = errors.New("only the daemon can do that, and it is not running")

// codes are the errors that callers branch on, and how they are sent. A repeat mends
// none with a status below 500, so none of these is 409: clients repeat that.
var codes = []struct {
	err    error
	code   string
	status int
}{
	{sessions.ErrNotFound, "not_found", http.StatusNotFound},
	{sessions.ErrConflict, "conflict", http.StatusUnprocessableEntity},
	{sessions.ErrFenced, "fenced", http.StatusServiceUnavailable},
	{errors.ErrUnsupported, "unsupported", http.StatusNotImplemented},
	{ErrNoDaemon, "no_daemon", http.StatusServiceUnavailable},
	{errLinkExpired, "expired", http.StatusGatewayTimeout},
	{context.DeadlineExceeded, "timeout", http.StatusGatewayTimeout},
}

// refusalOf is err as it is sent. told reports whether its sentence is meant for every
// caller.
func refusalOf(err error) (no *respond.Refusal, told bool) {
	if refused, ok := errors.AsType[*respond.Refusal](err); ok {
		return refused, true
	}
	if refused, ok := errors.AsType[*people.Refusal](err); ok {
		return &respond.Refusal{Status: http.StatusBadRequest, Sentence: refused.Sentence}, true
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return &respond.Refusal{Status: c.status, Code: c.code, Sentence: plain.Text(err), Cause: err}, true
		}
	}
	if plain.DiskFull(err) {
		return &respond.Refusal{Status: http.StatusServiceUnavailable, Sentence: plain.Reason(err), Cause: err}, true
	}
	return &respond.Refusal{Status: http.StatusInternalServerError, Sentence: plain.Text(err), Cause: err}, false
}

// nouns say what an argument in a path names.
var nouns = map[string]string{
	"key": "conversation %q", "from": "conversation %q", "fact": "fact %q", "id": "entry %q in the queue",
	"seq": "message %q in this conversation", "identity": "joined identity %q", "person": "paired person %q", "n": "file %q of this message",
}

// nothingAt says that there is no such thing as the path of r names. The words of the store
// name its steps, which say nothing to callers, and show whether somebody else has the
// thing. Tokens, jobs and channels have a name, and their part of the path is their plural.
func nothingAt(r *http.Request) string {
	_, path, _ := strings.Cut(r.Pattern, Root+"/")
	plural, _, _ := strings.Cut(path, "/")
	names := Spec{Path: path}.names()
	if len(names) == 0 {
		return "There is nothing of this name."
	}
	last := names[len(names)-1]
	noun := cmp.Or(nouns[last], strings.TrimSuffix(plural, "s")+" %q")
	return fmt.Sprintf("There is no "+noun+".", r.PathValue(last))
}

// failed is what a response that is no success says: a refusal, which unwraps to the
// error that its code names.
func failed(resp *http.Response) error {
	return caused(respond.ReadRefusal(resp))
}

// caused sets the error that the code of a refusal names.
func caused(no *respond.Refusal) *respond.Refusal {
	for _, c := range codes {
		if c.code == no.Code {
			no.Cause = c.err
		}
	}
	return no
}

// failure is a refusal as a line of a stream, whose status was sent long before.
type failure struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"` // see codes
}

// failureOf is err in a stream.
func failureOf(err error) *failure {
	no, _ := refusalOf(err)
	return &failure{Error: no.Sentence, Code: no.Code}
}

// refusal is a failure at the client.
func (f *failure) refusal() error {
	return caused(&respond.Refusal{Sentence: f.Error, Code: f.Code})
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

// callError is the error of a request that got no answer.
func callError(ctx context.Context, v Spec, err error) error {
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return &EndedError{"the daemon stopped before it was asked, so nothing was done; run the command again", err}
	case !cutOff(err):
	case v.Method == http.MethodGet:
		return &EndedError{"the daemon stopped while it answered; nothing was changed, so run the command again", err}
	default:
		return &EndedError{"the daemon stopped while it worked on this: " + cmp.Or(v.ended, runAgain), err}
	}
	return fmt.Errorf("api: ask the daemon: %w", err)
}

// cutOff reports whether err is that of a connection that ended too early.
func cutOff(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
