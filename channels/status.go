package channels

import (
	"sync"
	"time"
)

// State is how a channel is doing.
type State string

// The states of a channel.
const (
	StateConnecting State = "connecting"
	StateConnected  State = "connected"
	StateDown       State = "down"   // tries again by itself
	StateFailed     State = "failed" // needs a person
)

// Status is what a channel says about itself.
type Status struct {
	State State `json:"state"`
	// Reason is one word for what Detail explains, from a short list that the
	// adapter has, for whoever watches: "banned". Empty: State says it all.
	Reason string `json:"reason,omitempty"`
	// Detail is one short sentence for the operator: why, and what to do.
	Detail string    `json:"detail,omitempty"`
	Since  time.Time `json:"since"`
	// Unused says that no person has set the channel up, as with a WhatsApp
	// that was never linked: it waits for that, and nothing is wrong.
	Unused bool `json:"unused,omitempty"`
}

// Trouble reports whether the channel does not work and an operator should know.
func (s Status) Trouble() bool {
	return !s.Unused && (s.State == StateFailed || s.State == StateDown)
}

// Reporter tells how the channel is doing. Without it a channel counts as
// connected while Run runs.
type Reporter interface {
	// Status is safe for concurrent use and does not block.
	Status() Status
}

// StatusTracker keeps the [Status] of a channel. Its zero value is ready.
type StatusTracker struct {
	mu     sync.Mutex
	status Status
}

// Status is what was reported last.
func (t *StatusTracker) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

// Report makes s the status, and says whether its state, reason or detail are
// news. Since is set here: it is when the state or the reason changed.
func (t *StatusTracker) Report(s Status) (news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.status
	if s.Since = was.Since; s.State != was.State || s.Reason != was.Reason {
		s.Since = time.Now()
	}
	t.status = s
	return s != was
}
