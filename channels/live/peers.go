package live

import (
	"context"
	"encoding/json"
	"time"

	"dragoman/channels"
)

// The hubs of one channel on several nodes tell each other three things: which
// rooms are watched, that a feed has something new, and, to those who watch, how
// far an answer is. Whoever is told that a feed has something new reads it again,
// so a word that is lost costs a moment and no message.

const (
	// tellEvery is how often other nodes are told how far answers are, and tellByte how
	// much later for each byte of it: they are told all of an answer each time.
	tellEvery = 200 * time.Millisecond
	tellByte  = 10 * time.Microsecond
	// tellWithin bounds telling them.
	tellWithin = 2 * time.Second
	// watchLife is how long another node's viewers are believed in. They are told
	// of every lookEvery.
	watchLife = 3 * lookEvery
	// wordBytes is about how much is told at once.
	wordBytes = 256 << 10
)

// word is what one hub tells the others about a room.
type word struct {
	Kind wordKind     `json:"kind"`
	Key  channels.Key `json:"key"`
	// New, of watch: the room's viewers know nothing of it yet.
	New bool `json:"new,omitempty"`
	// ID, of news, is the answer that is being delivered; "" if it is something else.
	ID string `json:"id,omitempty"`
	// Turn is whose preview it is, or ends.
	Turn string `json:"turn,omitempty"`
	// Text and Note, of signs, are the whole preview, Thoughts those that are kept, and
	// Thought is how many bytes of them there ever were.
	Text     string `json:"text,omitempty"`
	Note     string `json:"note,omitempty"`
	Thoughts string `json:"thoughts,omitempty"`
	Thought  int    `json:"thought,omitempty"`
}

type wordKind string

const (
	watchWord wordKind = "watch"
	newsWord  wordKind = "news"
	signWord  wordKind = "sign"
	overWord  wordKind = "over" // a preview comes to nothing
)

// ReceiveBroadcast takes what the hub of another node told: see [Options.Broadcast].
func (h *Hub) ReceiveBroadcast(ctx context.Context, words []byte) {
	var list []word
	if err := json.Unmarshal(words, &list); err != nil {
		h.log.Warn("another node told something that is not understood", "err", err)
		return
	}
	now := time.Now()
	for _, w := range list {
		if _, err := h.key(w.Key.Chat()); err != nil || w.Key.Channel() != h.opts.Name {
			continue
		}
		r := h.enter(w.Key)
		switch {
		case w.Kind == watchWord:
			r.watchedElsewhere(now)
			if w.New { // what was committed before we heard of it was not told
				h.tell(ctx, word{Kind: newsWord, Key: w.Key})
				h.stir()
			}
		case !r.watched():
		case w.Kind == newsWord && w.ID != "":
			h.follow(ctx, r, &Item{ID: w.ID, Replaces: w.Turn})
		case w.Kind == newsWord:
			h.follow(ctx, r, nil)
		case w.Kind == overWord:
			r.retract(w.Turn)
		case w.Kind == signWord:
			r.hear(w, now)
		}
		h.leave(r)
	}
}

// watchedElsewhere notes that a viewer of the room is attached to another node.
func (r *room) watchedElsewhere(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elsewhere, r.stale = now, true
}

// hear shows a sign from another node.
func (r *room) hear(w word, now time.Time) {
	if w.Turn == "" {
		r.sign(now)
		return
	}
	p := channels.Preview{Turn: w.Turn, Text: w.Text, Note: w.Note, Thoughts: w.Thoughts}
	r.mu.Lock()
	r.remote = true
	if r.preview != nil && r.preview.Turn == w.Turn {
		p.Thoughts = w.Thoughts[min(max(0, len(w.Thoughts)-(w.Thought-r.thoughts)), len(w.Thoughts)):]
	}
	r.mu.Unlock()
	r.show(p, now)
}

// signed notes that this node has a sign of the answer in the room.
func (r *room) signed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remote, r.stale = false, true
}

// stir has other nodes told of a sign soon.
func (h *Hub) stir() {
	select {
	case h.stirred <- struct{}{}:
	default: // they are told soon
	}
}

// tellSigns tells other nodes how far answers are, until ctx ends: of all rooms
// together, and not too often.
func (h *Hub) tellSigns(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-h.stirred:
		}
		list := h.signs(time.Now())
		h.tell(ctx, list...)
		size := 0
		for _, w := range list {
			size += len(w.Text) + len(w.Thoughts)
		}
		pause.Reset(tellEvery + time.Duration(size)*tellByte)
	}
}

// signs are what other nodes do not know.
func (h *Hub) signs(now time.Time) (list []word) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.rooms {
		if w, some := r.untold(now); some {
			list = append(list, w)
		}
	}
	return list
}

// untold is how far the answer in the room is, if other nodes want to know and do not.
func (r *room) untold(now time.Time) (w word, some bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.awaited(now) || !r.stale || r.remote {
		return w, false
	}
	r.stale = false
	w = word{Kind: signWord, Key: r.key}
	if r.preview == nil {
		return w, r.typing
	}
	p := r.soFar()
	w.Turn, w.Text, w.Note, w.Thoughts, w.Thought = p.Turn, p.Text, p.Note, p.Thoughts, r.thoughts
	return w, true
}

// awaited reports whether anybody on another node looks. r.mu is held.
func (r *room) awaited(now time.Time) bool {
	return !r.elsewhere.IsZero() && now.Sub(r.elsewhere) < watchLife
}

// news tells those who watch on other nodes to read the feed.
func (h *Hub) news(ctx context.Context, r *room, w word) {
	r.mu.Lock()
	awaited := r.awaited(time.Now())
	r.mu.Unlock()
	if awaited {
		w.Key = r.key
		h.tell(ctx, w)
	}
}

// renew tells other nodes that somebody watches the room here: at once if they do
// not know, and again before they forget.
func (h *Hub) renew(ctx context.Context, r *room, now time.Time) {
	r.mu.Lock()
	since := now.Sub(r.renewed)
	if since >= lookEvery {
		r.renewed = now
	}
	r.mu.Unlock()
	if since >= lookEvery {
		h.tell(ctx, word{Kind: watchWord, Key: r.key, New: since >= watchLife})
	}
}

// tell tells the hubs of other nodes, if there can be any.
func (h *Hub) tell(ctx context.Context, words ...word) {
	if h.opts.Broadcast == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellWithin)
	defer cancel()
	for len(words) > 0 {
		n, size := 0, 0
		for ; n < len(words) && (n == 0 || size < wordBytes); n++ {
			size += len(words[n].Text) + len(words[n].Thoughts)
		}
		text, err := json.Marshal(words[:n])
		if err == nil {
			err = h.opts.Broadcast(ctx, text)
		}
		if err != nil {
			h.log.Debug("other nodes were not told", "err", err)
		}
		words = words[n:]
	}
}
