package app

import (
	"context"
	"time"

	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/gateway"
)

const (
	// warnEvery is how often rules are asked for warnings at most.
	warnEvery = 5 * time.Second
	// mostTold is how many warnings are remembered. Beyond it, they are told to the log
	// again; the chat never reads one twice.
	mostTold = 1000
)

// observer counts turns, and wakes the warnings after each.
type observer struct {
	gateway.Observer
	ended func()
}

// TurnEnded implements [gateway.Observer].
func (o observer) TurnEnded(outcome string, took time.Duration) {
	o.Observer.TurnEnded(outcome, took)
	o.ended()
}

// turnEnded wakes the warnings. It never blocks.
func (d *Daemon) turnEnded() {
	select {
	case d.warn <- struct{}{}:
	default: // they are asked for in any case
	}
}

// watchWarnings tells whoever runs Dragoman what the rules say to them, after turns and until
// ctx ends: in the log, and in alerts.to if there is one.
func (d *Daemon) watchWarnings(ctx context.Context) {
	told := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.warn:
		}
		if !d.tellWarnings(ctx, told) {
			d.turnEnded() // again, in a while
		}
		channels.Sleep(ctx, warnEvery)
	}
}

// tellWarnings tells those that were not told. It reports whether all could be.
func (d *Daemon) tellWarnings(ctx context.Context, told map[string]bool) bool {
	if len(told) > mostTold {
		clear(told)
	}
	good := true
	for _, rule := range d.currentRules() {
		able, is := rule.(admission.Warner)
		if !is {
			continue
		}
		list, err := able.Warnings(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			d.log.Warn("it is not known whether somebody should be warned; trying again", "err", err)
			good = false
		}
		for _, w := range list {
			if told[w.ID] {
				continue
			}
			err := d.tellWarning(ctx, w)
			if err != nil {
				d.log.Warn("whoever runs this could not be warned; trying again", "err", err)
				good = false
				continue
			}
			told[w.ID] = true
		}
	}
	return good
}

// tellWarning tells w once, however many nodes do, and after restarts too.
func (d *Daemon) tellWarning(ctx context.Context, w admission.Warning) error {
	to, err := channels.ParseKey(d.cfg.Alerts.To)
	if err == nil { // else alerts.to is empty
		err := d.gateway.Tell(ctx, to, w.ID, w.Say)
		if err != nil {
			return err
		}
	}
	d.log.Warn("a limit is nearly or wholly used up", "what", w.ID, "say", w.Say)
	return nil
}
