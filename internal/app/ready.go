package app

import (
	"errors"
	"fmt"
	"runtime/debug"
)

func (d *Daemon) sayReady() {
	d.report()
	notify("READY=1")
	debug.FreeOSMemory() // the start has used 0.8 MB that an idle daemon does not need
}

// ready returns why people get no answers now, or nil.
func (d *Daemon) ready() error {
	err := d.gateway.Ready()
	if t, away := d.models.Trouble(); away {
		err = errors.Join(err, fmt.Errorf("the model does not answer: %s", t.Why))
	}
	return err
}
