package api

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The lists of the queue, of due times, pairings and facts are read as a whole, because
// the store sorts them anew each time, and are sent in pages. A cursor is the place of a
// page's last item, so that items which come or go between two pages neither repeat nor
// hide others.

// place is where an item is in a list: at a time, or at the time of nothing, and beside
// others of that time by its id.
type place struct {
	At time.Time `json:"at,omitzero"`
	ID string    `json:"id"`
}

// oldestFirst and newestFirst are orders of places. Numbers in ids count as numbers.
func oldestFirst(a, b place) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(len(a.ID), len(b.ID)), strings.Compare(a.ID, b.ID))
}

func newestFirst(a, b place) int {
	return cmp.Or(b.At.Compare(a.At), strings.Compare(a.ID, b.ID))
}

// pageAfter is the page of items that follows a cursor, "" for the first one. limit is 1
// to 200; 0: 100, because the request named none.
func pageAfter[T any](items []T, at func(T) place, order func(a, b place) int, after string, limit int) (Page[T], error) {
	slices.SortStableFunc(items, func(a, b T) int { return order(at(a), at(b)) })
	if after != "" {
		last, err := parsePlace(after)
		if err != nil {
			return Page[T]{}, refuse("after", "after is the next of the page before")
		}
		items = slices.DeleteFunc(items, func(one T) bool { return order(at(one), last) <= 0 })
	}
	most := page(limit)
	if len(items) <= most {
		return pageOf(items, nil)
	}
	full, _ := pageOf(items[:most], nil)
	full.Next = at(items[most-1]).String()
	return full, nil
}

// String encodes p as one word that needs no quotes in a shell or an address.
func (p place) String() string { return base64.RawURLEncoding.EncodeToString(encode(p)) }

// parsePlace is the inverse of String.
func parsePlace(text string) (p place, err error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	return p, err
}
