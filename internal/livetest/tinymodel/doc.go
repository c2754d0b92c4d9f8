// Package tinymodel writes language models that say a fixed text, as GGUF
// files that llama.cpp and Ollama load like any other.
//
// A [Model] is a whole llama model of one layer: a byte-pair tokenizer that is
// trained on English, a chat template, a context length, weights. Its
// attention adds nothing, so that only the newest token decides on the next
// one. That makes it a state machine: it says the text of a [Line] after that
// line's token, and then ends its answer. It is for tests of everything around
// a model: windows, templates, tool calls, streams.
//
// The package has no state and starts no goroutines.
package tinymodel
