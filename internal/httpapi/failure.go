package httpapi

import (
	"context"
	"errors"
	"net/http"

	"dragoman/sessions"
)

// failure is the body of every refusal.
type failure struct {
	Error string `json:"error"`
	// Code names the sentinel that the client gives back: see codes.
	Code string `json:"code,omitempty"`
}

// badRequest is the caller's mistake, in a sentence.
type badRequest struct{ sentence string }

func (e *badRequest) Error() string { return e.sentence }

// Plain is for [Plain]: a sentence may begin with what somebody wrote.
func (e *badRequest) Plain() string { return e.sentence }

// ErrNoDaemon: this can only be done where a daemon runs.
var ErrNoDaemon = errors.New("only the daemon can do that, and it is not running")

// codes are the errors that callers branch on, and how they travel.
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
	writeJSON(w, status, f)
}

func failureOf(err error) (failure, int) {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return failure{Error: Plain(err), Code: c.code}, c.status
		}
	}
	status := http.StatusInternalServerError
	var bad *badRequest
	var refused *Refusal
	if errors.As(err, &bad) || errors.As(err, &refused) {
		status = http.StatusBadRequest
	}
	return failure{Error: Plain(err)}, status
}

// RemoteError is a refusal that came from the other end. It unwraps to the
// sentinel that it was there.
type RemoteError struct {
	Status   int
	Sentence string
	cause    error
}

func (e *RemoteError) Error() string { return e.Sentence }

// Plain is for [Plain]: the other end has made a sentence of it already.
func (e *RemoteError) Plain() string { return e.Sentence }

// Unwrap returns the sentinel, or nil.
func (e *RemoteError) Unwrap() error { return e.cause }

func remoteError(status int, f failure) error {
	e := &RemoteError{Status: status, Sentence: f.Error}
	for _, c := range codes {
		if c.code == f.Code {
			e.cause = c.err
		}
	}
	return e
}
