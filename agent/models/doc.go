// Package models knows model servers: which models they have, what those models
// can do, and what their requests must look like. It makes no completions.
//
// It has two sources: the server's own answers ([Look], [List]), and a dated
// table ([Lookup]). The server counts more. A failed question is not an error:
// the answer is then unknown. Every question has a timeout. No error and no
// sentence holds a key.
//
// Goroutines: only during a call, which waits for them.
package models
