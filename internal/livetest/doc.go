// Package livetest runs Dragoman's real binary against real model servers:
// llama.cpp's llama-server and Ollama, built from their sources. Their model is
// tiny; package tinymodel writes it. The tests show that the chat templates of
// known models accept all our requests, and that Dragoman handles the windows,
// tools and failures of these servers.
//
// "make test-models" builds the servers and runs the tests. Without the servers
// the tests are skipped. Each test ends the processes that it starts. All
// servers listen on loopback.
package livetest
