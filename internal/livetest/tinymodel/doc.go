// Package tinymodel writes language models that produce a fixed text, as GGUF
// files that llama.cpp and Ollama can load.
//
// A [Model] is a complete llama model of one layer: a byte-pair tokenizer
// trained on English, a chat template, a context length, and weights. Its
// attention adds nothing, so only the newest token decides the next one. That
// makes it a state machine: after a [Line]'s token it writes the line's text
// and ends the answer. It is for tests of everything around a model: windows,
// templates, tool calls, streams.
//
// The package has no state and starts no goroutines.
package tinymodel
