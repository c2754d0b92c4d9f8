package app

import (
	"context"
	"errors"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notify sends a state to the service manager, if there is one.
func notify(state string) { _, _ = daemon.SdNotify(false, state) }

// watch feeds the service manager's watchdog as long as the store answers. An error
// of the store (a full disk) counts as an answer: a restart would not mend it, and
// /healthz reports it.
func (d *Daemon) watch(ctx context.Context) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil || limit == 0 {
		return
	}
	every := min(watchEvery, limit/3)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		if d.progress(every) {
			notify("WATCHDOG=1")
		}
		if ctx.Err() != nil {
			return // after feeding it once more, so that draining has a whole interval
		}
	}
}

// progress reports whether the store answers within limit. It does not use the
// daemon's context, because the watchdog also watches a draining daemon.
func (d *Daemon) progress(limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := d.store.Check(ctx)
	if err != nil {
		d.log.Error("the store cannot write", "err", err)
	}
	return !errors.Is(err, context.DeadlineExceeded)
}
