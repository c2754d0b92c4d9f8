// Package web is the front door: how requests get in, through the port and through the
// operator's socket, and who sent them.
//
// # The promise
//
// Nothing behind [Door.Protect] runs before the door knows who asks. It finds the
// [people.Principal] once, from exactly these, and puts it into the request's context:
//
//   - "Authorization: Bearer" with a token;
//   - the cookie of a session, which began with a token or with a one-time link, belongs
//     to it and ends with it;
//   - the header in which a proxy says who is logged in there ([Identity]);
//   - nothing at all: the port is open as long as it is on a loopback address, no token
//     is configured or was created, and no proxy says who is who. Then a request from
//     this machine, which names a loopback host and our port and went through no proxy,
//     is the operator's, with the scope chat and nothing more.
//
// On the socket ([ListenSocket]) everybody is the operator with all scopes: its file's
// mode says who can open it. A token is never part of a URL, and a link's secret never
// leaves the browser in one: it follows a "#" and is exchanged with a POST.
//
// A network that calls shows a secret of its own instead ([Door.Called]), which opens only
// the path that it calls.
//
// Two of them that name two people are refused, because one of the two was not meant.
// Requests that a browser sends on behalf of another site are refused, whatever they
// carry, and so are those that change something without showing that no other site sent
// them: they need an Origin of ours, Sec-Fetch-Site, the header X-Dragoman, or a bearer
// token. No answer allows another origin to read it.
//
// Behind [Door.Open] a handler asks for a secret of its own, and the door for nothing.
//
// # Failures
//
//	what is wrong                              what happens
//	no token, no session                       401; the page goes to the login
//	a wrong, mistyped, expired, revoked token  401 with the reason; after six within a minute
//	                                           from one address 429; the right token always passes
//	a token and a session of two people        401
//	a scope that is too small                  403, code insufficient_scope, and how to get in
//	another site, a name that was rebound,     403
//	a forwarded request at an open port
//	the identity header twice                  400
//	the identity header from a stranger        removed; it counts as not there
//	a name that the configuration has not      403
//	a link that was used or is too old         401; nothing else changes
//	a token that ends while a stream is open   the stream ends within 5 seconds, on any node
//	the store cannot say whose token it is     503; nobody new gets in, and streams go on
//	the sessions' file is damaged              everybody logs in again
//	another node is not told of a login        it asks for the token again
//	too many connections                       the least useful one is closed: see [ServeOptions]
//	an unknown path below /api or /v1          404 in JSON, after the login
//
// The package logs the addresses of failed logins, and never a token, a cookie or a link.
//
// # Goroutines
//
// [Serve] has one, and [Door.Run] runs in the caller's. Everything may be used
// concurrently, but routes are added before the door serves.
package web
