package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// PartMessages and PartBytes bound what one commit takes in of a conversation
// that is too large for one, or removes of it. A longer message is a part of
// its own.
const (
	PartMessages = 500
	PartBytes    = 1 << 20
)

// A Chunk gathers messages for one [sessions.MessagesRecord]. All backends
// cut alike.
type Chunk struct {
	Messages []sessions.Message
	bytes    int
}

// Add takes m in and reports whether the chunk is full.
func (c *Chunk) Add(m sessions.Message) (full bool) {
	c.Messages = append(c.Messages, m)
	c.bytes += Bytes(m)
	return len(c.Messages) == 100 || c.bytes >= 1<<20
}

// DumpKeys are the keys to dump, sorted, each once.
func DumpKeys(keys []channels.Key) []channels.Key {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b channels.Key) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(keys)
}

// CheckInbox refuses records of the inbox that no store wrote.
func CheckInbox(r sessions.InboxRecord) error {
	known := []string{InWaiting, InDone, InClosed, InDropped, InWithdrawn, InEdit}
	switch {
	case r.Inbound.Key.IsZero() || r.Inbound.ID == "" || r.Seq <= 0 || r.Seq >= 1<<31:
		return errors.New("an inbox record without key, id or seq")
	case !slices.Contains(known, r.State):
		return fmt.Errorf("an inbox record with the state %q", r.State)
	case r.State != InWaiting && r.Turn != "" || r.Turn == "" && len(r.Steps) > 0:
		return errors.New("an inbox record with a turn that cannot be")
	}
	return nil
}

// CheckOutbox refuses records of the outbox that no store wrote.
func CheckOutbox(r sessions.OutboxRecord) error {
	known := []sessions.DeliveryState{
		sessions.DeliveryQueued, sessions.DeliverySending, sessions.DeliveryUnknown,
		sessions.DeliverySent, sessions.DeliveryDead, sessions.DeliveryDropped,
	}
	if r.Key.IsZero() || r.ID == "" || r.Seq <= 0 || r.Seq >= 1<<31 {
		return errors.New("an outbox record without key, id or seq")
	}
	if !slices.Contains(known, r.State) {
		return fmt.Errorf("an outbox record with the state %q", r.State)
	}
	return nil
}
