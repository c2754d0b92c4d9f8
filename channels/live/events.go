package live

import (
	"errors"
	"net/http"
	"time"

	"dragoman/channels"
)

const (
	// writeWithin is how long one write to a viewer may take before it counts
	// as gone.
	writeWithin = 20 * time.Second
	// lookEvery is how often a stream looks for signs that nobody renews.
	lookEvery = 5 * time.Second
)

// events streams a room until the viewer leaves, is cut off, or Run ends.
//
// The events, each with a JSON object: hello (first, once), message (an
// [Item]), preview (an answer so far: turn, text, note), delta (more text of
// it; both may have thoughts, which add to those before), end (a preview that comes to nothing), state (busy, waiting), beat (the
// connection lives). A viewer comes back with ?after=SEQ or Last-Event-ID, the
// Seq of the newest message it has.
func (h *Hub) events(w http.ResponseWriter, r *http.Request, k channels.Key) error {
	after := int64(-1)
	for _, given := range []string{r.URL.Query().Get("after"), r.Header.Get("Last-Event-ID")} {
		if given == "" {
			continue
		}
		n, ok := number(given, 0)
		if !ok {
			return &refusal{http.StatusBadRequest, "after must be the number of a message, 0 or more.", false}
		}
		after = max(after, n)
	}
	h.mu.Lock()
	gone := h.life.Done()
	h.mu.Unlock()
	room := h.enter(k)
	v, err := h.attach(r.Context(), room, after)
	switch {
	case err == nil:
		defer h.detach(room, v)
		h.renew(r.Context(), room, time.Now())
		h.stream(w, r, room, v, gone)
		return nil
	case errors.Is(err, errNotRunning):
		err = notReady()
	case errors.Is(err, errFull):
		err = &refusal{http.StatusServiceUnavailable, "Too many pages are open. Close one and try again.", true}
	default:
		h.log.Warn("viewer could not be attached", "key", k.String(), "err", err)
		err = &refusal{http.StatusServiceUnavailable, "The history cannot be read just now. Try again.", true}
	}
	h.leave(room)
	return err
}

// stream writes v's queue to the viewer.
func (h *Hub) stream(w http.ResponseWriter, r *http.Request, room *room, v *viewer, gone <-chan struct{}) {
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Accel-Buffering", "no") // a proxy in front must not hold events back
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server's limit for requests is none for streams
	write := func(frames ...[]byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeWithin))
		for _, f := range frames {
			if _, err := w.Write(f); err != nil {
				return false
			}
		}
		return control.Flush() == nil
	}

	look := time.NewTicker(min(lookEvery, h.opts.Beat))
	defer look.Stop()
	beat := time.Now()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-gone:
			frames, _ := v.take()
			write(frames...)
			return
		case <-v.wake:
			frames, cut := v.take()
			if !write(frames...) || cut {
				return
			}
		case now := <-look.C:
			h.refresh(r, room, now)
			if now.Sub(beat) >= h.opts.Beat {
				beat = now
				if !write(frame("beat", 0, struct{}{})) {
					return
				}
			}
		}
	}
}

// refresh takes down what nobody renews, and reads the feed again where
// something waits: an answer may have come to nothing without any Send.
func (h *Hub) refresh(r *http.Request, room *room, now time.Time) {
	room.expire(now)
	room.mu.Lock()
	// What another node did not tell is found, too.
	again := len(room.waiting) > 0 || h.opts.Broadcast != nil && now.Sub(room.read) > watchLife
	room.mu.Unlock()
	h.renew(r.Context(), room, now)
	if again {
		h.follow(r.Context(), room, nil)
	}
}
