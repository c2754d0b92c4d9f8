package memory

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// ranking has the chats with a conversation in the order of their last update.
// What changes now becomes the newest, which is one entry at the end: so the
// newest fifty cost the same however many there are. What gets its place among
// others (an import, a clock that was set back) has all of them sorted before
// somebody asks the next time.
type ranking struct {
	places   []place // oldest first
	empty    int     // places whose chat has moved on; the last one never is
	unsorted bool
}

type place struct {
	updated, order int64
	chat           *chat // nil: it has moved on
}

func placeOf(c *chat) place {
	p := place{math.MinInt64, c.conv.order, c}
	if t := rules.Time(c.conv.Updated); !t.IsZero() {
		p.updated = t.UnixNano() // stored times fit
	}
	return p
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.updated, o.updated), cmp.Compare(p.order, o.order))
}

// put gives c the place that it has now.
func (r *ranking) put(c *chat) {
	p := placeOf(c)
	if c.place > 0 && r.places[c.place-1] == p {
		return
	}
	r.drop(c)
	if n := len(r.places); n > 0 && p.compare(r.places[n-1]) < 0 {
		r.unsorted = true
	}
	r.places = append(r.places, p)
	c.place = len(r.places)
	if r.empty > len(r.places)/2 {
		r.close()
	}
}

// drop takes c out.
func (r *ranking) drop(c *chat) {
	if c.place == 0 {
		return
	}
	r.places[c.place-1].chat, c.place = nil, 0
	r.empty++
	for n := len(r.places); n > 0 && r.places[n-1].chat == nil; n-- {
		r.places = r.places[:n-1]
		r.empty--
	}
}

// close removes the empty places.
func (r *ranking) close() {
	r.places = slices.DeleteFunc(r.places, func(p place) bool { return p.chat == nil })
	r.empty = 0
	r.number()
}

// number tells the chats where they are.
func (r *ranking) number() {
	for i, p := range r.places {
		p.chat.place = i + 1
	}
}

// sort brings all in order, if that is not so already.
func (r *ranking) sort() {
	if !r.unsorted {
		return
	}
	r.close()
	slices.SortFunc(r.places, place.compare)
	r.number()
	r.unsorted = false
}

// newest goes through all behind after, or all if it is nil, most recently
// updated first. Between equals the keys decide, which do not change: so the
// conversation that stood there may have moved on or gone. Nothing may change
// meanwhile.
func (r *ranking) newest(after *sessions.Cursor) iter.Seq[*chat] {
	return func(yield func(*chat) bool) {
		r.sort()
		end := len(r.places)
		if after != nil {
			end, _ = slices.BinarySearchFunc(r.places, after.Updated.UnixNano(), func(p place, at int64) int {
				return cmp.Or(cmp.Compare(p.updated, at), -1) // equals are in front of the end
			})
		}
		for end > 0 {
			equals, begin := r.equals(end)
			for _, c := range equals {
				passed := after != nil && c.conv.Updated.Equal(after.Updated) && c.key.String() <= after.Key.String()
				if !passed && !yield(c) {
					return
				}
			}
			end = begin
		}
	}
}

// equals are the chats whose places end at end and that were updated at one
// moment, by their keys, and where they begin.
func (r *ranking) equals(end int) (equals []*chat, begin int) {
	for begin = end; begin > 0 && r.places[begin-1].updated == r.places[end-1].updated; begin-- {
		if c := r.places[begin-1].chat; c != nil {
			equals = append(equals, c)
		}
	}
	slices.SortFunc(equals, func(a, b *chat) int { return cmp.Compare(a.key.String(), b.key.String()) })
	return equals, begin
}

// oldest is newest from the other end.
func (r *ranking) oldest() iter.Seq[*chat] {
	return func(yield func(*chat) bool) {
		r.sort()
		for begin, end := 0, 0; begin < len(r.places); begin = end {
			for end = begin + 1; end < len(r.places) && r.places[end].updated == r.places[begin].updated; {
				end++
			}
			equals, _ := r.equals(end)
			for _, c := range slices.Backward(equals) {
				if !yield(c) {
					return
				}
			}
		}
	}
}
