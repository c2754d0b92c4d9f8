// Package openai has the codecs of OpenAI's APIs, which OpenAI, Ollama,
// llama.cpp, vLLM, LM Studio and many gateways speak: [Chat] for chat
// completions, and [Responses].
//
// Requests use go-openai's types. Its client reports many failures as success,
// so package wire sends requests and reads streams instead; library_test.go
// shows each of those failures.
//
// Failures: a codec returns an error for a frame that it cannot read. It
// ignores odd values in fields that an answer can do without.
//
// Goroutines: none.
package openai
