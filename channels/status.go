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

// ReasonPairing is the reason of a [Linker] that is linked to no phone.
const ReasonPairing = "needs_pairing"

// Status is what a channel says about itself.
type Status struct {
	State State `json:"state"`
	// Reason is one word for metrics and alerts, from the adapter's short list:
	// "banned". It is empty if State says it all.
	Reason string `json:"reason,omitempty"`
	// Detail is one short sentence for the operator: why, and what to do.
	Detail string    `json:"detail,omitempty"`
	Since  time.Time `json:"since"`
	// Unused says that nobody has set the channel up, as with a WhatsApp that
	// was never linked. The channel waits, and nothing is wrong.
	Unused bool `json:"unused,omitempty"`
}

// Trouble reports whether the channel has failed and an operator should know.
func (s Status) Trouble() bool {
	return !s.Unused && (s.State == StateFailed || s.State == StateDown)
}

// Reporter is a channel with a [Status]. Without it a channel counts as
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

// Status returns the last report.
func (t *StatusTracker) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

// Report makes s the status, and reports whether it differs from the last one.
// It sets s.Since, the time when the state or the reason changed.
func (t *StatusTracker) Report(s Status) (changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.status
	s.Since = was.Since
	if s.State != was.State || s.Reason != was.Reason {
		s.Since = time.Now()
	}
	t.status = s
	return s != was
}
