package app

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"dragoman/internal/httpapi"
)

// reader is a store that is read while the daemon starts. Wait returns when
// that is done, with the reason if it could not be.
type reader interface {
	Wait(ctx context.Context) error
}

const (
	// extendEvery is how often the service manager is told that a start goes on,
	// and extendBy what it then grants, in microseconds.
	extendEvery = 10 * time.Second
	extendBy    = "EXTEND_TIMEOUT_USEC=60000000"
)

// sayReady tells people and the service manager that the daemon serves, as soon
// as its store is read: a start that fails must not look like one that went
// well. Everything else goes on meanwhile. It reports false if there is nothing
// to tell, because ctx ended or the store cannot be read; the gateway is told
// the reason too, and ends with it.
func (d *Daemon) sayReady(ctx context.Context) bool {
	if d.reading != nil && !d.waitRead(ctx) {
		return false
	}
	if ctx.Err() != nil {
		return false
	}
	d.begun.Store(true)
	d.report()
	notify("READY=1")
	debug.FreeOSMemory() // a start takes 0.8 MB more than an idle daemon needs
	return true
}

// waitRead waits until the store is read. The longest start is one that makes
// the index anew from all documents: it must not be killed for that.
func (d *Daemon) waitRead(ctx context.Context) bool {
	for {
		wait, cancel := context.WithTimeout(ctx, extendEvery)
		err := d.reading.Wait(wait)
		late := wait.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !late {
			return err == nil
		}
		notify(extendBy)
	}
}

// checkStore is for probes. A store that is still being read is neither failing
// nor ready, and nobody waits for it.
func (d *Daemon) checkStore(ctx context.Context) error {
	if !d.begun.Load() {
		return httpapi.ErrStarting
	}
	return d.store.Check(ctx)
}

// ready says why nobody gets an answer now, or nil.
func (d *Daemon) ready() error {
	err := d.gateway.Ready()
	if t, away := d.models.Trouble(); away {
		err = errors.Join(err, fmt.Errorf("the model does not answer: %s", t.Why))
	}
	return err
}
