package dispatch

import (
	"context"
	"sync"
)

// Leases has the leases of a store that one process owns. A holder keeps its lease until
// it returns or the process ends.
type Leases struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when the holder has returned
}

// Hold is engine.Store.Hold within one process.
func (l *Leases) Hold(ctx context.Context, name string, run func(context.Context) error) error {
	for {
		l.mu.Lock()
		if l.held == nil {
			l.held = map[string]chan struct{}{}
		}
		done, taken := l.held[name]
		if !taken {
			l.held[name] = make(chan struct{})
		}
		l.mu.Unlock()
		if !taken {
			break
		}
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.held[name])
		delete(l.held, name)
	}()
	return run(ctx)
}
