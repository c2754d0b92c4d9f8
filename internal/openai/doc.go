// Package openai is OpenAI's API over the agent, for the programs that speak it: chat
// completions, responses, conversations, models. It is served at /v1, behind the front
// door, for those who have the scope chat.
//
// # The promise
//
// A client keeps its messages and sends all of them with each request, as it does with
// OpenAI. Nothing of such a request is stored but what it used, and, for a day at most,
// what a repeat needs. Nothing is added to any conversation of Dragoman, and no facts
// are kept.
//
// Our tools run here. The client's are returned to it, beside text and under ids that are
// never used twice. What we did in a step that called both is kept for an hour under those
// ids, and put back in its place when the results come: the client never saw it.
//
// A repeat of a request never runs a tool of ours a second time, also after a kill -9. A
// repeat is a request with the Idempotency-Key of an earlier one (for 24 hours), or one
// that says so (x-stainless-retry-count) and is the same to the byte (for 10 minutes).
//
// Every answer ends in one of three ways: complete; with an error object; or with a
// broken connection. A stream is never silent for more than 15 seconds.
//
// # Failures
//
//	what happens                          what the client gets
//	a body that is wrong somewhere        400, and param names the place; nothing has happened
//	a body, a picture that is too large   413
//	a model that is not offered           404, model_not_found
//	an unknown path or method             404, 405, in the same form
//	too many requests at once             429 with Retry-After
//	another body with the same key        422, idempotency_key_reused
//	the model's server refuses            502, its words; not worth a repeat
//	the model's server does not answer    503 with Retry-After, if no tool of ours has begun
//	any failure after one has begun       422, turn_failed, x-should-retry: false; the same
//	                                      request with its key goes on where this one stopped
//	a failure after the stream has begun  an error object in the stream, then its end
//	a model that answered anew            the whole new text, after a line that says so
//	the client hangs up                   the turn ends, and running tools learn of it
//	Dragoman stops                        the same; a repeat goes on from what was kept
//	a repeat while the first one runs     it waits for the same answer
//	a repeat of what is too large to keep 422, not_kept
//	the store cannot write                503, before a tool of ours runs
//
// # Goroutines
//
// None, until the first request. A turn runs in a goroutine of its request, beside the one
// that writes, and ends before the handler returns.
package openai
