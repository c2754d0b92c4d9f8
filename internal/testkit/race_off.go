//go:build !race

package testkit

// Race reports whether the race detector watches, under which everything takes
// many times as long. What a test proves by doing much of one thing it then
// does less often; without the detector it does all.
const Race = false
