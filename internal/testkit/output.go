package testkit

import (
	"bytes"
	"sync"
)

// Output keeps what is written to it, from any goroutine: the log of a daemon,
// or what a program prints. The zero value is empty.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String is all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
