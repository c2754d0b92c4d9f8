package gateway

import (
	"context"
	"math/rand/v2"
	"time"
)

// delay is the wait before retry n, counted from 0: base, doubled each time up
// to most, and up to a quarter more as jitter.
func delay(base, most time.Duration, n int) time.Duration {
	d := most
	if n < 30 && base<<n < most {
		d = base << n
	}
	return d + rand.N(d/4+1)
}

// sleep waits for d. It reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
