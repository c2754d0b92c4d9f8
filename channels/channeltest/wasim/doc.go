// Package wasim is a WhatsApp server for tests: good enough that the
// unmodified whatsmeow client pairs with it, logs in and chats on loopback.
//
// It speaks the real thing from the socket up: the responder's side of the
// Noise handshake with a certificate chain of its own, the frames, the binary
// stanzas, info queries, and Signal sessions between every simulated phone and
// every linked device. What a contact shows as received was decrypted by that
// contact's own keys; what a client accepts was encrypted for it.
//
// There is one account, the [Server.Owner], to which devices are linked: at
// once by [Server.PairedDevice], by [Server.Scan] of a QR code, or by
// [Server.EnterCode]. [Server.Contact] makes other people and [Server.Group]
// groups of them. A stanza for a device waits in that device's queue until the
// device acknowledges it and is sent again at each login until then, marked as
// offline backlog, as the real server does. [Server.Faults] breaks things.
//
// # Trust
//
// A client trusts the server only if its root key is put in place of
// WhatsApp's, which [Server.Configure] and [TrustRoot] do for the whole
// process. That is the one thing that must never be in a shipped binary, so
// internal/archtest lets nothing import this package but tests and the build
// with crash points, which is one.
//
// # What it is not
//
// It proves a client against one reading of the protocol, not against
// WhatsApp. There is no history or app state to synchronise, no presence of
// contacts, no newsletters, no limits on how much one may send.
//
// # Goroutines
//
// The server owns one goroutine that accepts connections and two for each
// connection; [Server.Close] ends them all and waits. Methods may be called
// from any goroutine. Those that wait take a context; the others never block
// on the network. Waits are woken by events, never by a clock. whatsmeow itself
// leaves goroutines behind when it disconnects: see [IgnoreGoroutines].
package wasim
