// Package providers has model servers on loopback that enforce the published rules of
// real ones: which settings a model refuses, which order of messages it requires, and
// what must come back with the next request. Each rule is a function whose comment
// names its source. A request that breaks a rule gets the error that the provider
// publishes for it.
//
// A [Server] remembers what it attached to its calls, so it can tell whether the next
// request brings it back. It lists its models, streams, and answers by [Obey], which
// does what the newest message says, or by a function of the test.
//
// It is safe for concurrent use and keeps every request. It starts one goroutine, and
// net/http one for each connection; they end with the test.
package providers
