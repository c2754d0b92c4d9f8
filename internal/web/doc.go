// Package web is the front door: how requests get in, through the port and through
// the operator's socket.
//
// It starts no goroutines but those of [Serve], which end before Serve returns.
package web
