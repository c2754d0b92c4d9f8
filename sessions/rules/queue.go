package rules

import (
	"cmp"
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
	InEdit      = "edit"      // an edit or deletion that changed a waiting row; kept so that its id stays known
)

// Unsent reports whether a delivery in state is still to be sent.
func Unsent(state sessions.DeliveryState) bool {
	return state == sessions.DeliveryQueued || state == sessions.DeliverySending || state == sessions.DeliveryUnknown
}

// Dedupe is the string by which a message is accepted only once. Channel names have no
// colon, so it is unambiguous.
func Dedupe(m channels.Inbound) string { return m.Key.Channel() + ":" + m.ID }

// Hash is the form in which the dedupe string of a deleted message is stored.
func Hash(dedupe string) string {
	sum := sha256.Sum256([]byte(dedupe))
	return hex.EncodeToString(sum[:])
}

// Marks returns the hashes that remain when the row of m is deleted.
func Marks(m channels.Inbound) []string {
	marks := []string{Hash(Dedupe(m))}
	if mark, ok := ErasedMark(m); ok {
		marks = append(marks, mark)
	}
	return marks
}

// ErasedMark returns the hash that remains of m, or of the message that m changes, because
// a network may report changes of a deleted message. ok is false for a message without an id.
func ErasedMark(m channels.Inbound) (hash string, ok bool) {
	id := cmp.Or(m.Edits, m.MessageID)
	return Hash("\x00" + m.Key.String() + "\x00" + id), id != ""
}
