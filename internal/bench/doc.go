// Package bench measures the real binary as its users meet it: a process of
// its own with the default store on a disk, between the test Bot API server
// and the test model. "make bench" runs it and writes the numbers into
// docs/internals/performance.md; go test alone runs only the tests of its arithmetic, and
// that of the binary's size.
// "make bench-store" measures the default store inside the test's process,
// filled with a million messages, and starts the binary on it.
//
// A measurement reports and does not judge: it fails if an answer is lost,
// wrong or out of order, never because it was slow. The two servers and the
// people who write run in the test's process and share the machine with the
// daemon, so the CPU that each side takes is reported with every number that
// depends on it.
//
// The test owns the daemons it starts and ends each before the next begins.
package bench
