package app

import (
	"context"
	"time"

	"dragoman/agent/tools"
	"dragoman/internal/sandbox"
)

// runner lets the tool exec run commands in the sandbox, if that holds.
type runner struct{ off string }

// runner tests the sandbox if the configuration wants commands, and otherwise is nil.
func (d *Daemon) runner() tools.Running {
	if !d.cfg.Exec.Enabled {
		return nil
	}
	err := sandbox.SelfTest(context.Background(), d.cfg.StateDir) // it has a time limit of its own
	if err != nil {
		d.log.Warn("exec.enabled is set, and commands cannot run here, so the model is not offered exec", "why", err)
		return runner{off: err.Error()}
	}
	return runner{}
}

// Off implements tools.Running.
func (r runner) Off() string { return r.off }

// Run implements tools.Running.
func (runner) Run(ctx context.Context, dir, line string, timeout time.Duration) (tools.Ran, error) {
	r, err := sandbox.Exec(ctx, sandbox.Command{Line: line, Dir: dir, Timeout: timeout})
	return tools.Ran(r), err
}
