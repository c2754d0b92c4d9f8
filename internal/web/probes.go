package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/plain"
	"dragoman/internal/respond"
)

// ProbeOptions configure [Probes]. Check must be set.
type ProbeOptions struct {
	// Check proves that the store can write now (engine.Store.Check).
	Check func(context.Context) error
	// Ready returns why the daemon cannot serve yet, or no longer. nil: it always can.
	Ready func() error
	// Channels returns the status of each channel. nil: none.
	Channels func() map[string]channels.Status
	// Knows reports whether the caller may read more than the status word. nil:
	// every caller may.
	Knows func(*http.Request) bool
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

const (
	// checkEvery keeps a busy probe from making the disk busy.
	checkEvery = 5 * time.Second
	// checkWithin is when a store that does not answer counts as failing.
	checkWithin = 5 * time.Second
)

// Probes serves the probes /healthz and /readyz to every caller. Strangers read
// only the status, because load balancers have no token.
func Probes(o ProbeOptions) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &health{opts: o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", h.healthz)
	mux.HandleFunc("GET /readyz", h.readyz)
	return mux
}

// health keeps the last check of the store for checkEvery.
type health struct {
	opts ProbeOptions

	mu      sync.Mutex
	checked time.Time
	err     error
}

// report is the body of a probe.
type report struct {
	Status   string                     `json:"status"`
	Reason   string                     `json:"reason,omitempty"`
	Channels map[string]channels.Status `json:"channels,omitempty"`
}

func (h *health) healthz(w http.ResponseWriter, r *http.Request) {
	if err := h.check(r.Context()); err != nil {
		h.write(w, r, http.StatusServiceUnavailable, report{Status: "failing", Reason: plain.Reason(err)})
		return
	}
	h.write(w, r, http.StatusOK, report{Status: "ok"})
}

// write omits from the report what strangers need not know.
func (h *health) write(w http.ResponseWriter, r *http.Request, code int, rep report) {
	if h.opts.Knows != nil && !h.opts.Knows(r) {
		rep = report{Status: rep.Status}
	}
	respond.JSON(w, code, rep)
}

func (h *health) readyz(w http.ResponseWriter, r *http.Request) {
	rep := report{Status: "ready"}
	if h.opts.Channels != nil {
		rep.Channels = h.opts.Channels()
	}
	if err := h.check(r.Context()); err != nil {
		rep.Status, rep.Reason = "not ready", plain.Reason(err)
	} else if h.opts.Ready != nil {
		if err := h.opts.Ready(); err != nil {
			rep.Status, rep.Reason = "not ready", err.Error()
		}
	}
	code := http.StatusOK
	if rep.Reason != "" {
		code = http.StatusServiceUnavailable
	}
	h.write(w, r, code, rep)
}

// check asks the store, at most once in checkEvery; concurrent probes share the
// answer. The check has its own deadline, so that a probe that hangs up does
// not make the store look failing.
func (h *health) check(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.opts.Now(); h.checked.IsZero() || now.Sub(h.checked) >= checkEvery || now.Before(h.checked) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkWithin)
		defer cancel()
		h.err, h.checked = h.opts.Check(ctx), h.opts.Now()
	}
	return h.err
}
