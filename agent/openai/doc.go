// Package openai knows the JSON of OpenAI's APIs, as OpenAI itself, Ollama,
// llama.cpp, vLLM, LM Studio and the many gateways between speak it. [Chat] is
// the codec of chat completions.
//
// Requests are go-openai's types. That library's client calls many failures
// success, so package wire sends them and reads the streams; library_test.go
// shows each of those failures.
//
// Goroutines: none.
package openai
