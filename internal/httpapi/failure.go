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
	// Code names the error that the client returns: see codes.
	Code string `json:"code,omitempty"`
}

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
	writeJSON(w, status, f)
}

func failureOf(err error) (failure, int) {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return failure{Error: Plain(err), Code: c.code}, c.status
		}
	}
	status := http.StatusInternalServerError
	if _, refused := errors.AsType[*Refusal](err); refused {
		status = http.StatusBadRequest
	}
	return failure{Error: Plain(err)}, status
}

// RemoteError is a refusal by the daemon. It unwraps to the sentinel error that
// the daemon returned.
type RemoteError struct {
	Status   int
	Sentence string
	cause    error
}

func (e *RemoteError) Error() string { return e.Sentence }

// Plain is for [Plain]: the daemon has already made it plain.
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
