package app

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/background"
	"dragoman/internal/config"
	"dragoman/internal/gateway"
	"dragoman/internal/sandbox"
	"dragoman/internal/storage"
)

var _ = feature(func(cfg *config.Config, d *Daemon) []api.Feature {
	f := api.Feature{Name: "exec", State: api.FeatureOff, Says: "the model cannot run commands: set exec.enabled"}
	switch {
	case !cfg.Exec.Enabled:
	case d != nil && d.commands != nil:
		f = execFeature(d.commands)
	case ofAnotherUser(cfg):
		f.State = api.FeatureOn
		f.Says = "the daemon tests the sandbox at its start, as its own user; dragoman status says how that went"
	default:
		f = execFeature(testSandbox(os.TempDir(), cfg.Workspace))
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

// execFeature is that of commands which are wanted.
func execFeature(commands tools.Running) api.Feature {
	if off := commands.Off(); off != "" {
		return api.Feature{Name: "exec", State: api.FeatureFailing, Says: "the model is not offered commands: " + off}
	}
	where := ""
	if r, is := commands.(runner); is {
		where = r.ground.Where()
	}
	return api.Feature{Name: "exec", State: api.FeatureOn, Says: "commands run " + where + ", and no attempt to escape succeeded; a person allows each"}
}

// runner lets the tool exec run commands in the sandbox, if that holds, and in the background.
type runner struct {
	off    string
	ground sandbox.Ground
	book   *background.Book
}

// runner tests the sandbox if the configuration wants commands, and otherwise is nil.
func (d *Daemon) runner() tools.Running {
	if !d.cfg.Exec.Enabled {
		return nil
	}
	r := testSandbox(d.cfg.StateDir, d.cfg.Workspace)
	r.book = d.ongoing
	if r.off != "" {
		d.log.Warn("exec.enabled is set, and commands cannot run here, so the model is not offered exec", "why", r.off)
	}
	return r
}

// testSandbox finds where commands can run: it tries to escape to folders below state and the
// workspace.
func testSandbox(state, workspace string) runner {
	ground, err := sandbox.FindGround(context.Background(), state, workspace, sandbox.ExecSocket) // it has time limits of its own
	if err != nil {
		return runner{off: err.Error()}
	}
	return runner{ground: ground}
}

// Off implements tools.Running.
func (r runner) Off() string { return r.off }

// newOngoing makes the book of what runs in the background. It exists without exec, too:
// what was interrupted is reported also where exec was switched off since.
func (d *Daemon) newOngoing() *background.Book {
	return background.New(d.store, commandChats{d}, background.Options{Node: storage.Node(d.cfg), Log: d.log})
}

// Run implements tools.Running.
func (r runner) Run(ctx context.Context, j tools.Job) (tools.Ran, error) {
	c := background.Command{
		Key: j.Call.Key, Person: j.Call.Person, Private: j.Call.Private, Origins: j.Call.Taint, Line: j.Line, Most: j.Most,
		Run: func(ctx context.Context, printed func([]byte)) (background.Result, error) {
			long := j.Most > j.Wait
			got, err := r.ground.Exec(ctx, sandbox.Command{Line: j.Line, Dir: j.Dir, Timeout: j.Most, Long: long, Printed: printed})
			return background.Result(got), err
		},
	}
	name, got, err := r.book.Start(ctx, c, j.Wait)
	return tools.Ran{Output: got.Output, Code: got.Code, Ended: got.Ended, Background: name}, err
}

// List implements tools.Running.
func (r runner) List(ctx context.Context, k channels.Key) ([]string, error) {
	return running{r.book}.Lines(ctx, k)
}

// Stop implements tools.Running.
func (r runner) Stop(ctx context.Context, k channels.Key, name string) ([]string, error) {
	return r.book.Stop(ctx, k, name)
}

// running is the [gateway.Commands] of a daemon.
type running struct{ *background.Book }

// Lines implements gateway.Commands.
func (r running) Lines(ctx context.Context, k channels.Key) (lines []string, err error) {
	list, err := r.List(ctx, k)
	for _, c := range list {
		line := fmt.Sprintf("%s, for %s: %s", c.Name, time.Since(c.Since).Round(time.Second), c.Line)
		if c.Last != "" {
			line += "\n  last it printed: " + c.Last
		}
		lines = append(lines, line)
	}
	return lines, err
}

// commandChats is the [background.Chats] of a daemon.
type commandChats struct{ d *Daemon }

// CommandEnded implements background.Chats.
func (c commandChats) CommandEnded(ctx context.Context, e background.Ended) error {
	return c.d.gateway.TakeEnded(ctx, gateway.CommandEnded(e))
}

// ShowCommand implements background.Chats.
func (c commandChats) ShowCommand(ctx context.Context, k channels.Key, id, shown, text string) string {
	return c.d.gateway.ShowRunning(ctx, k, id, shown, text)
}
