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

// health remembers how a model's calls have failed since the last success. It
// is not stored: after a start nothing is known until the first call.
type health struct {
	mu      sync.Mutex
	trouble httpapi.Trouble
	lasting bool // another try is useless
}

// record takes the result of one call. A cancelled call and a request that is
// too long say nothing about the server.
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

// lastingCauses are causes that a person must fix.
var lastingCauses = []agent.Cause{agent.CauseKey, agent.CauseModel, agent.CauseQuota, agent.CauseURL}

// failuresUntilDown is how many calls in a row must fail before the model
// counts as down. A single failure may pass by itself.
const failuresUntilDown = 3

// current returns the trouble for the status page, or nil, and whether the
// model is down, so that people get no answers.
func (h *health) current() (t *httpapi.Trouble, down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trouble.InARow == 0 {
		return nil, false
	}
	return new(h.trouble), h.trouble.InARow >= failuresUntilDown || h.lasting
}

// whyFailed returns the cause without our package names. A model's error holds
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
