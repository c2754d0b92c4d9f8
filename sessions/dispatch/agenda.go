package dispatch

import (
	"cmp"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Lane is one of the queues of a key.
type Lane uint8

// The lanes of a key.
const (
	// Chat items are answered in order: while the first is postponed, those after it wait,
	// so that no answer overtakes another.
	Chat Lane = iota
	// Heartbeat items are independent of chat messages and of each other.
	Heartbeat
	// Delivery items are sent in order, like Chat.
	Delivery
	lanes
)

// Item is an open row of a key: a message to answer, or a delivery to send.
type Item struct {
	Key  channels.Key
	Seq  int64
	Lane Lane
	// Due is when to handle it; zero means at once.
	Due time.Time
	// Since is when it was accepted or created.
	Since time.Time
	// Uncertain marks a delivery that may have been sent already.
	Uncertain bool
	// Body is the row, for the store that will read it next, or nil. Only the first item of
	// a lane keeps it, and until the item changes, so that a long queue uses little memory
	// and no stale row is read.
	Body any
	// Gone removes the item.
	Gone bool
}

// agenda has the open items of one key, each lane sorted by Seq.
type agenda [lanes][]Item

// put adds, replaces or removes an item.
func (a *agenda) put(it Item) {
	lane := &a[it.Lane]
	// A new item is nearly always the last one.
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

// next returns when the first item is due. open is false if there is none.
func (a *agenda) next() (first time.Time, open bool) {
	for lane, items := range a {
		if Lane(lane) != Heartbeat && len(items) > 0 {
			items = items[:1] // the others wait for it
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

// In is the item of an inbox row.
func In(r *rows.In) Item {
	lane := Chat
	if r.Source == sessions.SourceHeartbeat {
		lane = Heartbeat
	}
	return Item{Key: r.Inbound.Key, Seq: r.Seq, Lane: lane, Due: r.Due, Since: r.Accepted, Gone: r.State != rules.InWaiting}
}

// Out is the item of a delivery.
func Out(o *sessions.OutboxRecord) Item {
	return Item{
		Key: o.Key, Seq: o.Seq, Lane: Delivery, Due: o.NotBefore, Since: o.Created, Uncertain: o.Uncertain, Gone: !rules.Unsent(o.State),
	}
}
