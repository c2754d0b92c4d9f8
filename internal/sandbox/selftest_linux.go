//go:build amd64 || arm64

package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	r, err := Exec(ctx, Command{Line: strings.ReplaceAll(escapes, "CANARY", quoted(canary)), Dir: work, Timeout: testTime})
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
	calls, err := escapedCalls(ctx, work)
	if err != nil {
		return err
	}
	free = append(free, calls...)
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
env | grep -qvE '^(PATH|HOME|TMPDIR|LANG|GIT_CONFIG_NOSYSTEM|PWD|OLDPWD|SHLVL|_)=' && echo environment
[ $$ -eq 1 ] || echo processes
for n in 3 4 5 6 7 8 9; do (: >&$n) 2>/dev/null && echo descriptor; done
truncate -s 70000000 big 2>/dev/null && echo disk
sleep 100 &
echo done
`

// escapedCalls names the calls that the kernel answers inside.
func escapedCalls(ctx context.Context, work string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	out := &ends{most: mostOutput, full: cancel}
	code, err := inside(ctx, work, out, probeWord, "20", "")
	if err == nil && code != 0 {
		err = Closed(fmt.Sprintf("the sandbox's test ended with code %d", code))
	}
	return strings.Fields(out.String()), err
}
