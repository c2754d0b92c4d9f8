// Package oauth logs in at servers of tools that want OAuth, as a client that somebody has
// registered there beforehand, and keeps the tokens.
//
// The promise: the tokens of a server are sent to its configured address, to the token
// endpoint of its login and nowhere else. They are in no log, error, answer of the API or
// request to a model. An address that a server names is used only with https, and only if it
// is on the public internet, unless the operator has written its host and port. Redirects
// are not followed. The authorization server must support PKCE with S256, and its metadata,
// and its answer if that says so, must name the issuer that was asked for.
//
// A login has two steps, for the browser may be on another machine: [Login.Begin] makes a
// link, and [Login.Finish] takes the address to which the browser was sent back. What proves
// that both belong together stays in the memory of this process.
//
// What can fail, and what happens then:
//
//	no login, or one for another url, client or issuer   [NeedsLogin], and no request
//	a token is about to end                refreshed before the request; if the server cannot be
//	                                       reached, the token is used as long as it lasts
//	a 401                                  refreshed once, and the request is sent again
//	a refresh is refused                   the tokens are dropped, and [NeedsLogin]
//	several nodes or calls want a refresh  one does it, under a lease; the others take its result
//	a crash between a refresh and its record  the server may refuse the next one: another login
//	metadata, or an answer, is odd         the login fails with a sentence, and nothing is kept
//	64 KiB or 10 s for an answer           the request fails
//	a second answer to one link, or after ten minutes  refused
//
// The package starts no goroutines.
package oauth
