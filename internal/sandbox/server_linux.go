//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// serverGrace is how long a server may take to end after its input did.
const serverGrace = 5 * time.Second

// serveServer is the server of tools that is asked for at the socket on standard input: it
// has that as its own standard input and output.
func serveServer([]string) error {
	conn, peer, err := asked()
	if err != nil {
		return err
	}
	q, said, err := readServer(conn)
	if err != nil {
		return err
	}
	defer said.Close() // a pipe: nothing is lost
	conn.Close()       // standard input is another name of it
	err = becomeServer(q, int(peer.Uid), io.MultiWriter(os.Stderr, said))
	if err != nil {
		fmt.Fprintln(said, err)
	}
	return err
}

// readServer reads which server is asked for, and the file for its standard error.
func readServer(conn *net.UnixConn) (q request, said *os.File, err error) {
	head := make([]byte, 5)
	rights := make([]byte, unix.CmsgSpace(4))
	n, more, _, _, err := conn.ReadMsgUnix(head, rights)
	if err != nil {
		return q, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:more])
	if err != nil || len(messages) != 1 {
		return q, nil, errors.New("sandbox: a server is asked for without a place for its errors")
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return q, nil, err
	}
	said = os.NewFile(uintptr(files[0]), "standard error")
	q, err = readRequest(io.MultiReader(bytes.NewReader(head[:n]), conn))
	if err != nil {
		said.Close()
	}
	return q, said, err
}

// becomeServer runs the server until it ends, or its input has and it does not.
func becomeServer(q request, daemon int, said io.Writer) error {
	switch {
	case daemon == os.Geteuid():
		return errors.New("sandbox: a server has another user than the daemon")
	case len(q.Command) == 0 || !filepath.IsAbs(q.Command[0]):
		return errors.New("sandbox: a server's program is an absolute path")
	case q.Name == "" || strings.Trim(q.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return errors.New("sandbox: a server's name is one of a folder")
	}
	homes, err := filepath.EvalSymlinks(os.Getenv("STATE_DIRECTORY"))
	if err != nil || !filepath.IsAbs(homes) {
		return errors.New("sandbox: the unit has no folder for its servers")
	}
	home := filepath.Join(homes, q.Name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("sandbox: make a server's folder: %w", err)
	}
	child := exec.Command(q.Command[0], q.Command[1:]...)
	child.Dir = home
	child.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}, q.Env...)
	child.Stdin = os.Stdin
	child.Stdout = os.Stdin
	child.Stderr = said
	child.WaitDelay = time.Second // something that it left may hold its standard error
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := unix.SetNonblock(0, false); err != nil { // Go's network made it so, and programs wait
		return err
	}
	runtime.LockOSThread()
	if err := keepApart(homes, home); err != nil { // it binds this thread, whose rights the server gets
		return err
	}
	if err := child.Start(); err != nil {
		return fmt.Errorf("sandbox: start a server: %w", err)
	}
	go endWithInput(child.Process.Pid)
	_ = child.Wait()                                // what it said on its way is known
	_ = unix.Kill(-child.Process.Pid, unix.SIGKILL) // the unit ends what is in another group
	return nil
}

// endWithInput ends the group of a server when the daemon has closed the connection, or some
// time after it has closed the server's standard input.
func endWithInput(group int) {
	waitFor(unix.POLLRDHUP, -1)
	waitFor(0, serverGrace) // the system tells of a closed connection unasked
	_ = unix.Kill(-group, unix.SIGKILL)
}

// waitFor waits for what happens to standard input, for most at most; less than 0: for ever.
func waitFor(what int16, most time.Duration) {
	until := time.Now().Add(most)
	files := []unix.PollFd{{Fd: 0, Events: what}}
	for {
		left := -1
		if most >= 0 {
			left = int(max(0, time.Until(until)).Milliseconds())
		}
		_, err := unix.Poll(files, left)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
