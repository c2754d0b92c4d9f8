package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
)

// EndedError: the daemon ended while it worked on a request, or before.
type EndedError struct {
	what  string // has become of the request, and what to do
	cause error
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("httpapi: ask the daemon: %v", e.cause)
}

// Plain is for [Plain].
func (e *EndedError) Plain() string { return e.what }

// Unwrap returns what the connection said.
func (e *EndedError) Unwrap() error { return e.cause }

// onceAgain is what to do after a daemon ended over a change: of most verbs a
// second time changes nothing, or says that it was done.
const onceAgain = "it may be done or not; give the same command again, which does no harm if it is done"

// afterEnd is the same for the verbs where that is not all, by their path.
var afterEnd = map[string]string{
	"/v1/sessions/erase": "it may be done in part; give the same command again: it erases what is left (the next daemon does so by itself when it starts)",
	"/v1/sessions/join":  "it may be done or not, but not in part; if `dragoman sessions show` finds no conversation under the first key any more, it is done, else give the command again",
	restorePath:          "what was stored of it is there whole; the same command again takes what is missing",
	"/v1/queue/retry":    "it may be done or not; `dragoman queue list` shows whether the entry is still there",
	"/v1/jobs/run":       "the job may have been started or not; look at `dragoman jobs list` before you run it again: it would run twice",
	"/v1/pairings/add":   "the person may be let in or not; `dragoman pair list` shows it, and if not give the command again",
}

// asked is the failure of a request to reach the daemon or to come back.
func asked(ctx context.Context, method, path string, err error) error {
	path, _, _ = strings.Cut(path, "?")
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return &EndedError{"the daemon has ended before it was asked, so nothing was done; give the command again", err}
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE):
	case method == http.MethodGet:
		return &EndedError{"the daemon ended while it answered; nothing was changed, so the command can be given again", err}
	default:
		what := afterEnd[path]
		if what == "" {
			what = onceAgain
		}
		return &EndedError{"the daemon ended while it worked on this: " + what, err}
	}
	return fmt.Errorf("httpapi: ask the daemon: %w", err)
}
