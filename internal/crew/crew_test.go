package crew_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/crew"
)

// All functions run at once, however many wait, and Close waits for them.
func TestAllRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew.New()
		var together sync.WaitGroup
		var ended atomic.Int64
		together.Add(100)
		for range 100 {
			c.Go(func() {
				together.Done()
				together.Wait() // for the last one
				time.Sleep(time.Minute)
				ended.Add(1)
			})
		}
		c.Close()
		if n := ended.Load(); n != 100 {
			t.Errorf("%d functions have returned, want 100", n)
		}
	})
}

// One function after the other runs in the same goroutine, which ends when there is
// nothing to do for a while.
func TestGoroutinesAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew.New()
		before := runtime.NumGoroutine()
		for range 10 {
			c.Go(func() { time.Sleep(time.Millisecond) })
			time.Sleep(crew.Rest / 2)
			synctest.Wait()
			if n := runtime.NumGoroutine() - before; n != 1 {
				t.Fatalf("%d goroutines, want 1", n)
			}
		}
		time.Sleep(2 * crew.Rest)
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n != 0 {
			t.Errorf("%d goroutines wait, want none", n)
		}
		c.Close()
	})
}
