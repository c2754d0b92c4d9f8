// Package httpapi is how the daemon is watched and operated: health and
// metrics over HTTP, and the operator's verbs over a unix socket.
//
// [Public] serves /healthz, /readyz and /metrics. It checks nobody: the app
// puts it behind the chat page's guard (internal/console). It shows no chat,
// no person, no setting.
//
// [Admin] serves the verbs of the command line as JSON. It checks nobody: it
// must be served only on the socket that [Listen] makes, which only the
// daemon's own user can open, or in the process itself ([InProcess]). [Client]
// speaks it, so a verb does the same whether a daemon runs or not. There is no
// way to change the configuration: whoever could write it could run code.
//
// Failures: every request has a bounded body and a deadline; what the store
// refuses comes back as the error it was (sessions.ErrNotFound,
// sessions.ErrConflict). The package starts no goroutines but those of
// [Serve], which ends them before it returns.
package httpapi
