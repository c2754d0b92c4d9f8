// Package crew runs many short functions side by side without a new goroutine for each.
//
// A new goroutine begins with a small stack, and what is deep copies it three times until
// it is large enough: for turns and messages that was 5 % of all CPU time. So the goroutine
// of a function that has returned waits a moment for another one.
//
// The promise: each function begins at once, whatever the others do, and in a goroutine
// that runs no other meanwhile. A goroutine that got nothing for [Rest] ends, so an idle
// program has none.
//
// Failures: a function that panics ends the program, as it would in a goroutine of its own.
//
// Goroutines: a [Crew] owns all that it starts, and [Crew.Close] waits for them.
package crew

import (
	"sync"
	"time"
)

// Rest is how long a goroutine waits for another function.
const Rest = time.Second

// Crew is some goroutines. Make it with [New].
type Crew struct {
	next    chan func() // has no room: only a goroutine that waits takes one
	closing chan struct{}
	all     sync.WaitGroup
}

// New returns a crew without goroutines.
func New() *Crew { return &Crew{next: make(chan func()), closing: make(chan struct{})} }

// Go runs f in a goroutine, and does not wait for it. Do not call it after Close.
func (c *Crew) Go(f func()) {
	select {
	case c.next <- f:
	default:
		c.all.Go(func() { c.work(f) })
	}
}

func (c *Crew) work(f func()) {
	rest := time.NewTimer(Rest)
	defer rest.Stop()
	for {
		f()
		rest.Reset(Rest)
		select {
		case f = <-c.next:
		case <-rest.C:
			return
		case <-c.closing:
			return
		}
	}
}

// Close waits until all functions have returned, and ends the goroutines. Call it once.
func (c *Crew) Close() {
	close(c.closing)
	c.all.Wait()
}
