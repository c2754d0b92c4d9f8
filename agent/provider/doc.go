// Package provider is an [agent.Model] on a model server. It chooses the
// server's API and learns from the server's refusals.
//
// A response is always complete. A stream without its end, an error in a 200,
// an empty answer, an HTML page, a stall and an endless body are errors. Each
// is an [agent.ModelError]: its kind says what the caller can do, and its cause
// what is wrong. No error text holds the API key, even if the server repeats
// it, or what people said.
//
// A request is repeated only if the server says which part of it it refuses,
// and only before any of the answer was shown. The model remembers what it
// learned; see [Model.Learned]. It repeats a request for no other reason.
//
// Failures: network errors, timeouts, 408, 429, 5xx and broken streams are
// temporary. 401, 402, 403, 404, a used-up quota, an invalid certificate and an
// answer over MaxResponseBytes are refusals. A request that overflows the
// context window is a context error, in all wordings that package wire knows.
//
// Goroutines: none. The transport keeps idle connections until [Model.Close].
package provider
