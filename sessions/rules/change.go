package rules

import (
	"dragoman/channels"
	"dragoman/sessions"
)

// Earlier is an accepted message that a change may be about.
type Earlier struct {
	Inbound channels.Inbound
	State   string
	Turn    string // that it is bound to while it waits
	// Shown says that this turn has done nothing yet but show how far its answer is.
	Shown bool
	// Gone says that its conversation has no transcript (any more).
	Gone bool
}

// ByItselfNothing reports whether e matters only if the message that it
// changes was accepted.
func ByItselfNothing(e sessions.Entry) bool {
	return e.Inbound.Edits != "" && !e.Answered && (e.Inbound.Deletes != "" || e.IfKnown)
}

// Note is what stands in the transcript for change. Who deletes for others may
// not know the name of the author.
func Note(change, changed channels.Inbound) sessions.Message {
	if change.Sender.Name == "" {
		change.Sender.Name = changed.Sender.Name
	}
	return sessions.EditNote(change)
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

// Outcome decides what comes of e. The n messages of its key that have the id
// which e changes are handed out by earlier, the newest first; i is the one to
// change or to withdraw, or that is noted, -1 for none. What still waits goes
// before what does not: a change of a message that was none of ours is a
// message itself, and is what later changes are about.
func Outcome(e sessions.Entry, n int, earlier func(i int) Earlier) (o sessions.Outcome, i int) {
	deletes := e.Inbound.Deletes != ""
	switch {
	case e.Answered:
		return sessions.Done, -1
	case e.Inbound.Edits == "":
		return sessions.Queued, -1
	case ByItselfNothing(e):
		o = sessions.Unknown
	default:
		o = sessions.Queued
	}
	i = -1
	for at := range n {
		w := earlier(at)
		if w.State == InEdit || !SamePerson(w.Inbound.Sender, e.Inbound.Sender) {
			continue
		}
		switch {
		case w.State == InWaiting && w.Turn == "" && deletes:
			return sessions.Withdrawn, at
		case w.State == InWaiting && (w.Turn == "" || w.Shown) && !deletes:
			return sessions.Replaced, at
		case w.State == InWithdrawn, deletes && w.State == InDropped:
			o, i = sessions.Withdrawn, -1
		case o != sessions.Withdrawn && i < 0 && w.Gone && w.State != InWaiting:
			o = sessions.Unknown
		case i < 0 && o != sessions.Withdrawn:
			o, i = sessions.Noted, at
		}
	}
	return o, i
}

// StateFor is the state in which an entry is stored when o comes of it.
func StateFor(o sessions.Outcome) string {
	switch {
	case o == sessions.Queued:
		return InWaiting
	case o == sessions.Replaced, o == sessions.Withdrawn:
		return InEdit
	}
	return InDone
}

// WhyWithdrawn is what the operator reads of a message that m deleted.
func WhyWithdrawn(m channels.Inbound) string {
	if m.Deletes == channels.DeletedByAdmin {
		return "deleted by an admin before it was answered"
	}
	return "deleted by its sender before it was answered"
}

// Resets reports whether e may begin a new generation by its ResetBefore: an
// edit belongs to what it edits, and a control has its own rule.
func Resets(e sessions.Entry, o sessions.Outcome) bool {
	return !e.ResetBefore.IsZero() && e.Control == sessions.ControlNone && e.Inbound.Edits == "" && (o == sessions.Queued || o == sessions.Done)
}
