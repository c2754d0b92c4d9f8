package web

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// lookEvery is how often [Door.Run] asks whether those who are in may stay. What
// [Tokens] know is at most two seconds old, so a stream ends within five.
const lookEvery = 2 * time.Second

// ErrAccessEnded is the cause of the end of a request whose caller lost access: see
// context.Cause.
var ErrAccessEnded = errors.New("web: the token or the session has ended")

// visit is a request under way.
type visit struct {
	caller
	cancel context.CancelCauseFunc
}

// visits are the protected requests under way, so that streams end with their token.
type visits struct {
	mu   sync.Mutex
	open map[*visit]struct{}
}

// begin notes a request. Its context ends when its caller loses access. The caller of
// begin must call end.
func (v *visits) begin(ctx context.Context, c caller) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	one := &visit{c, cancel}
	v.mu.Lock()
	v.open[one] = struct{}{}
	v.mu.Unlock()
	return ctx, func() {
		v.mu.Lock()
		delete(v.open, one)
		v.mu.Unlock()
		cancel(nil)
	}
}

// all returns the requests under way.
func (v *visits) all() []*visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Keys(v.open))
}

// Run ends the requests of those who lost access, until ctx ends: their token was
// revoked or has expired, they logged out on another page or node, or an open port is
// open no longer.
func (d *Door) Run(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			d.endVisits(ctx)
		}
	}
}

// endVisits asks once for each caller.
func (d *Door) endVisits(ctx context.Context) {
	may := map[caller]bool{}
	for _, v := range d.visits.all() {
		still, asked := may[v.caller]
		if !asked {
			still = d.stillMay(ctx, v.caller)
			may[v.caller] = still
		}
		if !still {
			v.cancel(ErrAccessEnded)
		}
	}
}
