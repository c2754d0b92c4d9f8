package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// The states of inbox rows. The operator sees them in [sessions.QueueItem].
const (
	InWaiting      = "waiting"
	InPostponed    = "postponed" // shown for a waiting row whose time has not come
	InDone         = "done"
	InClosed       = "closed"    // by /stop or /new
	InDropped      = "dropped"   // by the operator
	InWithdrawn    = "withdrawn" // by its author, or an admin, who deleted it before its turn
	InEdit         = "edit"      // an edit that went into a waiting row, or a deletion of one; kept as the memory of its id
	QuarantineKept = "aside"
	QuarantineGone = "dropped"
)

// CameLater stands before the reason why something was set aside, once it was
// settled.
const CameLater = "came later; before that: "

// CheckEntry refuses entries that no caller may make.
func CheckEntry(e sessions.Entry) error {
	switch {
	case e.Inbound.Key.IsZero():
		return errors.New("the message has no key")
	case e.Inbound.ID == "":
		return errors.New("the message has no id")
	case e.Inbound.Deletes != "" && e.Inbound.Edits == "":
		return errors.New("a deletion of no message")
	case e.Control != sessions.ControlNone && !e.Answered:
		return fmt.Errorf("control %q on a message that is not answered", e.Control)
	case e.Control != sessions.ControlNone && e.Control != sessions.ControlStop && e.Control != sessions.ControlNew:
		return fmt.Errorf("unknown control %q", e.Control)
	case len(e.Ends) > 0 && e.Control != sessions.ControlStop:
		return fmt.Errorf("control %q of some messages alone", e.Control)
	}
	return nil
}

// Ends reports whether the control of e closes a waiting message, which the
// turn named turn has bound, or none if that is empty.
func Ends(e sessions.Entry, seq int64, turn string) bool {
	return len(e.Ends) == 0 || turn != "" || slices.Contains(e.Ends, seq)
}

// Dedupe is the one string under which a message is accepted once. A channel
// name holds no colon, so two of them never run together.
func Dedupe(m channels.Inbound) string { return m.Key.Channel() + ":" + m.ID }

// InState is what the operator sees of a row in state whose time is due, after
// so many attempts. One without any waits for the rest of its album.
func InState(state string, attempts int, due, now time.Time) string {
	if state == InWaiting && attempts > 0 && due.After(now) {
		return InPostponed
	}
	return state
}

// Unsent reports whether a delivery in state is still to be worked on.
func Unsent(state sessions.DeliveryState) bool {
	return state == sessions.DeliveryQueued || state == sessions.DeliverySending || state == sessions.DeliveryUnknown
}

// PutBack is the state of a delivery that goes back into the queue: what was
// uncertain once stays uncertain, whatever later attempts say.
func PutBack(uncertain bool) sessions.DeliveryState {
	if uncertain {
		return sessions.DeliveryUnknown
	}
	return sessions.DeliveryQueued
}

// FeedIn is how a person's message in an inbox row appears in the feed.
func FeedIn(seq int64, m channels.Inbound, accepted time.Time, state string) sessions.FeedItem {
	at := m.At
	if at.IsZero() {
		at = Time(accepted)
	}
	return sessions.FeedItem{
		Seq: seq, ID: m.ID, From: "person", Name: m.Sender.Name, Text: m.Text, At: at, Waiting: state == InWaiting,
		Attachments: slices.Clone(m.Attachments),
	}
}

// FeedOut is how a delivery appears in the feed.
func FeedOut(d sessions.Delivery) sessions.FeedItem {
	return sessions.FeedItem{Seq: d.Seq, ID: d.ID, From: "dragoman", Text: d.Text, At: Time(d.Created), State: d.State}
}

// SortQueue puts the oldest items first, keeps at most limit, and takes the
// text off them: a list shows what is stuck, not what people said.
func SortQueue(items []sessions.QueueItem, limit int) []sessions.QueueItem {
	slices.SortStableFunc(items, func(a, b sessions.QueueItem) int { return a.At.Compare(b.At) })
	items = items[:min(max(limit, 0), len(items))]
	for i := range items {
		items[i].Text = ""
	}
	return items
}

// NewestFirst orders occurrences by their due time and keeps at most limit.
func NewestFirst(list []sessions.Occurrence, limit int) []sessions.Occurrence {
	slices.SortStableFunc(list, func(a, b sessions.Occurrence) int {
		return cmp.Or(b.Due.Compare(a.Due), cmp.Compare(a.Job, b.Job))
	})
	return list[:min(max(limit, 0), len(list))]
}
