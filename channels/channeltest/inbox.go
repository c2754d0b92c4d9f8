package channeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
)

// ErrRefused is what [Inbox] answers while [Inbox.Refuse] is on.
var ErrRefused = errors.New("channeltest: the inbox refuses on purpose")

// Inbox is a [channels.Intake] that records. It stores each (channel, ID)
// once, as a session store does, and notes what an adapter must never do (see
// [Inbox.Violations]). It is safe for concurrent use.
type Inbox struct {
	mu          sync.Mutex
	changed     chan struct{} // closed and replaced at every change
	gate        chan struct{} // nil: open
	refuse      bool
	closed      bool
	stored      []channels.Inbound
	quarantined []Quarantined
	resolved    []string // ids
	refused     []channels.Inbound
	repeated    []channels.Inbound
	known       map[[2]string]bool
	busy        map[channels.Key]int
	wrong       []string
}

// Quarantined is one call of Quarantine.
type Quarantined struct {
	Channel, ID string
	Raw         []byte
	Why         error
}

// NewInbox returns an empty Inbox that accepts everything.
func NewInbox() *Inbox {
	return &Inbox{
		changed: make(chan struct{}),
		known:   map[[2]string]bool{},
		busy:    map[channels.Key]int{},
	}
}

var _ channels.Intake = (*Inbox)(nil)

// Accept stores m, or refuses it while [Inbox.Refuse] is on.
func (b *Inbox) Accept(ctx context.Context, m channels.Inbound) error {
	gate := b.enter(m)
	defer b.leave(m.Key)
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return fmt.Errorf("channeltest: accept: %w", context.Cause(ctx))
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.announce()
	if b.refuse {
		b.refused = append(b.refused, m)
		return ErrRefused
	}
	id := [2]string{m.Key.Channel(), m.ID}
	if b.known[id] {
		b.repeated = append(b.repeated, m)
		return nil
	}
	b.known[id] = true
	b.stored = append(b.stored, m)
	return nil
}

// Quarantine records what the adapter could not understand.
func (b *Inbox) Quarantine(_ context.Context, channel, id string, raw []byte, why error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.announce()
	if b.refuse {
		return ErrRefused
	}
	if !slices.ContainsFunc(b.quarantined, func(a Quarantined) bool { return a.Channel == channel && a.ID == id }) {
		b.quarantined = append(b.quarantined, Quarantined{channel, id, slices.Clone(raw), why})
	}
	return nil
}

var _ channels.Resolver = (*Inbox)(nil)

// Resolve records that a quarantined message came in after all.
func (b *Inbox) Resolve(_ context.Context, channel, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.announce()
	if b.refuse {
		return ErrRefused
	}
	if slices.ContainsFunc(b.quarantined, func(a Quarantined) bool { return a.Channel == channel && a.ID == id }) && !slices.Contains(b.resolved, id) {
		b.resolved = append(b.resolved, id)
	}
	return nil
}

// Resolved returns the ids of quarantined messages that came in after all.
func (b *Inbox) Resolved() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.resolved)
}

func (b *Inbox) enter(m channels.Inbound) (gate chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		b.wrong = append(b.wrong, "Accept was called after Run had returned")
	}
	b.busy[m.Key]++
	if b.busy[m.Key] > 1 {
		b.wrong = append(b.wrong, "two messages of one conversation were handed in at the same time")
	}
	return b.gate
}

func (b *Inbox) leave(k channels.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy[k]--
}

// announce wakes the waiting tests. The caller holds the lock.
func (b *Inbox) announce() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Refuse makes Accept and Quarantine fail while on.
func (b *Inbox) Refuse(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = on
}

// Block makes Accept wait until the returned function is called.
func (b *Inbox) Block() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	gate := make(chan struct{})
	b.gate = gate
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.gate = nil
		close(gate)
	})
}

// Entered counts the Accept calls that have not returned yet.
func (b *Inbox) Entered() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, busy := range b.busy {
		n += busy
	}
	return n
}

// Messages returns the stored messages, in order.
func (b *Inbox) Messages() []channels.Inbound { return b.copyOf(&b.stored) }

// Refused returns every attempt that [Inbox.Refuse] turned away.
func (b *Inbox) Refused() []channels.Inbound { return b.copyOf(&b.refused) }

// Repeated returns the messages whose ID had been stored before.
func (b *Inbox) Repeated() []channels.Inbound { return b.copyOf(&b.repeated) }

func (b *Inbox) copyOf(list *[]channels.Inbound) []channels.Inbound {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(*list)
}

// Quarantined returns the stored calls of Quarantine.
func (b *Inbox) Quarantined() []Quarantined {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.quarantined)
}

// Violations lists the rules of [channels.Intake] that the adapter broke.
func (b *Inbox) Violations() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.wrong)
}

// Texts returns the texts of [Inbox.Messages].
func (b *Inbox) Texts() []string {
	var texts []string
	for _, m := range b.Messages() {
		texts = append(texts, m.Text)
	}
	return texts
}

// Wait returns the stored messages once there are n, and fails the test if
// that takes too long.
func (b *Inbox) Wait(t *testing.T, n int) []channels.Inbound {
	t.Helper()
	b.Until(t, fmt.Sprintf("%d messages to be accepted", n), func() bool { return len(b.Messages()) >= n })
	return b.Messages()
}

// WaitRefused is Wait for [Inbox.Refused].
func (b *Inbox) WaitRefused(t *testing.T, n int) []channels.Inbound {
	t.Helper()
	b.Until(t, fmt.Sprintf("%d attempts to be refused", n), func() bool { return len(b.Refused()) >= n })
	return b.Refused()
}

// Until waits until done returns true, and fails the test if that takes too
// long. It checks after every call of Accept and Quarantine.
func (b *Inbox) Until(t *testing.T, what string, done func() bool) {
	t.Helper()
	timeout := time.NewTimer(soon)
	defer timeout.Stop()
	for {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		if done() {
			return
		}
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("waited %s in vain for %s; stored so far: %d, refused: %d, set aside: %d",
				soon, what, len(b.Messages()), len(b.Refused()), len(b.Quarantined()))
		}
	}
}

// close makes every later Accept a violation.
func (b *Inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// reopen undoes close, for the next Run.
func (b *Inbox) reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = false
}
