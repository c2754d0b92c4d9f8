package pgtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"dragoman/internal/testkit"
)

// patience is how long a server may take to start on a busy machine.
const patience = time.Minute

// process is a program that runs in a folder of its own.
type process struct {
	dir  string
	cmd  *exec.Cmd
	hold io.Closer // closed, it ends
}

// background runs a program as nobody, since these refuse to be root, and waits
// until it is ready. It ends when its standard input does, which is when this
// process closes it or dies: PostgreSQL by SIGQUIT, which others ignore here.
func (p *process) background(t testing.TB, args []string, ready func() bool) error {
	const script = `"$0" "$@" & server=$!; cat >/dev/null; kill -QUIT $server; kill -TERM $server; wait $server`
	p.cmd = p.command(t, "/bin/sh", append([]string{"-c", script}, args...)...)
	said, err := os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		return err
	}
	defer said.Close()
	p.cmd.Stderr = said
	if p.hold, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	if !testkit.Poll(patience, ready) {
		text, _ := os.ReadFile(said.Name())
		p.stop()
		return fmt.Errorf("pgtest: %s does not start: %s", args[0], text)
	}
	return nil
}

// end waits for the process. stop removes its folder, too.
func (p *process) end() {
	p.hold.Close()
	_ = p.cmd.Wait() // it was killed
}

func (p *process) stop() {
	p.end()
	os.RemoveAll(p.dir)
}

// nobody is Debian's user of that name, and its group.
const nobody = 65534

// own gives path to who runs the server.
func own(path string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(path, nobody, nobody)
}

// command is one that runs as nobody.
func (p *process) command(t testing.TB, program string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() == 0 {
		args = append([]string{"--reuid=nobody", "--regid=nogroup", "--clear-groups", program}, args...)
		program = testkit.Need(t, "setpriv")
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "TZ=UTC")
	return cmd
}
