package rules

import (
	"crypto/sha256"
	"encoding/hex"

	"dragoman/channels"
	"dragoman/sessions"
)

// The states of inbox rows. The operator sees them in [sessions.QueueItem].
const (
	InWaiting   = "waiting"
	InDone      = "done"
	InClosed    = "closed"    // by /stop or /new
	InDropped   = "dropped"   // by the operator
	InWithdrawn = "withdrawn" // by its author, or an admin, who deleted it before its turn
	InEdit      = "edit"      // an edit that went into a waiting row, or a deletion of one; kept as the memory of its id
)

// Unsent reports whether a delivery in state is still to be worked on.
func Unsent(state sessions.DeliveryState) bool {
	return state == sessions.DeliveryQueued || state == sessions.DeliverySending || state == sessions.DeliveryUnknown
}

// Dedupe is the one string under which a message is accepted once. A channel
// name holds no colon, so two of them never run together.
func Dedupe(m channels.Inbound) string { return m.Key.Channel() + ":" + m.ID }

// Hash is how the dedupe string of an erased message is remembered.
func Hash(dedupe string) string {
	sum := sha256.Sum256([]byte(dedupe))
	return hex.EncodeToString(sum[:])
}

// Marks are the hashes by which m stays known when its row is deleted.
func Marks(m channels.Inbound) []string {
	marks := []string{Hash(Dedupe(m))}
	if mark, ok := ErasedMark(m); ok {
		marks = append(marks, mark)
	}
	return marks
}

// ErasedMark is how it is remembered that the message that m is, or that it
// changes, was erased: a network may tell of changes of it later. The second
// is false for messages without an id.
func ErasedMark(m channels.Inbound) (hash string, ok bool) {
	id := m.MessageID
	if m.Edits != "" {
		id = m.Edits
	}
	return Hash("\x00" + m.Key.String() + "\x00" + id), id != ""
}
