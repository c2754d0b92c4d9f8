package live

import (
	"context"
	"encoding/json"
	"time"

	"dragoman/channels"
)

// The hubs of one channel on several nodes tell each other which rooms have viewers,
// that a feed has changed, and, where there are viewers, how far an answer is. A hub
// that learns that a feed has changed reads the feed, so a lost peerMessage delays
// what viewers see but loses nothing.

const (
	// broadcastEvery is the pause between two broadcasts of previews. Each broadcast
	// carries whole previews, so the pause grows by broadcastByte for every byte.
	broadcastEvery = 200 * time.Millisecond
	broadcastByte  = 10 * time.Microsecond
	// broadcastTimeout bounds one broadcast.
	broadcastTimeout = 2 * time.Second
	// peerViewerLife is how long we assume that another node still has viewers. It
	// announces them every lookEvery.
	peerViewerLife = 3 * lookEvery
	// broadcastBytes is roughly the most that one broadcast carries.
	broadcastBytes = 256 << 10
)

// peerMessage is what one hub tells the others about a room.
type peerMessage struct {
	Kind peerMessageKind `json:"kind"`
	Key  channels.Key    `json:"key"`
	// New, of peerWatch: the sender had no viewers of the room until now.
	New bool `json:"new,omitempty"`
	// ID, of peerFeedChanged, is the answer being delivered; "" for other changes.
	ID string `json:"id,omitempty"`
	// Preview is the whole preview, with the thoughts that are kept; ThoughtBytes is the
	// length of all thoughts so far. Of a preview that ends or is answered: only its Turn.
	Preview
	ThoughtBytes int `json:"thought,omitempty"`
}

// peerMessageKind says what a hub reports to the others. Nodes of different
// versions talk to each other, so the values must not change.
type peerMessageKind string

const (
	peerWatch        peerMessageKind = "watch"
	peerFeedChanged  peerMessageKind = "news"
	peerPreview      peerMessageKind = "sign"
	peerPreviewEnded peerMessageKind = "over" // without an answer
)

// ReceiveBroadcast handles messages from the hub of another node: see [Options.Broadcast].
func (h *Hub) ReceiveBroadcast(ctx context.Context, messages []byte) {
	var list []peerMessage
	if err := json.Unmarshal(messages, &list); err != nil {
		h.log.Warn("messages from another node cannot be read", "err", err)
		return
	}
	now := time.Now()
	for _, w := range list {
		if !h.isRoom(w.Key) {
			continue
		}
		r := h.acquire(w.Key)
		switch {
		case w.Kind == peerWatch:
			r.noteRemoteViewer(now)
			if w.New { // it has missed what we did not announce before
				h.broadcast(ctx, peerMessage{Kind: peerFeedChanged, Key: w.Key})
				h.wakeBroadcaster()
			}
		case !r.watched():
		case w.Kind == peerFeedChanged && w.ID != "":
			h.follow(ctx, r, &Item{ID: w.ID, Replaces: w.Turn})
		case w.Kind == peerFeedChanged:
			h.follow(ctx, r, nil)
		case w.Kind == peerPreviewEnded:
			r.retract(w.Turn)
		case w.Kind == peerPreview:
			r.showRemote(w, now)
		}
		h.release(r)
	}
}

func (r *room) noteRemoteViewer(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remoteViewerAt, r.unsent = now, true
}

// showRemote shows a preview that another node's hub reported. Such a preview has
// all thoughts that are kept, and viewers get only those that are new to them.
func (r *room) showRemote(w peerMessage, now time.Time) {
	if w.Turn == "" {
		r.showTyping(now)
		return
	}
	p := channels.Preview{Turn: w.Turn, Text: w.Text, Note: w.Note, Thoughts: w.Thoughts}
	r.mu.Lock()
	r.remote = true
	if r.preview != nil && r.preview.Turn == w.Turn {
		p.Thoughts = w.Thoughts[min(max(0, len(w.Thoughts)-(w.ThoughtBytes-r.thoughtBytes)), len(w.Thoughts)):]
	}
	r.mu.Unlock()
	r.show(p, now)
}

// noteLocal notes that the current preview or typing sign comes from this node.
func (r *room) noteLocal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remote, r.unsent = false, true
}

func (h *Hub) wakeBroadcaster() {
	select {
	case h.previewChanged <- struct{}{}:
	default: // it is awake already
	}
}

// broadcastPreviews tells other nodes how far answers are, until ctx ends: all rooms
// in one broadcast, with a pause after each.
func (h *Hub) broadcastPreviews(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.previewChanged:
		}
		list := h.unsentPreviews(time.Now())
		h.broadcast(ctx, list...)
		size := 0
		for _, w := range list {
			size += len(w.Text) + len(w.Thoughts)
		}
		channels.Sleep(ctx, broadcastEvery+time.Duration(size)*broadcastByte)
	}
}

func (h *Hub) unsentPreviews(now time.Time) (list []peerMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.rooms {
		if w, some := r.unsentPreview(now); some {
			list = append(list, w)
		}
	}
	return list
}

// unsentPreview returns the room's preview or typing sign if another node has viewers
// and has not been sent it.
func (r *room) unsentPreview(now time.Time) (w peerMessage, some bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.watchedRemotely(now) || !r.unsent || r.remote {
		return w, false
	}
	r.unsent = false
	w = peerMessage{Kind: peerPreview, Key: r.key}
	if r.preview == nil {
		return w, r.typing
	}
	w.Preview, w.ThoughtBytes = r.fullPreview(), r.thoughtBytes
	return w, true
}

// watchedRemotely reports whether another node has viewers. The caller holds r.mu.
func (r *room) watchedRemotely(now time.Time) bool {
	return !r.remoteViewerAt.IsZero() && now.Sub(r.remoteViewerAt) < peerViewerLife
}

// notifyPeers sends w to the other nodes if they have viewers of r.
func (h *Hub) notifyPeers(ctx context.Context, r *room, w peerMessage) {
	r.mu.Lock()
	watched := r.watchedRemotely(time.Now())
	r.mu.Unlock()
	if watched {
		w.Key = r.key
		h.broadcast(ctx, w)
	}
}

// announceViewers tells other nodes that the room has viewers here: at once if they
// do not know, and again before they forget.
func (h *Hub) announceViewers(ctx context.Context, r *room, now time.Time) {
	r.mu.Lock()
	since := now.Sub(r.announcedAt)
	if since >= lookEvery {
		r.announcedAt = now
	}
	r.mu.Unlock()
	if since >= lookEvery {
		h.broadcast(ctx, peerMessage{Kind: peerWatch, Key: r.key, New: since >= peerViewerLife})
	}
}

// broadcast tells the hubs of other nodes. If that fails, their viewers miss a
// preview, but no answer: those are in the store.
func (h *Hub) broadcast(ctx context.Context, messages ...peerMessage) {
	if h.opts.Broadcast == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), broadcastTimeout)
	defer cancel()
	for len(messages) > 0 {
		n, size := 0, 0
		for ; n < len(messages) && (n == 0 || size < broadcastBytes); n++ {
			size += len(messages[n].Text) + len(messages[n].Thoughts)
		}
		text, err := json.Marshal(messages[:n])
		if err == nil {
			err = h.opts.Broadcast(ctx, text)
		}
		if err != nil {
			h.log.Debug("broadcast to other nodes failed", "err", err)
		}
		messages = messages[n:]
	}
}
