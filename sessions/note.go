package sessions

import (
	"encoding/json"
	"strings"
	"time"
)

// Note is one open record: whatever a subject keeps (a token, a reminder, an approval, a
// link, a login). Stores keep the notes of all subjects in the same way, and look into
// none.
type Note struct {
	// Kind is the subject: 1 to 32 of a-z, 0-9, "_" and "-". Package engine says how long
	// the notes of a kind are kept.
	Kind string `json:"kind"`
	// Owner is whose note it is. It is erased with its owner: a person's identity
	// ([Sender.Owner]) or a chat ([ChatScope]). Other owners, such as "operator", are
	// erased only by their name. At most 200 bytes.
	Owner string `json:"owner"`
	// Name is unique within kind and owner. At most 200 bytes.
	Name string `json:"name"`
	// Due is when somebody must look at it; zero: never.
	Due time.Time `json:"due,omitzero"`
	// Data is JSON of at most 64 KiB: a private struct of the subject, which only gains
	// fields. Stores return it in its shortest form.
	Data json.RawMessage `json:"data,omitempty"`
	// At is when the note was last changed. The store sets it.
	At time.Time `json:"at,omitzero"`
}

// NoteFilter chooses notes. Empty fields match all of them, but one of Kind and Owner must
// be set.
type NoteFilter struct {
	Kind, Owner, Name string
	// DueBefore chooses the notes that are due before that time, soonest first. The order
	// is otherwise that of kind, owner and name.
	DueBefore time.Time
	// Limit is how many notes to return; 0: all of them.
	Limit int
}

// Count is an addition to a sum, or the sum itself.
type Count struct {
	// Kind and Owner are those of a [Note].
	Kind  string `json:"kind"`
	Owner string `json:"owner"`
	// Day is like 20261128, in whichever zone the caller counts days. Sums of old days are
	// moved to the first day of their month: see engine.Store.Sweep.
	Day string `json:"day"`
	// N may be negative. A sum that is zero is not kept.
	N int64 `json:"n"`
}

// SumFilter chooses sums. Empty fields match all of them, but one of Kind and Owner must be
// set.
type SumFilter struct {
	Kind, Owner string
	// From and To are days, both inclusive.
	From, To string
}

// FeedbackKind is the kind of notes about answers. Their name is the id of the turn that
// gave the answer: they are erased with its conversation, and not only with their owner.
const FeedbackKind = "feedback"

// The limits of notes and counts.
const (
	// MaxNotes is how many notes of a kind an owner may have. Some kinds have less.
	MaxNotes = 1000
	// MaxNoteData is how long Note.Data may be, and MaxNoteName how long an owner or a
	// name may be, in bytes.
	MaxNoteData = 64 << 10
	MaxNoteName = 200
	// MaxCount bounds the N of an addition, in both directions.
	MaxCount = 1 << 50
)

// Owner is the owner of a person's notes and counts: "telegram:42".
func (s Sender) Owner() string { return s.Channel + ":" + s.ID }

// JobsOwner is the owner of a job that somebody made by talking: "telegram:42" of
// "telegram:42/r7". It is "" for a configured job.
func JobsOwner(job string) string {
	at := strings.LastIndex(job, "/")
	if at < 0 || !strings.Contains(job[:at], ":") {
		return ""
	}
	return job[:at]
}

// JobScope is the owner of what a job counts.
func JobScope(job string) string { return jobPrefix + job }

// JobOf is the job of a [JobScope].
func JobOf(scope string) string { return strings.TrimPrefix(scope, jobPrefix) }

const jobPrefix = "job/"
