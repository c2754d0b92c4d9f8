package llm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/agent"
	"dragoman/internal/gateway"
	"dragoman/internal/httpapi"
)

// health remembers how the calls of a model have ended since the
// last one that went well. It is memory only: after a start the first call
// tells.
type health struct {
	mu      sync.Mutex
	trouble httpapi.Trouble
	lasting bool // trying again is no use
}

// record takes the end of one call. What was cancelled, and a request that is
// too long, say nothing about the server.
func (h *health) record(err error) {
	var failed *agent.ModelError
	if err != nil && (!errors.As(err, &failed) || failed.Kind == agent.ErrorContext) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.trouble, h.lasting = httpapi.Trouble{}, false
		return
	}
	h.lasting = slices.Contains(lastingCauses, failed.Cause)
	h.trouble = httpapi.Trouble{At: time.Now(), Why: whyFailed(failed), InARow: h.trouble.InARow + 1}
}

// lastingCauses are those that a person has to mend.
var lastingCauses = []agent.Cause{agent.CauseKey, agent.CauseModel, agent.CauseQuota, agent.CauseURL}

// failuresUntilDown is after how many failed calls in a row the model counts as away.
// One alone may have been a moment's trouble, which is tried again.
const failuresUntilDown = 3

// current is what status shows, and whether it keeps people from getting answers;
// nil: nothing is wrong.
func (h *health) current() (t *httpapi.Trouble, away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trouble.InARow == 0 {
		return nil, false
	}
	copied := h.trouble
	return &copied, copied.InARow >= failuresUntilDown || h.lasting
}

// whyFailed is the cause without the names of packages. A model's error holds
// no secret and no URL.
func whyFailed(e *agent.ModelError) string {
	why := strings.TrimPrefix(e.Err.Error(), "wire: complete: ")
	if e.Status != 0 {
		why = fmt.Sprintf("HTTP %d: %s", e.Status, why)
	}
	if cure := gateway.Cure(e); cure != "" {
		why = strings.TrimRight(why, ".") + ". " + cure
	}
	return why
}
