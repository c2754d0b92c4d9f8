package memory

import (
	"crypto/sha256"
	"encoding/binary"

	"dragoman/channels"
	"dragoman/sessions/rules"
)

// SeenID is how an accepted message is remembered for good.
type SeenID [16]byte

// Seen is the id of m. The same 16 bytes begin its rules.Hash.
func Seen(m channels.Inbound) SeenID {
	sum := sha256.Sum256([]byte(rules.Dedupe(m)))
	return SeenID(sum[:16])
}

// SeenIDs are the messages that were accepted, and the seq of each. The zero
// value is empty.
//
// Those that a start has read stay in the bytes in which they came. The first
// who asks for one has a table made over them: to put a million into a map
// took most of the time that a start takes.
type SeenIDs struct {
	rows  []byte
	slots []uint32         // the number of a row and one, or 0; a power of two of them, at most half of them used
	newer map[SeenID]int32 // these count before rows; a gone one has dropped
}

// SeenRow is how many bytes a row has: those of a SeenID and of a seq, the
// highest first.
const SeenRow = 16 + 4

const dropped = -1

// NewSeenIDs takes rows over. Of rows with one id the last counts.
func NewSeenIDs(rows []byte) *SeenIDs { return &SeenIDs{rows: rows[:len(rows)/SeenRow*SeenRow]} }

// index makes the table.
func (s *SeenIDs) index() {
	n, size := len(s.rows)/SeenRow, 1
	for size < 2*n {
		size *= 2
	}
	s.slots = make([]uint32, size)
	for row := range n {
		s.slots[s.slot(SeenID(s.rows[row*SeenRow:]))] = uint32(row + 1)
	}
}

// slot is where the row of id is, or would be. The ids are sums, so that any
// of their bytes spread them evenly.
func (s *SeenIDs) slot(id SeenID) int {
	last := len(s.slots) - 1
	for i := int(binary.BigEndian.Uint32(id[:])) & last; ; i = (i + 1) & last {
		if row := s.slots[i]; row == 0 || SeenID(s.rows[int(row-1)*SeenRow:]) == id {
			return i
		}
	}
}

// Seq is the seq of what was accepted under id.
func (s *SeenIDs) Seq(id SeenID) (seq int32, seen bool) {
	if seq, seen = s.newer[id]; seen || len(s.rows) == 0 {
		return seq, seen && seq != dropped
	}
	if s.slots == nil {
		s.index()
	}
	row := s.slots[s.slot(id)]
	if row == 0 {
		return 0, false
	}
	return int32(binary.BigEndian.Uint32(s.rows[int(row)*SeenRow-4:])), true
}

// Put remembers id.
func (s *SeenIDs) Put(id SeenID, seq int32) {
	if s.newer == nil {
		s.newer = map[SeenID]int32{}
	}
	s.newer[id] = seq
}

// Drop forgets id.
func (s *SeenIDs) Drop(id SeenID) { s.Put(id, dropped) }
