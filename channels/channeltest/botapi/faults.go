package botapi

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Fault makes calls fail. A call meets the first fault that fits it.
type Fault struct {
	Method string // "" is every method
	ChatID int64  // 0 is every chat
	Times  int    // how many calls meet it; 0 is all of them until Heal

	Delay time.Duration // before anything else
	// DropBefore closes the connection without doing anything, DropAfter
	// after the call has had its effect.
	DropBefore, DropAfter bool
	// Status answers with an error and without effect.
	Status      int
	Description string
	RetryAfter  int // seconds
	MigrateTo   int64
	// Body is sent with Status instead of JSON, as proxies do.
	Body string

	met int
}

// Break adds f and returns a function that takes it back.
func (s *Server) Break(f Fault) (heal func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := &f
	s.faults = append(s.faults, added)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = slices.DeleteFunc(s.faults, func(other *Fault) bool { return other == added })
	}
}

// Heal removes every fault.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (s *Server) faultFor(c *Call) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		switch {
		case f.Method != "" && !strings.EqualFold(f.Method, c.Method):
		case f.ChatID != 0 && f.ChatID != c.ChatID:
		case f.Times > 0 && f.met >= f.Times:
		default:
			f.met++
			return f
		}
	}
	return nil
}

// delay waits; false if the caller went away meanwhile.
func (f *Fault) delay(ctx context.Context) bool {
	if f.Delay <= 0 {
		return true
	}
	select {
	case <-time.After(f.Delay):
		return true
	case <-ctx.Done():
		return false
	}
}
