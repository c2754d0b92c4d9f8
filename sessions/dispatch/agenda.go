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
	// holds back those behind it, or an answer would overtake another.
	Chat Lane = iota
	// Heartbeat items stand each for itself: they neither wait for a chat
	// message nor hold one back.
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
	// Row is the store's own number of the item, which comes back with it.
	Row int64
	// Body is what the store would read again at once, or nil. It is kept only
	// where nothing waits ahead of the item, and until the item changes, so
	// that a long queue costs no memory and an old body is never seen.
	Body any
	// Gone takes the item off the agenda.
	Gone bool
}

// agenda is what one key has to do: each lane ordered by Seq.
type agenda [lanes][]Item

func (a *agenda) empty() bool {
	return len(a[Chat]) == 0 && len(a[Heartbeat]) == 0 && len(a[Delivery]) == 0
}

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
func (a *agenda) next() (time.Time, bool) {
	var first time.Time
	found := false
	consider := func(t time.Time) {
		if !found || t.Before(first) {
			first, found = t, true
		}
	}
	if len(a[Chat]) > 0 {
		consider(a[Chat][0].Due)
	}
	for _, it := range a[Heartbeat] {
		consider(it.Due)
	}
	if len(a[Delivery]) > 0 {
		consider(a[Delivery][0].Due)
	}
	return first, found
}

// Selection is what a claim has to answer next.
type Selection struct {
	Turn  string // an interrupted turn, or ""
	Items []Item
	More  int // due items beyond Items
}

// choose picks what to answer now: an interrupted turn whole, or else due
// items in order, a heartbeat always alone.
func (a *agenda) choose(now time.Time, most int) Selection {
	due := a.dueInbox(now)
	if turn := a.openTurn(now); turn != "" {
		sel := Selection{Turn: turn}
		for _, it := range slices.Concat(a[Chat], a[Heartbeat]) {
			if it.Turn == turn {
				sel.Items = append(sel.Items, it)
			}
		}
		slices.SortFunc(sel.Items, bySeq)
		for _, it := range due {
			if it.Turn != turn {
				sel.More++
			}
		}
		return sel
	}
	var sel Selection
	for i, it := range due {
		alone := it.Lane == Heartbeat
		if i > 0 && (alone || (most > 0 && i >= most)) {
			break
		}
		sel.Items = append(sel.Items, it)
		if alone {
			break
		}
	}
	sel.More = len(due) - len(sel.Items)
	return sel
}

// dueInbox lists the inbox items that may be answered now, by Seq.
func (a *agenda) dueInbox(now time.Time) []Item {
	var due []Item
	for _, it := range a[Chat] {
		if it.Due.After(now) {
			break
		}
		due = append(due, it)
	}
	for _, it := range a[Heartbeat] {
		if !it.Due.After(now) {
			due = append(due, it)
		}
	}
	slices.SortFunc(due, bySeq)
	return due
}

func bySeq(a, b Item) int { return cmp.Compare(a.Seq, b.Seq) }

// openTurn is the interrupted turn with the lowest Seq whose time has come.
func (a *agenda) openTurn(now time.Time) string {
	turn, first := "", int64(0)
	late := map[string]bool{}
	for _, lane := range []Lane{Chat, Heartbeat} {
		for _, it := range a[lane] {
			if it.Turn != "" && it.Due.After(now) {
				late[it.Turn] = true
			}
		}
	}
	for _, lane := range []Lane{Chat, Heartbeat} {
		for _, it := range a[lane] {
			if it.Turn != "" && !late[it.Turn] && (turn == "" || it.Seq < first) {
				turn, first = it.Turn, it.Seq
			}
		}
	}
	return turn
}

// bound lists the inbox items that belong to turn.
func (a *agenda) bound(turn string) []Item {
	var items []Item
	for _, lane := range []Lane{Chat, Heartbeat} {
		for _, it := range a[lane] {
			if it.Turn == turn {
				it.Body = nil
				items = append(items, it)
			}
		}
	}
	return items
}
