package app

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// sayReady tells people and the service manager that the daemon serves.
func (d *Daemon) sayReady() {
	d.report()
	notify("READY=1")
	debug.FreeOSMemory() // a start takes 0.8 MB more than an idle daemon needs
}

// ready says why nobody gets an answer now, or nil.
func (d *Daemon) ready() error {
	err := d.gateway.Ready()
	if t, away := d.models.Trouble(); away {
		err = errors.Join(err, fmt.Errorf("the model does not answer: %s", t.Why))
	}
	return err
}
