package live

import (
	"errors"
	"net/http"
	"time"

	"dragoman/channels"
	"dragoman/internal/respond"
)

const (
	// writeTimeout is how long one write to a viewer may take before we drop it.
	writeTimeout = 20 * time.Second
	// lookEvery is how often a stream looks for previews that are no longer renewed.
	lookEvery = 5 * time.Second
)

// events streams a room until the viewer leaves, is cut off, or Run ends.
//
// Each event has a JSON object: hello (once, first), message (an [Item]), preview (an
// answer so far: turn, text, note), delta (more text for it), end (a preview that
// ended without an answer), tool (a call of a tool has begun: turn, name), state (busy,
// waiting), beat (the connection lives).
// preview and delta may carry thoughts, which continue the earlier ones. A viewer
// resumes with ?after=SEQ or Last-Event-ID, the Seq of the newest message it has.
func (h *Hub) events(w http.ResponseWriter, r *http.Request, k channels.Key) error {
	after := int64(-1)
	for _, given := range []string{r.URL.Query().Get("after"), r.Header.Get("Last-Event-ID")} {
		if given == "" {
			continue
		}
		n, ok := number(given, 0)
		if !ok {
			return badRequest("after must be the number of a message, 0 or more.")
		}
		after = max(after, n)
	}
	h.mu.Lock()
	stopped := h.life.Done()
	h.mu.Unlock()
	room := h.acquire(k)
	v, err := h.attach(r.Context(), room, after)
	switch {
	case err == nil:
		defer h.detach(room, v)
		h.announceViewers(r.Context(), room, time.Now())
		h.stream(w, r, room, v, stopped)
		return nil
	case errors.Is(err, errNotRunning):
		err = notReady()
	case errors.Is(err, errFull):
		err = unavailable("Too many pages are open. Close one and try again.")
	default:
		err = h.noHistory(k, err)
	}
	h.release(room)
	return err
}

func (h *Hub) stream(w http.ResponseWriter, r *http.Request, room *room, v *viewer, stopped <-chan struct{}) {
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	respond.Private(head)
	head.Set("X-Accel-Buffering", "no") // a proxy in front must not hold events back
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server's time limit for requests must not end streams
	write := func(frames ...[]byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
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
		case <-stopped:
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

// refresh removes expired previews. Now and then it reads the feed again, for changes
// that another node failed to announce.
func (h *Hub) refresh(r *http.Request, room *room, now time.Time) {
	room.expire(now)
	room.mu.Lock()
	again := h.opts.Broadcast != nil && now.Sub(room.feedReadAt) > peerViewerLife
	room.mu.Unlock()
	h.announceViewers(r.Context(), room, now)
	if again {
		h.follow(r.Context(), room, nil)
	}
}
