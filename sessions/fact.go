package sessions

import (
	"strings"
	"time"

	"dragoman/channels"
)

// Bounds of a memory. A person can look over two hundred facts; a chat belongs to several.
const (
	MostFactsOfPerson = 200
	MostFactsOfChat   = 500
	// FactUndo is how long a fact is kept after it was replaced or forgotten.
	FactUndo = 30 * 24 * time.Hour
)

// MostFacts is how many facts the memory of that scope may have.
func MostFacts(scope string) int {
	if strings.HasPrefix(SharedScope(scope), "person:") {
		return MostFactsOfPerson
	}
	return MostFactsOfChat
}

// Fact is one thing to remember across conversations.
type Fact struct {
	ID   int64     `json:"id"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
	// Origins are whose words it is, beside the person's: of what the model had seen when
	// it remembered the fact.
	Origins []Origin `json:"origins,omitempty"`
	FactMarks
}

// FactMarks is what a store notes beside the words of a fact. It only gains fields: SQLite
// keeps it as JSON in one column.
type FactMarks struct {
	// From is the conversation that it was said in, if that is known.
	From channels.Key `json:"from,omitzero"`
	// Pinned facts come first in a prompt.
	Pinned bool `json:"pinned,omitempty"`
	// Used is when a search last showed it to a model, at most once a day.
	Used time.Time `json:"used,omitzero"`
	// Gone is when it was replaced or forgotten. Nobody is shown it any more, and it is
	// deleted after [FactUndo]. Each fact of a scope that goes later has a later time.
	Gone time.Time `json:"gone,omitzero"`
	// ReplacedBy has the words of the fact that it was replaced by; "" if it was forgotten.
	// Numbers change when records are restored into another store.
	ReplacedBy string `json:"replaced_by,omitempty"`
}

// NewFact is something to remember.
type NewFact struct {
	Text    string
	Origins []Origin
	From    channels.Key
	// Beside are the scopes of the same person on other networks.
	Beside []string
	// Replaces are the numbers of facts that are no longer true.
	Replaces []int64
}

// Kept is a fact that was remembered, and what it has to do with others of its scope.
type Kept struct {
	Fact
	// Near are up to five facts that share more than half of its words, nearest first, and
	// were not replaced by it.
	Near []Fact
	// Replaced are the facts that it replaced just now.
	Replaced []Fact
}

// UndoneFacts is what taking back the last change of a memory did.
type UndoneFacts struct {
	// Back are the facts that count again: one that was forgotten, or what was replaced.
	Back []Fact
	// Dropped is the fact that had replaced them, nil if there is none. It is deleted.
	Dropped *Fact
}
