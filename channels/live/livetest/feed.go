package livetest

import (
	"context"
	"slices"
	"sync"

	"dragoman/channels"
	"dragoman/channels/live"
)

// Feed is the stored history of one room. The zero value is empty; it is safe for
// concurrent use.
type Feed struct {
	mu    sync.Mutex
	items []live.Item
}

// Read is a [live.Feed].
func (f *Feed) Read(_ context.Context, _ channels.Key, before int64, limit int) ([]live.Item, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return page(f.items, before, limit), nil
}

// page returns a page of items, as a feed does.
func page(items []live.Item, before int64, limit int) []live.Item {
	items = slices.Clone(items)
	if before > 0 {
		items = slices.DeleteFunc(items, func(it live.Item) bool { return it.Seq >= before })
	}
	return items[max(0, len(items)-limit):]
}

// Put appends it with the next number, unless its id is already there.
func (f *Feed) Put(it live.Item) (added bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.ContainsFunc(f.items, func(old live.Item) bool { return old.ID == it.ID }) {
		return false
	}
	it.Seq = int64(len(f.items)) + 1
	f.items = append(f.items, it)
	return true
}

// Answered marks all messages as answered.
func (f *Feed) Answered() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.items {
		f.items[i].Waiting = false
	}
}

// Items returns all items.
func (f *Feed) Items() []live.Item {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.items)
}

// Texts returns the texts of all items.
func (f *Feed) Texts() []string {
	var texts []string
	for _, it := range f.Items() {
		texts = append(texts, it.Text)
	}
	return texts
}
