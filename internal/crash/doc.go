// Package crash holds the crash campaign: the real binary, built with the tag
// crashpoints, works against the test Bot API server and the test model while
// it is killed again and again, at random moments and at every named step.
// Afterwards every message must have exactly one answer, in order.
//
// TestCluster does the same with several nodes on one PostgreSQL, whose processes,
// network and servers fail in turn: once each with the ordinary tests, and for ten
// minutes with "make test-cluster".
//
// A campaign of a few dozen kills runs with the ordinary tests; "make crash"
// runs the long one and writes its numbers to docs/internals/reliability.md.
package crash
