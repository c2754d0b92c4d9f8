//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// serverGrace is how long a server may take to end after its daemon has gone.
const serverGrace = 5 * time.Second

// serveServer is the server of tools that is asked for at the socket on standard input: it
// has that as its own standard input and output.
func serveServer([]string) error {
	conn, peer, err := asked()
	if err != nil {
		return err
	}
	q, err := readRequest(conn)
	if err != nil {
		return err
	}
	conn.Close() // standard input is another name of it
	if int(peer.Uid) == os.Geteuid() || len(q.Command) == 0 || !filepath.IsAbs(q.Command[0]) {
		return errors.New("sandbox: a server is an absolute path, and has another user than the daemon")
	}
	child := exec.Command(q.Command[0], q.Command[1:]...)
	home, _ := os.LookupEnv("STATE_DIRECTORY")
	child.Dir = home
	child.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}, q.Env...)
	for variable, name := range q.Secrets {
		secret, err := os.ReadFile(filepath.Join(os.Getenv("CREDENTIALS_DIRECTORY"), filepath.Base(name)))
		if err != nil {
			return fmt.Errorf("sandbox: the credential %s of the unit cannot be read", filepath.Base(name))
		}
		child.Env = append(child.Env, variable+"="+string(secret))
	}
	if err := unix.SetNonblock(0, false); err != nil { // Go's network made it so, and programs wait
		return err
	}
	child.Stdin = os.Stdin
	child.Stdout = os.Stdin
	child.Stderr = os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		return fmt.Errorf("sandbox: start a server: %w", err)
	}
	go endWithDaemon(child.Process.Pid)
	_ = child.Wait() // what it said on its way is in the log; the unit ends what it left
	return nil
}

// endWithDaemon ends the group of a server some time after the other end of standard input has
// closed.
func endWithDaemon(group int) {
	files := []unix.PollFd{{Fd: 0, Events: unix.POLLRDHUP}}
	for files[0].Revents == 0 {
		_, err := unix.Poll(files, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	time.Sleep(serverGrace)
	_ = unix.Kill(-group, unix.SIGKILL)
}
