//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Unbounded, as a further argument of the helper, lets a test run it without a unit.
const Unbounded = "unbounded"

// serveCommand runs the one command that is asked for at the socket on standard input, and
// ends with all that the command began.
func serveCommand(args []string) error {
	conn, peer, err := asked()
	if err != nil {
		return err
	}
	defer conn.Close()
	q, err := readRequest(conn)
	if err != nil {
		return err
	}
	err = mayServe(q, peer, len(args) > 0 && args[0] == Unbounded)
	if err != nil {
		return writeFrame(conn, frameClosed, []byte(err.Error()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // the daemon says nothing more: when it goes, so does the command
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	}()
	code, err := bound(ctx, framer{conn}, q)
	if ctx.Err() != nil {
		return nil // nobody listens any more
	}
	if said, is := errors.AsType[Closed](err); is {
		return writeFrame(conn, frameClosed, []byte(said))
	}
	if err != nil {
		return err
	}
	return writeFrame(conn, frameCode, []byte(strconv.Itoa(code)))
}

// asked is the connection on standard input, and who is at its other end.
func asked() (*net.UnixConn, *unix.Ucred, error) {
	c, err := net.FileConn(os.Stdin)
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: this is for the service manager, which connects a socket: %w", err)
	}
	conn, is := c.(*net.UnixConn)
	if !is {
		return nil, nil, errors.New("sandbox: standard input is another kind of socket")
	}
	peer, err := peerOf(conn)
	return conn, peer, err
}

// mayServe says why a command must not run here. Whoever asks owns the folder.
func mayServe(q request, peer *unix.Ucred, unbounded bool) error {
	if _, err := landlockOnly(); err != nil {
		return err
	}
	if os.Geteuid() == 0 || os.Getuid() == 0 {
		return Closed("the helper runs as root")
	}
	if int(peer.Uid) == os.Geteuid() && !unbounded {
		return Closed("the helper has the daemon's user, and needs one of its own")
	}
	info, err := os.Lstat(q.Dir)
	if err != nil || !info.IsDir() || !owned(info, int(peer.Uid)) {
		return Closed("the helper's unit does not see the chat's folder: BindPaths in dragoman-exec@.service must have the workspace")
	}
	if missing := unlimited(); missing != "" && !unbounded {
		return Closed("the helper's unit has no limit of " + missing + ": this system has no controllers of control groups for it")
	}
	return nil
}

// unlimited names what the control group of this process does not bound.
func unlimited() string {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "memory"
	}
	limits := []struct{ what, controller, file, older string }{
		{"memory", "memory", "memory.max", "memory.limit_in_bytes"}, {"processes", "pids", "pids.max", "pids.max"},
	}
	for _, l := range limits {
		if !limited(string(groups), l.controller, l.file, l.older) {
			return l.what
		}
	}
	return ""
}

// limited reports whether the group has a limit, in the one tree of groups or in that of an
// older system.
func limited(groups, controller, file, older string) bool {
	const none = 1 << 62 // the older system's word for it is a bit more
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		path := ""
		switch parts[1] {
		case "":
			path = filepath.Join("/sys/fs/cgroup", parts[2], file)
		case controller:
			path = filepath.Join("/sys/fs/cgroup", controller, parts[2], older)
		}
		text, err := os.ReadFile(path)
		n, notNumber := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && notNumber == nil && n < none {
			return true
		}
	}
	return false
}

// ownersOfGit lets git use a folder of the daemon's user.
var ownersOfGit = []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}

// bound runs a command by a child that binds itself, until it ends or ctx does, and then ends
// all that is left of it.
func bound(ctx context.Context, out io.Writer, q request) (int, error) {
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // whoever loses its parent is ours
	if err != nil {
		return 0, err
	}
	told, tells, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	tmp := cmp.Or(os.Getenv("TMPDIR"), "/tmp")
	line := q.Line
	if q.Probe {
		line = ""
	}
	child := exec.CommandContext(ctx, "/proc/self/exe")
	child.Args = []string{"dragoman", boundWord, strconv.Itoa(q.Seconds), line}
	child.Env = slices.Concat(environment, []string{"HOME=" + tmp, "TMPDIR=" + tmp}, ownersOfGit)
	child.Dir = q.Dir
	child.Stdout = out
	child.Stderr = out // the same writer: os/exec gives both one pipe
	child.ExtraFiles = []*os.File{tells}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	child.WaitDelay = time.Second
	err = child.Start()
	tells.Close()
	if err != nil {
		return 0, Closed(fmt.Sprintf("the helper could not start (%v)", err))
	}
	said, _ := io.ReadAll(io.LimitReader(told, mostSaid))
	ended := make(chan struct{})
	go func() { // what holds its output must not outlive it
		defer close(ended)
		endAfter(child.Process.Pid)
	}()
	err = child.Wait()
	<-ended
	_ = openAll(q.Dir, os.Geteuid())
	switch {
	case len(said) > 0:
		return 0, Closed(said)
	case child.ProcessState == nil:
		return 0, err
	}
	return child.ProcessState.ExitCode(), nil
}

// endAfter waits until the process pid has ended and then ends all others below this one.
func endAfter(pid int) {
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	for range 1000 { // each round ends at least one generation
		left := 0
		for _, one := range children() {
			if one == pid {
				continue // os/exec waits for it
			}
			left++
			_ = unix.Kill(one, unix.SIGKILL)
			_, _ = unix.Wait4(one, nil, 0, nil)
		}
		if left == 0 {
			return
		}
	}
}

// children are the processes whose parent this one is.
func children() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range files {
		text, err := os.ReadFile(path)
		_, rest, found := strings.Cut(string(text), ") ") // a name may have anything but that, or ends there
		fields := strings.Fields(rest)
		if err != nil || !found || len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
