// Package agenttest has models for tests: [Script], an [agent.Model] that says
// what it was told to say, and [Server], an OpenAI-compatible HTTP server on
// loopback that also knows how real servers go wrong.
//
// It promises that both are safe for concurrent use, record what they were
// asked (the server within bounds), and never reach beyond this machine.
//
// A script that has no step left fails with an [agent.ModelError] instead of
// inventing an answer. A server that is closed breaks its open streams off.
//
// Goroutines: Script has none. [Server.Start] runs one that accepts
// connections, net/http one for each connection; [Server.Close] ends and
// awaits them.
package agenttest
