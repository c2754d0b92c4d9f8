// Package agenttest has models for tests: [Script], an [agent.Model] that follows a
// script, and [Server], an OpenAI-compatible HTTP server on loopback that can also
// fail in the ways real servers do.
//
// Both are safe for concurrent use, record their requests (the server up to a limit),
// and never connect beyond this machine.
//
// A script without steps left fails with an [agent.ModelError] and does not invent an
// answer. Closing a server breaks off its open streams.
//
// Goroutines: Script has none. [Server.Start] runs one that accepts connections, and
// net/http one for each connection; [Server.Close] ends them and waits for them.
package agenttest
