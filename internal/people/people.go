// Package people decides who asks and what they may do.
//
// Every request to Dragoman comes from a [Principal]: a person with a [Scope].
// The front door (internal/web) finds it, once for each request, and puts it
// into the context with [With]; whoever decides something reads it with
// [From]. Nothing else carries it: no header, no argument, no global. A
// context without a principal may do nothing.
//
// A scope includes the ones before it: chat < read < operate < admin. A scope
// says which verbs somebody may use. It never says whose talks they may read:
// read and admin do not open the private talks of other people.
//
// # Failures
//
//	what is wrong                     what happens
//	no principal in the context       May is false: refused
//	an unknown word for a scope       ParseScope refuses it; Includes is false for it
//	a mistyped token                  ErrMistyped, without looking into the store
//	a token that nobody has           ErrUnknownToken
//	a token past its date             ErrExpired
//	a token that was revoked          ErrRevoked while its record is kept, then ErrUnknownToken
//	a one-time link, used or past     ErrUsedLink
//	a note that cannot be read        it lets nobody in, and keeps nobody else out
//	the store cannot be read          what was known serves for 5 seconds; then its error:
//	                                  refused, and the caller says "try again"
//	pairing cannot be looked up       an error: the network keeps the message and sends it again
//	the store cannot be written       a token works, and its last use is not noted
//
// # Who may talk
//
// [Gate] says who may talk on which channel, whom the network vouches for: the
// allow list, pairing, and whether a message in a group addresses us.
//
// # Who is one person, and who reads what
//
// [Directory] knows which identities are one person's, and who runs Dragoman: [Traces]
// have what networks vouched for together, and the store what was joined by hand.
// [Memory] says whose memory a tool means, and [Named] whom a typed name means.
// [Visibility] says whose conversations somebody may read; no scope, and no
// other package, does. What it cannot find out nobody may read:
//
//	nobody knows yet who wrote in a conversation    only the socket reads it
//	the store cannot say who is one person          what was known serves, else an error
//	two people wrote in one private talk            it is nobody's own: only the socket reads it
//	a reading that has to be recorded cannot be     refused
//	people who have to be told cannot be            refused
//
// # Tokens
//
// [Tokens.Authenticate] turns a secret into a principal. Whatever stays open
// for one (a stream, a session of the page) asks [Tokens.Valid] every other
// second, so that a revoked token ends it within 5 seconds, whichever node it
// was revoked on. A secret is shown once, when it is made, and stored as a
// hash. [Links] are the links that `dragoman console` prints: they open the
// page for whoever runs Dragoman.
//
// The package starts no goroutine. All of it may be used concurrently.
package people

import "context"

// OperatorID is the [Principal.ID] of whoever runs Dragoman: the one at the
// socket, at a port without tokens, and behind the token of the configuration.
const OperatorID = "operator"

// Principal is who asks. The zero value is nobody and may do nothing.
type Principal struct {
	// ID is the person: [OperatorID], or an identity that a network vouches
	// for, as in "telegram:42".
	ID string
	// Name is for people to read: the person's, else the token's.
	Name string
	// Scope is what they may do. "" is nothing.
	Scope Scope
	// Token is the name of the token that was shown, [ConfiguredName] or
	// [ProxiedName]. It is "" for the socket and for a port without tokens. It is
	// never the token itself.
	Token string
	// TokenID tells the token from a later one of the same name.
	TokenID string
	// SecretID tells which secret of the token was shown: after a rotation the one before
	// is good for a while. It is "" where no secret was, and of no use to log in.
	SecretID string
}

// May reports whether p may use a verb that needs s.
func (p Principal) May(s Scope) bool { return p.ID != "" && p.Scope.Includes(s) }

// IsOperator reports whether p is whoever runs Dragoman. It says nothing about
// what they may do: the token of the configuration is the operator's and has
// not all scopes.
func (p Principal) IsOperator() bool { return p.ID == OperatorID }

// principalKey is the key of the principal in a context.
type principalKey struct{}

// With returns a context that carries p.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns the principal of a context, false if there is none.
func From(ctx context.Context) (Principal, bool) {
	p, found := ctx.Value(principalKey{}).(Principal)
	return p, found
}
