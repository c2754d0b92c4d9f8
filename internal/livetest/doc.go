// Package livetest holds the tests that run Dragoman's real binary against
// real model servers: llama.cpp's llama-server and Ollama, built from their
// sources, with a tiny model that package tinymodel writes. They show that no
// request of ours is refused by the chat template of a known model, and that
// windows, tools and failures of these servers are handled as promised.
//
// "make test-models" builds the servers and runs them; go test alone skips
// them, for want of the servers. The tests own the processes that they start
// and end each. Everything listens on loopback.
package livetest
