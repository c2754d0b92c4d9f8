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
	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change
	gate     chan struct{} // nil: open
	refuse   bool
	closed   bool
	stored   []channels.Inbound
	asides   []Aside
	settled  []string // ids
	refused  []channels.Inbound
	repeated []channels.Inbound
	known    map[[2]string]bool
	busy     map[channels.Key]int
	wrong    []string
}

// Aside is one call of Quarantine.
type Aside struct {
	Channel, ID string
	Raw         []byte
	Why         error
}

// NewInbox returns an empty one that accepts everything.
func NewInbox() *Inbox {
	return &Inbox{
		changed: make(chan struct{}),
		known:   map[[2]string]bool{},
		busy:    map[channels.Key]int{},
	}
}

var _ channels.Intake = (*Inbox)(nil)

// Accept stores m, or refuses it, as the test wants it now.
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
	if !slices.ContainsFunc(b.asides, func(a Aside) bool { return a.Channel == channel && a.ID == id }) {
		b.asides = append(b.asides, Aside{channel, id, slices.Clone(raw), why})
	}
	return nil
}

var _ channels.Resolver = (*Inbox)(nil)

// Resolve records which of the asides came in after all.
func (b *Inbox) Resolve(_ context.Context, channel, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.announce()
	if b.refuse {
		return ErrRefused
	}
	if slices.ContainsFunc(b.asides, func(a Aside) bool { return a.Channel == channel && a.ID == id }) && !slices.Contains(b.settled, id) {
		b.settled = append(b.settled, id)
	}
	return nil
}

// Settled are the ids of the asides that came in after all.
func (b *Inbox) Settled() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.settled)
}

func (b *Inbox) enter(m channels.Inbound) (gate chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		b.wrong = append(b.wrong, "Accept was called after Run had returned")
	}
	if b.busy[m.Key]++; b.busy[m.Key] > 1 {
		b.wrong = append(b.wrong, "two messages of one conversation were handed in at the same time")
	}
	return b.gate
}

func (b *Inbox) leave(k channels.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy[k]--
}

// announce wakes those who wait. The caller holds the lock.
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

// Entered counts the Accept calls that are being answered now.
func (b *Inbox) Entered() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, busy := range b.busy {
		n += busy
	}
	return n
}

// Messages are those stored so far, in order.
func (b *Inbox) Messages() []channels.Inbound { return b.copyOf(&b.stored) }

// Refused are those that [Inbox.Refuse] turned away, with every repeat.
func (b *Inbox) Refused() []channels.Inbound { return b.copyOf(&b.refused) }

// Repeated are those whose ID had been stored before.
func (b *Inbox) Repeated() []channels.Inbound { return b.copyOf(&b.repeated) }

func (b *Inbox) copyOf(list *[]channels.Inbound) []channels.Inbound {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(*list)
}

// Asides are the calls of Quarantine that were stored.
func (b *Inbox) Asides() []Aside {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asides)
}

// Violations says what an adapter did that it must never do.
func (b *Inbox) Violations() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.wrong)
}

// Texts are the texts of [Inbox.Messages].
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

// Until waits until done, which is asked again after every call of Accept and
// Quarantine, and fails the test if that takes too long.
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
				soon, what, len(b.Messages()), len(b.Refused()), len(b.Asides()))
		}
	}
}

// close makes every later Accept a violation.
func (b *Inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// reopen takes close back, for the next Run.
func (b *Inbox) reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = false
}
