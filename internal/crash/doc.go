// Package crash holds the crash campaign: the real binary, built with the tag
// crashpoints, works against the test Bot API server and the test model while
// it is killed again and again, at random moments and at every named step.
// Afterwards every message must have exactly one answer, in order.
//
// A campaign of a few dozen kills runs with the ordinary tests; "make crash"
// runs the long one and writes its numbers to docs/internals/reliability.md.
package crash
