package app

import (
	"io"
	"net/http"
	"time"

	"dragoman/channels"
	"dragoman/internal/respond"
)

// repeatCall is when a network may try a call again that could not be stored.
const repeatCall = time.Second

// serveCallbacks serves the paths that networks call.
func (d *Daemon) serveCallbacks() {
	for name, c := range d.gateway.Callbacks() {
		d.door.Called("POST "+channels.CallbackPath(name), c.Authentic, c.MaxBody, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				respond.Refuse(w, &respond.Refusal{Status: http.StatusBadRequest, Sentence: "The body is too long, or did not come whole."})
				return
			}
			if err := c.Store(r.Context(), body); err != nil {
				d.log.Warn("could not store what a network sent; it will send it again", "channel", name, "err", err)
				respond.Refuse(w, &respond.Refusal{Status: http.StatusServiceUnavailable, RetryAfter: repeatCall, Sentence: "This cannot be stored now."})
				return
			}
			w.WriteHeader(http.StatusOK)
		}))
	}
}
