// Package api is how the daemon is watched and operated: health over HTTP,
// and the operator's verbs over a unix socket.
//
// [Public] serves /healthz and /readyz. It does not check who asks: the app
// puts it behind the chat page's guard (internal/console). It shows no chat, no
// person and no setting.
//
// [Admin] serves the verbs of the command line as JSON. It does not check who
// asks either: it must only be served on the socket that [Listen] makes, which
// only the daemon's own user can open, or in the process itself ([InProcess]).
// [Client] calls it, so a verb does the same whether a daemon runs or not. No
// verb changes the configuration: whoever could write it could run code.
//
// Failures: every request has a bounded body and a deadline. An error of the
// store reaches the client as the same error (sessions.ErrNotFound,
// sessions.ErrConflict). The package starts no goroutines but those of [Serve]
// and of [InProcess], which end before Serve returns and when the answer's body
// is closed.
package api
