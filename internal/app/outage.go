package app

import (
	"context"
	"strings"
	"sync"
	"time"

	"dragoman/internal/api"
)

// outage is what the daemon knows of a service that it uses: why its last call failed, and
// since when none has worked. Nobody asks a service to find that out, and it is not stored:
// after a start nothing is known until the first call.
type outage struct {
	mu    sync.Mutex
	since time.Time // zero if the last call worked, or there was none
	why   string
}

// outages are those of the services of one daemon.
type outages struct {
	drawing, hearing, search, speaking outage
}

// note takes how a call ended. One that its caller has ended says nothing about the service.
func (o *outage) note(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.since = time.Time{}
		return
	case o.since.IsZero():
		o.since = time.Now()
	}
	o.why = err.Error()
}

// seen is f, or that it fails if the last call did: what is a sentence about that call.
func (o *outage) seen(f api.Feature, what string) api.Feature {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return f
	}
	why := o.why
	for _, room := range []string{"hearing: ", "speaking: "} {
		why = strings.TrimPrefix(why, room)
	}
	f.State = api.FeatureFailing
	f.Says = what + ": " + why
	f.Since = o.since
	return f
}
