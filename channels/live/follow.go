package live

import (
	"context"
	"errors"
	"math"
	"time"

	"dragoman/channels"
)

const (
	// feedPage is how many items we read from the feed at once. It exceeds the
	// default limit of waiting messages, all of which one page should show.
	feedPage = 64
	// maxMissed bounds the items that a returning viewer is sent. If it missed more,
	// it is told to load the history again.
	maxMissed      = 256
	maxMissedBytes = 2 << 20
)

// follow publishes new items at the end of the feed to the viewers of r, in order.
// sent, if not nil, is the answer being delivered: it ends its preview and is
// published even if the feed does not show it. If another node delivers the answer,
// sent has only its ID, and the item comes from the feed.
func (h *Hub) follow(ctx context.Context, r *room, sent *Item) {
	// Other viewers watch too, so the caller's going away must not stop this.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*feedTimeout)
	defer cancel()
	select {
	case r.feedLock <- struct{}{}:
		defer func() { <-r.feedLock }()
	case <-ctx.Done():
		r.cut()
		return
	}
	var items []Item
	if r.watched() {
		var err error
		r.mu.Lock()
		last := r.lastSeq
		r.feedReadAt = time.Now()
		r.mu.Unlock()
		if items, _, err = h.readEnd(ctx, r.key, last); err != nil {
			h.log.Warn("live room could not read its feed", "key", r.key.String(), "err", err)
			r.cut() // viewers read the feed when they return
		}
	}
	r.publishNew(items, sent, time.Now())
}

// Changed says that a row of k has come or changed: viewers of its room see what is new.
// It may be called at any time, for any key, and from several goroutines.
func (h *Hub) Changed(ctx context.Context, k channels.Key) {
	if k.Channel() != h.opts.Name {
		return
	}
	h.mu.Lock()
	r := h.rooms[k]
	if r != nil {
		r.users++
	}
	h.mu.Unlock()
	if r == nil {
		return // nobody watches
	}
	defer h.release(r)
	h.follow(ctx, r, nil)
}

// ToolBegun says that the turn of k has begun to run the tool called name: the viewers of
// its room are told. Like Changed, it may be called at any time. It does not block.
func (h *Hub) ToolBegun(k channels.Key, turn, name string) {
	h.mu.Lock()
	r := h.rooms[k]
	h.mu.Unlock()
	if r == nil {
		return // nobody watches
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.publish(frame("tool", 0, Tool{Turn: turn, Name: clean(name)}))
}

// publishNew publishes items (the feed's end) and the state that follows from them.
func (r *room) publishNew(items []Item, sent *Item, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	published := sent == nil || sent.From == ""
	for _, it := range items {
		if sent != nil && it.ID == sent.ID {
			it.Replaces = sent.Replaces
			if it.Seq <= r.lastSeq { // published while it was still queued
				r.publish(frame("message", 0, it))
			}
			published = true
		}
		if it.Seq > r.lastSeq {
			r.lastSeq = it.Seq
			r.publish(frame("message", it.Seq, it))
		}
	}
	if !published {
		r.publish(frame("message", 0, sent))
	}
	had := len(r.waiting) > 0
	if len(items) > 0 {
		r.waiting = waitingIDs(items)
	}
	if sent != nil {
		r.typing = false
		if r.preview != nil && r.preview.Turn == sent.Replaces {
			r.clearPreview() // the message event ends it for viewers
		}
	}
	if had && len(r.waiting) == 0 {
		r.typing = false
		r.endPreview() // the turn was stopped, or failed
	}
	r.forgetOld(now)
	r.publishState()
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

// readEnd reads the end of the feed: at least one page, and back to the item numbered
// after. whole is false if that is more than a viewer is sent.
func (h *Hub) readEnd(ctx context.Context, k channels.Key, after int64) (items []Item, whole bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, feedTimeout)
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

var errFull = errors.New("too many viewers")

// attach adds a viewer that has seen everything up to after; -1: it wants new items
// only. Its queue begins with the hello event, the items it missed, and the preview
// of the answer being written.
func (h *Hub) attach(ctx context.Context, r *room, after int64) (*viewer, error) {
	select {
	case r.feedLock <- struct{}{}:
		defer func() { <-r.feedLock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	from := after
	if from < 0 {
		from = math.MaxInt64 - 1 // one page is enough to find the end
	}
	items, whole, err := h.readEnd(ctx, r.key, from)
	if err != nil {
		return nil, err
	}
	if !whole {
		after = -1 // it loads the whole history instead
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

// admit is the last part of attach. The caller holds feedLock.
func (r *room) admit(hello []byte, items []Item, after int64) *viewer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetOld(time.Now())
	if len(r.viewers) == 0 { // nothing was published while no one watched
		r.lastSeq, r.waiting = 0, waitingIDs(items)
		if len(items) > 0 {
			r.lastSeq = items[len(items)-1].Seq
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
		first = append(first, frame("preview", 0, r.fullPreview()))
	}
	r.state = r.current()
	v := newViewer(append(first, frame("state", 0, r.state))...)
	r.viewers[v] = struct{}{}
	return v
}

func (h *Hub) detach(r *room, v *viewer) {
	r.mu.Lock()
	delete(r.viewers, v)
	if len(r.viewers) == 0 {
		r.announcedAt = time.Time{}
	}
	r.mu.Unlock()
	h.mu.Lock()
	h.viewers--
	h.mu.Unlock()
	h.release(r)
}

// Hello is the first event of every stream.
type Hello struct {
	Room string `json:"room"`
	// Seq is that of the newest item when the viewer attached.
	Seq int64 `json:"seq"`
	// Whole is false if the viewer missed so much that it must load the history again.
	Whole    bool               `json:"whole"`
	MaxText  int                `json:"max_text"`
	MaxFile  int64              `json:"max_file"` // 0: files cannot be sent
	Commands []channels.Command `json:"commands"` // for completion
}

// greeting encodes the hello event. The caller holds h.mu.
func (h *Hub) greeting(r *room, whole bool, newest int64) []byte {
	return frame("hello", 0, Hello{
		Room: roomName(r.key), Seq: newest, Whole: whole, MaxText: h.opts.MaxText, MaxFile: h.maxFile(), Commands: h.offered(r.key),
	})
}
