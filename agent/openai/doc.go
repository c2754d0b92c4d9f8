// Package openai is an [agent.Model] over any server that speaks OpenAI's
// chat completions: OpenAI itself, Ollama, llama.cpp, vLLM, LM Studio and the
// many gateways between.
//
// It promises that a response is whole: a stream that ended without a finish
// reason or [DONE], an error dressed as a success, an empty list of choices, a
// page of HTML, a stall and an endless body are errors, each an
// [agent.ModelError] whose kind says what the caller can do about it. It never
// retries. No error text holds the API key, even if the server repeats it.
//
// Requests are go-openai's types. That library's client calls many failures
// success, so requests are sent (call.go) and streams are read (frames.go) here.
//
// Failure cases: network trouble, timeouts, 408, 429, 5xx and broken streams
// are temporary; 401, 402, 403, 404, a used-up quota, a certificate that does
// not match and an answer past MaxResponseBytes are refusals; what overflows
// the window is a context error in any of the wordings in errors.go.
//
// Goroutines: none of its own. The transport keeps idle connections, which
// [Model.Close] closes.
package openai
