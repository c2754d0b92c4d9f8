// Package api is how the daemon is operated: the operator's verbs over a unix
// socket.
//
// [Admin] serves the verbs of the command line as JSON. It does not check who
// asks either: it must only be served on the socket that [web.ListenSocket] makes, which
// only the daemon's own user can open, or in the process itself ([InProcess]).
// [Client] calls it, so a verb does the same whether a daemon runs or not. No
// verb changes the configuration: whoever could write it could run code.
//
// Failures: every request has a bounded body and a deadline. An error of the
// store reaches the client as the same error (sessions.ErrNotFound,
// sessions.ErrConflict). The package starts no goroutines but those of
// [InProcess], which end when the answer's body is closed.
package api
