//go:build amd64 || arm64

package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// testTime is how long a self-test may take.
const testTime = 20 * time.Second

// SelfTest tries to escape in twelve ways, to a canary in a folder that it makes below dir
// and removes. nil means that all of them failed; a [Closed] says why commands cannot run
// here.
func SelfTest(ctx context.Context, dir string) error {
	if _, err := namespaces(); err != nil {
		return err
	}
	return selfTest(ctx, dir, Exec, "[ $$ -eq 1 ] || echo processes", func(ctx context.Context, work string, out io.Writer) (int, error) {
		return inside(ctx, work, out, probeWord, "20", "")
	})
}

// SelfTest is [SelfTest] in the unit, below the workspace, which is all that the unit sees of
// the daemon's files. It shows the daemon itself, too: its environment and its signals.
func (u *Unit) SelfTest(ctx context.Context, workspace string) error {
	if os.Geteuid() == 0 {
		return Closed("Dragoman runs as root, and its helper cannot be kept from what root has left open: let it run as a user of its own")
	}
	mine := strings.ReplaceAll("kill -0 DAEMON 2>/dev/null && echo processes; cat /proc/DAEMON/environ >/dev/null 2>&1 && echo environ", "DAEMON", strconv.Itoa(os.Getpid()))
	return selfTest(ctx, workspace, u.Exec, mine, func(ctx context.Context, work string, out io.Writer) (int, error) {
		return u.run(ctx, out, request{Dir: work, Seconds: 20, Probe: true})
	})
}

// selfTest tries to escape from a ground: with commands, and with calls.
func selfTest(
	ctx context.Context, dir string, run func(context.Context, Command) (Result, error), also string,
	calls func(ctx context.Context, work string, out io.Writer) (int, error),
) error {
	home, err := os.MkdirTemp(dir, "sandbox-test-")
	if err != nil {
		return fmt.Errorf("sandbox: make a folder for the test: %w", err)
	}
	defer os.RemoveAll(home)
	work := filepath.Join(home, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return fmt.Errorf("sandbox: make a folder for the test: %w", err)
	}
	canary := filepath.Join(home, "canary")
	if err := os.WriteFile(canary, []byte("canary\n"), 0o600); err != nil {
		return fmt.Errorf("sandbox: write the canary: %w", err)
	}
	line := strings.NewReplacer("CANARY", quoted(canary), "ALSO", also).Replace(escapes)
	r, err := run(ctx, Command{Line: line, Dir: work, Timeout: testTime})
	if err != nil {
		return err
	}
	free := strings.Fields(r.Output)
	if len(free) == 0 || free[len(free)-1] != "done" {
		return Closed(fmt.Sprintf("the sandbox's test did not end (%.200q %s)", r.Output, r.Ended))
	}
	free = free[:len(free)-1]
	text, err := os.ReadFile(canary)
	info, statErr := os.Stat(canary)
	if err != nil || statErr != nil || string(text) != "canary\n" || info.Mode().Perm() != 0o600 {
		free = append(free, "canary")
	}
	escaped, err := escapedCalls(ctx, work, calls)
	if err != nil {
		return err
	}
	free = append(free, escaped...)
	if len(free) > 0 {
		return Closed("the sandbox does not hold here: " + strings.Join(free, ", "))
	}
	return nil
}

// quoted is a word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// escapes prints a word for each escape, and then "done". The last but one leaves a process:
// if that outlives the command, the command's output does not end, which is an error.
const escapes = `
cat CANARY >/dev/null 2>&1 && echo read
(echo x >CANARY) 2>/dev/null && echo write
chmod 666 CANARY 2>/dev/null && echo chmod
ln -s CANARY link; cat link >/dev/null 2>&1 && echo link
ln CANARY hard 2>/dev/null && echo hard-link
env | grep -qvE '^(PATH|HOME|TMPDIR|LANG|GIT_CONFIG_[A-Z0-9_]*|PWD|OLDPWD|SHLVL|_)=' && echo environment
ALSO
for n in 3 4 5 6 7 8 9; do (: >&$n) 2>/dev/null && echo descriptor; done
truncate -s 70000000 big 2>/dev/null && echo disk
sleep 100 &
echo done
`

// escapedCalls names the calls that the kernel answers inside.
func escapedCalls(ctx context.Context, work string, run func(ctx context.Context, work string, out io.Writer) (int, error)) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	out := &ends{most: mostOutput, full: cancel}
	code, err := run(ctx, work, out)
	if err == nil && code != 0 {
		err = Closed(fmt.Sprintf("the sandbox's test ended with code %d", code))
	}
	return strings.Fields(out.String()), err
}
