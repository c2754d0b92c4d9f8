// Package provider is an [agent.Model] over a model server: it chooses the
// server's API, and learns from what the server refuses.
//
// It promises that a response is whole: a stream that ended without saying so,
// an error dressed as a success, an empty answer, a page of HTML, a stall and
// an endless body are errors, each an [agent.ModelError] whose kind says what
// the caller can do about it, and whose cause what is wrong. No error text
// holds the API key, even if the server repeats it, or what people said.
//
// A request is made again only where the server says which part of it it does
// not take, and only while nothing of an answer was shown. What was learnt so
// is kept for the life of the model; see [Model.Learned]. Everything else is
// left to the caller: nothing is retried.
//
// Failure cases: network trouble, timeouts, 408, 429, 5xx and broken streams
// are temporary; 401, 402, 403, 404, a used-up quota, a certificate that does
// not match and an answer past MaxResponseBytes are refusals; what overflows
// the window is a context error in any of the wordings that package wire knows.
//
// Goroutines: none. The transport keeps idle connections, which [Model.Close]
// closes.
package provider
