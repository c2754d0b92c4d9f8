package dispatch

import (
	"cmp"
	"slices"
	"time"

	"dragoman/channels"
)

// Lane says which order an item of a key keeps.
type Lane uint8

// The lanes of a key.
const (
	// Chat items are answered in order: the first one that waits for its time
	// holds back those after it, or an answer would overtake another.
	Chat Lane = iota
	// Heartbeat items are independent: they neither wait for a chat message nor hold
	// one back.
	Heartbeat
	// Delivery items leave in order, like Chat.
	Delivery
	lanes
)

// Item is one thing that a key still has to do.
type Item struct {
	Key  channels.Key
	Seq  int64
	Lane Lane
	// Due is when to do it; zero is at once.
	Due time.Time
	// Turn is the turn that an inbox item is bound to, or "".
	Turn string
	// Since is when it was accepted or created.
	Since time.Time
	// Uncertain marks a delivery that may have been sent already.
	Uncertain bool
	// Body is the row, which the store will need at once, or nil. It is kept only if
	// no item is before it, and until the item changes, so that a long queue costs no
	// memory and an old row is never seen.
	Body any
	// Gone takes the item off the agenda.
	Gone bool
}

// agenda are the open items of one key: each lane ordered by Seq.
type agenda [lanes][]Item

// put adds, replaces or removes it.
func (a *agenda) put(it Item) {
	lane := &a[it.Lane]
	// New items are the newest of their key nearly always.
	i, found := len(*lane), false
	if i > 0 && (*lane)[i-1].Seq >= it.Seq {
		i, found = slices.BinarySearchFunc(*lane, it.Seq, func(x Item, seq int64) int { return cmp.Compare(x.Seq, seq) })
	}
	switch {
	case it.Gone && found:
		*lane = slices.Delete(*lane, i, i+1)
	case it.Gone:
	case found:
		(*lane)[i] = it
	default:
		if len(*lane) > 0 {
			it.Body = nil
		}
		*lane = slices.Insert(*lane, i, it)
	}
}

// next is when the key has something to do, and false if it has nothing.
func (a *agenda) next() (first time.Time, open bool) {
	for lane, items := range a {
		if Lane(lane) != Heartbeat && len(items) > 0 {
			items = items[:1] // it holds back the others
		}
		for _, it := range items {
			if !open || it.Due.Before(first) {
				first, open = it.Due, true
			}
		}
	}
	return first, open
}

func bySeq(a, b Item) int { return cmp.Compare(a.Seq, b.Seq) }
