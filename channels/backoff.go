package channels

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

// Backoff computes how long an adapter waits between attempts.
type Backoff struct {
	Least, Most time.Duration // 0: 200 ms and a minute
	// Failed is how many attempts in a row failed. Set it to 0 after a success.
	Failed int
}

// Next counts a failure and returns how long to wait. The wait doubles with each
// failure, up to Most. Its upper half is random, so that clients that lost their
// connections together do not come back together.
func (b *Backoff) Next() time.Duration {
	d := min(cmp.Or(b.Least, 200*time.Millisecond)<<min(b.Failed, 16), cmp.Or(b.Most, time.Minute))
	b.Failed++
	return d/2 + rand.N(d/2+1)
}

// Sleep waits for d, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
