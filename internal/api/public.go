package api

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// PublicOptions configure Public. Check must be set.
type PublicOptions struct {
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

// Public serves the probes /healthz and /readyz to every caller. Strangers read
// only the status, because load balancers have no token.
func Public(o PublicOptions) http.Handler {
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
	opts PublicOptions

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
		h.write(w, r, http.StatusServiceUnavailable, report{Status: "failing", Reason: PlainReason(err)})
		return
	}
	h.write(w, r, http.StatusOK, report{Status: "ok"})
}

// write omits from the report what strangers need not know.
func (h *health) write(w http.ResponseWriter, r *http.Request, code int, rep report) {
	if h.opts.Knows != nil && !h.opts.Knows(r) {
		rep = report{Status: rep.Status}
	}
	writeJSON(w, code, rep)
}

func (h *health) readyz(w http.ResponseWriter, r *http.Request) {
	rep := report{Status: "ready"}
	if h.opts.Channels != nil {
		rep.Channels = h.opts.Channels()
	}
	if err := h.check(r.Context()); err != nil {
		rep.Status, rep.Reason = "not ready", PlainReason(err)
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

// reasons are the usual causes, and the words of the databases for them where
// no error value survives.
var reasons = []struct {
	is    error
	words string
	plain string
}{
	{syscall.ENOSPC, "disk is full", "The disk is full: messages are not accepted until there is space."},
	{syscall.EDQUOT, "quota exceeded", "The disk quota is used up: messages are not accepted until there is space."},
	{syscall.EROFS, "readonly", "The state directory is read-only: messages are not accepted."},
	{fs.ErrPermission, "permission denied", "The state directory cannot be written: its permissions are wrong."},
	{syscall.EIO, "disk i/o error", "The disk reports input/output errors."},
	{nil, "malformed", "The database is damaged. Dragoman did not touch it; restore a backup."},
	{nil, "not a database", "The database file is not a database. Dragoman did not touch it; restore a backup."},
	{context.DeadlineExceeded, "database is locked", "The store does not answer in time."},
}

// PlainReason says in one sentence why the store fails, as far as Dragoman knows.
func PlainReason(err error) string {
	if newer, ok := errors.AsType[*sessions.NewerError](err); ok {
		return newer.Sentence()
	}
	text := strings.ToLower(err.Error())
	for _, r := range reasons {
		if (r.is != nil && errors.Is(err, r.is)) || strings.Contains(text, r.words) {
			return r.plain
		}
	}
	return "The store cannot write; the daemon's log says why."
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		http.Error(w, `{"error":"this answer cannot be encoded"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(append(data, '\n'))
}
