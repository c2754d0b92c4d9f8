// Package models knows model servers: which models they have, what those can
// do, and how they want to be asked. It makes no completions.
//
// Three sources, the nearest to the model first: what its server says
// ([Look], [List]), what this server refused before ([Learnt]), and one dated
// table ([Lookup]). Nothing here is fatal: an answer that does not come is an
// unknown, and every question has a time limit. No error and no sentence holds
// a key. The package starts goroutines only within a call and waits for them.
package models
