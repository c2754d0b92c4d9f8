// Package providers has model servers on loopback that keep the published rules
// of real ones: which settings a model refuses, which order of messages it
// wants, and what has to come back to it with the next request. Each rule is a
// function with its source in its comment. A request that breaks one gets the
// error that the provider publishes for it.
//
// A [Server] remembers what it attached to its calls, so that it can tell
// whether the next request brings it back. It lists its models, streams, and
// answers by [Obey], which does what the newest message says, or by a function
// of the test's.
//
// It is safe for concurrent use and keeps every request. It starts one
// goroutine, net/http one for each connection; the end of the test ends them.
package providers
