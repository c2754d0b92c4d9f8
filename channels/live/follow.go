package live

import (
	"context"
	"errors"
	"math"
	"time"

	"dragoman/channels"
)

const (
	// feedPage is one reading of the feed's end. It is more than the default
	// bound of waiting messages, all of which it should show.
	feedPage = 64
	// maxMissed is how many items a viewer who comes back is sent at most;
	// with more it is told to load the history anew.
	maxMissed      = 256
	maxMissedBytes = 2 << 20
)

// follow publishes what is new at the end of the feed to the viewers of r, in
// order. sent, if not nil, is the answer that is being delivered: it is
// published even if the feed does not show it, and ends its preview. If another
// node delivers it, it has no more than its ID, and is published from the feed.
func (h *Hub) follow(ctx context.Context, r *room, sent *Item) {
	// Others watch too: that one caller has gone away must not keep the news from them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*feedWithin)
	defer cancel()
	select {
	case r.tail <- struct{}{}:
		defer func() { <-r.tail }()
	case <-ctx.Done():
		r.cut()
		return
	}
	var items []Item
	if r.watched() {
		var err error
		r.mu.Lock()
		last := r.last
		r.read = time.Now()
		r.mu.Unlock()
		if items, _, err = h.readEnd(ctx, r.key, last); err != nil {
			h.log.Warn("live room could not read its feed", "key", r.key.String(), "err", err)
			r.cut() // they read it when they return
		}
	}
	r.advance(items, sent, time.Now())
}

// advance publishes items (the feed's end), then the state that they show.
func (r *room) advance(items []Item, sent *Item, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := sent == nil || sent.From == ""
	for _, it := range items {
		if sent != nil && it.ID == sent.ID {
			it.Replaces = sent.Replaces
			if it.Seq <= r.last { // shown while it was still queued
				r.publish(frame("message", 0, it))
			}
			told = true
		}
		if it.Seq > r.last {
			r.last = it.Seq
			r.publish(frame("message", it.Seq, it))
		}
	}
	if !told {
		r.publish(frame("message", 0, sent))
	}
	had := len(r.waiting) > 0
	if len(items) > 0 {
		r.waiting = waitingIDs(items)
	}
	if sent != nil {
		r.typing = false
		if r.preview != nil && r.preview.Turn == sent.Replaces {
			r.over, r.preview, r.thought, r.thoughts = sent.Replaces, nil, channels.Thoughts{}, 0 // the message event has told it
		}
	}
	if had && len(r.waiting) == 0 {
		r.typing = false
		r.endPreview() // the turn was stopped, or failed
	}
	r.forgetOld(now)
	r.tell()
}

func waitingIDs(items []Item) []string {
	ids := []string{}
	for _, it := range items {
		if it.From == FromPerson && it.Waiting {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

// readEnd reads the end of the feed: at least one page, and further back to the
// item numbered after. whole is false if there was more than a viewer is sent.
func (h *Hub) readEnd(ctx context.Context, k channels.Key, after int64) (items []Item, whole bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, feedWithin)
	defer cancel()
	before, size := int64(0), 0
	for {
		page, err := h.feed(ctx, k, before, feedPage)
		if err != nil {
			return nil, false, err
		}
		items = append(page, items...)
		for _, it := range page {
			if it.Seq > after {
				size += len(it.Text)
			}
		}
		switch {
		case len(page) < feedPage || page[0].Seq <= after+1:
			return items, true, nil
		case len(items) >= maxMissed || size > maxMissedBytes:
			return items, false, nil
		}
		before = page[0].Seq
	}
}

// errFull says that no more viewers fit.
var errFull = errors.New("too many viewers")

// attach makes a viewer of r who has seen everything up to after (-1: who
// wants nothing of before). The first things in its queue are the greeting,
// what it missed, and the answer that is being written.
func (h *Hub) attach(ctx context.Context, r *room, after int64) (*viewer, error) {
	select {
	case r.tail <- struct{}{}:
		defer func() { <-r.tail }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	from := after
	if from < 0 {
		from = math.MaxInt64 - 1 // one page is enough to know the end
	}
	items, whole, err := h.readEnd(ctx, r.key, from)
	if err != nil {
		return nil, err
	}
	if !whole {
		after = -1 // it loads the history, so a part of it is no use
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.intake == nil:
		return nil, errNotRunning
	case h.viewers >= h.opts.MaxViewers:
		return nil, errFull
	}
	h.viewers++
	newest := int64(0)
	if len(items) > 0 {
		newest = items[len(items)-1].Seq
	}
	return r.admit(h.greeting(r, whole, newest), items, after), nil
}

// admit is the end of attach. The tail is held.
func (r *room) admit(hello []byte, items []Item, after int64) *viewer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetOld(time.Now())
	if len(r.viewers) == 0 { // nobody was told of anything
		r.last, r.waiting = 0, waitingIDs(items)
		if len(items) > 0 {
			r.last = items[len(items)-1].Seq
		}
	}
	first := [][]byte{hello}
	if after >= 0 {
		for _, it := range items {
			if it.Seq > after {
				first = append(first, frame("message", it.Seq, it))
			}
		}
	}
	if r.preview != nil {
		first = append(first, frame("preview", 0, r.soFar()))
	}
	r.state = r.current()
	v := newViewer(append(first, frame("state", 0, r.state))...)
	r.viewers[v] = struct{}{}
	return v
}

// detach is the end of a viewer.
func (h *Hub) detach(r *room, v *viewer) {
	r.mu.Lock()
	delete(r.viewers, v)
	if len(r.viewers) == 0 {
		r.renewed = time.Time{}
	}
	r.mu.Unlock()
	h.mu.Lock()
	h.viewers--
	h.mu.Unlock()
	h.leave(r)
}

// Hello is the first event of every stream.
type Hello struct {
	Room string `json:"room"`
	// Seq is the newest item's when the viewer attached.
	Seq int64 `json:"seq"`
	// Whole is false if so much was missed that the history must be loaded anew.
	Whole    bool      `json:"whole"`
	MaxText  int       `json:"max_text"`
	MaxFile  int64     `json:"max_file"` // 0: files cannot be sent
	Commands []Command `json:"commands"`
}

// Command is a command that can be completed.
type Command struct {
	Name string `json:"name"`
	Help string `json:"help"`
}

// greeting encodes the first event. h.mu is held.
func (h *Hub) greeting(r *room, whole bool, newest int64) []byte {
	cmds := make([]Command, 0, len(h.commands))
	for _, c := range h.commands {
		cmds = append(cmds, Command(c))
	}
	return frame("hello", 0, Hello{
		Room: r.key.Chat(), Seq: newest, Whole: whole, MaxText: h.opts.MaxText, MaxFile: h.maxFile(), Commands: cmds,
	})
}
