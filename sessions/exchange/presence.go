package exchange

import (
	"crypto/sha256"
	"encoding/binary"

	"dragoman/sessions"
)

// Presence is what a store has under the key of an [Item].
type Presence int

// The kinds of Presence.
const (
	Absent Presence = iota
	// Same: the conversation begins with the messages of the item.
	Same
	// Taken: the key has something else.
	Taken
)

// fingerprint is a hash over who wrote what in a row of messages.
type fingerprint [sha256.Size]byte

// add adds m. Times, numbers and ids are no part of it: a store changes some.
func (f *fingerprint) add(m sessions.Message) {
	h := sha256.New()
	h.Write(f[:])
	part := func(text string) {
		h.Write(binary.AppendUvarint(nil, uint64(len(text))))
		h.Write([]byte(text))
	}
	part(string(m.Role))
	part(m.Content)
	for _, c := range m.ToolCalls {
		part(c.Name)
		part(c.Arguments)
	}
	h.Sum(f[:0])
}

// Holder compares a stored conversation with an [Item]. Pass it the conversation's
// messages in order, with Add, and then ask Holds.
type Holder struct {
	item  Item
	print fingerprint
	count int
}

// NewHolder returns a Holder for it.
func NewHolder(it Item) *Holder { return &Holder{item: it} }

// Add adds the next messages.
func (h *Holder) Add(list []sessions.Message) {
	for _, m := range list {
		if h.count < h.item.Messages {
			h.print.add(m)
		}
		h.count++
	}
}

// Holds reports whether the messages so far begin with those of the item.
func (h *Holder) Holds() bool { return h.count >= h.item.Messages && h.print == h.item.print }
