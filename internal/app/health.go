package app

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"dragoman/agent"
	"dragoman/internal/httpapi"
)

// health remembers how the calls of the configured model have ended since the
// last one that went well. It is memory only: after a start the first call
// tells.
type health struct {
	mu      sync.Mutex
	trouble httpapi.Trouble
}

// called takes the end of one call. What was cancelled, and a request that is
// too long, say nothing about the server.
func (h *health) called(err error) {
	if h == nil {
		return
	}
	var failed *agent.ModelError
	if err != nil && (!errors.As(err, &failed) || failed.Kind == agent.ErrorContext) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.trouble = httpapi.Trouble{}
		return
	}
	h.trouble = httpapi.Trouble{At: time.Now(), Why: whyFailed(failed), InARow: h.trouble.InARow + 1}
}

// now is what status shows; nil: nothing is wrong.
func (h *health) now() *httpapi.Trouble {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trouble.InARow == 0 {
		return nil
	}
	t := h.trouble
	return &t
}

// whyFailed is the cause without the names of packages. A model's error holds
// no secret and no URL.
func whyFailed(e *agent.ModelError) string {
	why := strings.TrimPrefix(e.Err.Error(), "openai: complete: ")
	if e.Status != 0 {
		why = fmt.Sprintf("HTTP %d: %s", e.Status, why)
	}
	return why
}
