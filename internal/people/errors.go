package people

import "errors"

// Refusals of a token or a link. Each is a sentence for the one who showed it,
// and holds nothing of the secret.
var (
	// ErrMistyped: the checksum in the token does not fit, so it was never one of ours.
	ErrMistyped = errors.New("this token is mistyped: a token begins with drg_, has 37 characters and ends with a checksum that fits")
	// ErrUnknownToken: it has the form of a token and nobody has it.
	ErrUnknownToken = errors.New("there is no such token")
	// ErrExpired: it was good until its date.
	ErrExpired = errors.New("this token has expired")
	// ErrRevoked: somebody revoked it.
	ErrRevoked = errors.New("this token was revoked")
	// ErrUsedLink: a one-time link opens one page, within a minute.
	ErrUsedLink = errors.New("this link was used or is older than a minute: `dragoman console` prints a new one")
	// ErrNotAllowed: the principal is known and lacks the scope.
	ErrNotAllowed = errors.New("this token may not do that")
)
