package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"dragoman/internal/stream"
)

func (w *worker) call(ctx context.Context, e stream.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic of type %T", p)
		}
	}()
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the event: %w", err)
	}
	return w.run(ctx, body)
}

// killDelay is how long a killed program may keep its pipe open.
const killDelay = time.Second

// run runs the program. Its output is discarded: a program that needs a log must write
// one itself.
func (w *worker) run(ctx context.Context, body []byte) error {
	cmd := exec.CommandContext(ctx, w.Command[0], w.Command[1:]...)
	cmd.Stdin = bytes.NewReader(append(body, '\n'))
	cmd.Env = environment()
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Kill the whole group: otherwise children of the program would outlive it.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killDelay
	err := cmd.Run()
	if errors.Is(err, syscall.EPIPE) {
		return nil // it succeeded without reading the event
	}
	return err
}

// environment returns the few variables that a program needs. The daemon's environment
// often has keys and tokens.
func environment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
