package app

import (
	"context"
	"os"
	"syscall"
	"time"

	"dragoman/agent/tools"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/sandbox"
)

var _ = feature(func(cfg *config.Config, d *Daemon) []api.Feature {
	f := api.Feature{Name: "exec", State: api.FeatureOff, Says: "the model cannot run commands: set exec.enabled"}
	switch {
	case !cfg.Exec.Enabled:
	case d != nil && d.commands != nil:
		f = execFeature(d.commands.Off())
	case ofAnotherUser(cfg):
		f.State = api.FeatureOn
		f.Says = "the daemon tests the sandbox at its start, as its own user; dragoman status says how that went"
	default:
		f = execFeature(testSandbox(os.TempDir()).off)
	}
	return []api.Feature{f}
})

// ofAnotherUser reports whether cfg's daemon is another user's than this process, as for
// "sudo dragoman check": what the kernel allows this one says little then.
func ofAnotherUser(cfg *config.Config) bool {
	info, err := os.Stat(cfg.StateDir)
	if err != nil {
		return os.Geteuid() == 0
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) != os.Geteuid()
}

// execFeature is that of commands which are wanted. off is why none can run.
func execFeature(off string) api.Feature {
	if off != "" {
		return api.Feature{Name: "exec", State: api.FeatureFailing, Says: "the model is not offered commands: " + off}
	}
	return api.Feature{Name: "exec", State: api.FeatureOn, Says: "commands run in namespaces, and no attempt to escape succeeded; a person allows each"}
}

// runner lets the tool exec run commands in the sandbox, if that holds.
type runner struct{ off string }

// runner tests the sandbox if the configuration wants commands, and otherwise is nil.
func (d *Daemon) runner() tools.Running {
	if !d.cfg.Exec.Enabled {
		return nil
	}
	r := testSandbox(d.cfg.StateDir)
	if r.off != "" {
		d.log.Warn("exec.enabled is set, and commands cannot run here, so the model is not offered exec", "why", r.off)
	}
	return r
}

// testSandbox tries to escape to a folder below dir.
func testSandbox(dir string) runner {
	err := sandbox.SelfTest(context.Background(), dir) // it has a time limit of its own
	if err != nil {
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
