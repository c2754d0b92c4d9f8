package app

import (
	"errors"
	"fmt"
	"maps"
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

// called takes the end of one call. What was cancelled, and a request that is
// too long, say nothing about the server.
func (h *health) called(err error) {
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

// modelFails is after how many failed calls in a row the model counts as away.
// One alone may have been a moment's trouble, which is tried again.
const modelFails = 3

// away is the trouble that keeps people from getting answers, or nil.
func (h *health) away() *httpapi.Trouble {
	t := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if t == nil || t.InARow < modelFails && !h.lasting {
		return nil
	}
	return t
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

// othersHealth is how the models beside the configured one are. There are as
// many as [otherModels] makes, and one more.
type othersHealth struct {
	mu     sync.Mutex
	models map[string]*health
}

// of is the health of the model that status calls name.
func (o *othersHealth) of(name string) *health {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.models == nil {
		o.models = map[string]*health{}
	}
	if o.models[name] == nil {
		o.models[name] = &health{}
	}
	return o.models[name]
}

// troubleKept is how long a failure is told of a model that nobody asks again:
// the conversation that named it may have another one by now.
const troubleKept = 24 * time.Hour

// now lists what is wrong, by name.
func (o *othersHealth) now() (list []httpapi.OtherTrouble) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(o.models)) {
		if t := o.models[name].now(); t != nil && time.Since(t.At) < troubleKept {
			list = append(list, httpapi.OtherTrouble{Model: name, Trouble: *t})
		}
	}
	return list
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
