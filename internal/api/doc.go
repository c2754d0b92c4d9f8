// Package api is the one table of verbs: what can be asked of Dragoman over HTTP, with
// its arguments, its answer and the scope that the caller needs.
//
// [New] serves the table below [Root], at the port and at the operator's socket alike.
// [Client] calls it for the command line, also in a process without a daemon
// ([InProcess]). A verb is a [Verb], [Order] or [Stream] in table.go and a method in the
// file of its subject, which has its wire types, too; nothing else knows of it. Types of
// the domain do not go over the wire by their Go names.
//
// The package does not find out who asks. Whoever serves the handler puts the
// [people.Principal] into the request's context: the front door at the port, [Socket] at
// the socket. The scope of a verb is compared once, before the verb runs. A scope says
// what somebody may do; whose conversations they may read is decided by [Reads], which
// each verb asks for everything that somebody wrote.
//
// # Failures
//
//	what happens                                  what the caller gets
//	no principal in the context                   401
//	a scope that is too small                     403, insufficient_scope
//	somebody else's conversation                  404, as if there were none
//	an argument that is unknown or wrong          400, with its name as param
//	a body that is too large                      413; that is no JSON by its own words: 415
//	an error that callers branch on               see codes: 404, 422, 501, 503, 504
//	any other error                               500; with the scope admin its words, else the log has them
//	a verb that takes longer than its time        504
//	a command line of another version             a sentence that says so, see form.go
//	the daemon ends during a call                 EndedError, with what to do
//	a stream of events is read too slowly         an event says so, if it can, and the stream ends
//
// The package starts no goroutines but those of [Client.Restore] and of streams of events,
// which end before these return, and of [InProcess], which end when the answer's body is
// closed.
package api
