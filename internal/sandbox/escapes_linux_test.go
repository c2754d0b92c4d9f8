//go:build amd64 || arm64

package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/internal/sandbox"

	"golang.org/x/sys/unix"
)

// escapes print "free" if they work, or change the canary. CANARY is a file of the daemon
// beside the working folder, PID the daemon, SOCKET one that it listens on, OPEN a file that
// it left open for children.
var escapes = map[string]string{
	"read":        "cat CANARY && echo free",
	"write":       "echo more >> CANARY",
	"remove":      "rm CANARY",
	"chmod":       "chmod 666 CANARY",
	"utime":       "touch -d 2001-01-01 CANARY",
	"link":        "ln -s CANARY l; cat l && echo free",
	"hard link":   "ln CANARY h && echo free",
	"parent":      "cat ../canary && echo free",
	"environment": `[ -n "$DRAGOMAN_SECRET" ] && echo free`,
	"environ":     "cat /proc/PID/environ && echo free",
	"signal":      "kill -0 PID && echo free",
	"descriptor":  python("os.read(OPEN, 1)"),
	"host socket": python("socket.socket(socket.AF_UNIX).connect('SOCKET')"),
	"abstract":    python(`socket.socket(socket.AF_UNIX).connect('\0SOCKET')`),
	"tcp":         python("socket.socket()"),
	"udp":         python("socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"),
	"udp6":        python("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)"),
	"mptcp":       python("socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)"),
	"netlink":     python("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"),
	"vsock":       python("socket.socket(40, socket.SOCK_STREAM)"),
	"alg":         python("socket.socket(38, socket.SOCK_SEQPACKET)"),
	"io_uring":    call(unix.SYS_IO_URING_SETUP, "1, ctypes.create_string_buffer(120)"),
	"ptrace":      call(unix.SYS_PTRACE, "0, 0, 0, 0"),
	"keys":        call(unix.SYS_KEYCTL, "0, -3, 1"),
	"rights":      python("assert ctypes.CDLL(None).prctl(23, 21) == 1"), // PR_CAPBSET_READ, CAP_SYS_ADMIN
	"user space":  "unshare -U true && echo free",
	"all spaces":  "unshare -Urnpm --fork true && echo free",
	"setuid file": "cp /bin/true t && chmod 4755 t && echo free",
	"pipe file":   "mkfifo p && echo free",
	"memory":      python("bytearray(2 << 30)"),
	"disk":        "truncate -s 1G big && rm big && echo free",
	"forks":       "i=0; while [ $i -lt 300 ]; do sleep 3 & i=$((i+1)); done; echo free",
}

// python is a line for a shell that says "free" if the code raises nothing.
func python(code string) string {
	return `python3 -c "import os, socket, ctypes; ` + code + `; print('free')"`
}

// call is a system call in python.
func call(number int, args string) string {
	return python(fmt.Sprintf("assert ctypes.CDLL(None).syscall(%d, %s) >= 0", number, args))
}

// Each escape works without the sandbox, where this machine allows it at all, and in it
// none does.
func TestEscapes(t *testing.T) {
	if !asUser(t) {
		return
	}
	tryEscapes(t, workFolder(t), sandbox.Exec)
}

// tryEscapes tries all escapes from a ground.
func tryEscapes(t *testing.T, work string, run func(context.Context, sandbox.Command) (sandbox.Result, error)) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	home := filepath.Dir(work)
	t.Setenv("DRAGOMAN_SECRET", "x")
	canary := filepath.Join(home, "canary")
	socket := filepath.Join(home, "s")
	listen(t, socket)
	listen(t, "@"+socket)
	open := leftOpen(t)
	got, err := run(t.Context(), sandbox.Command{Line: python("os.getpid()"), Dir: work})
	if got.Output != "free\n" || err != nil {
		t.Fatalf("python does not run in the sandbox, so nothing is shown: %+v, %v", got, err)
	}
	fill := strings.NewReplacer("CANARY", canary, "PID", fmt.Sprint(os.Getpid()), "SOCKET", socket, "OPEN", fmt.Sprint(open))
	shown := 0
	for name, line := range escapes {
		line = fill.Replace(line)
		bare := exec.CommandContext(t.Context(), "sh", "-c", line)
		bare.Dir = work
		bare.WaitDelay = time.Millisecond
		reset(t, canary, work)
		out, _ := bare.CombinedOutput()
		if free(t, string(out), canary) {
			shown++
		} else {
			t.Logf("%s: not shown, for this machine refuses it without a sandbox: %.200s", name, out)
		}
		reset(t, canary, work)
		got, err := run(t.Context(), sandbox.Command{Line: line, Dir: work, Timeout: 20 * time.Second})
		if err != nil || free(t, got.Output, canary) {
			t.Errorf("%s escapes: %.300q, %v", name, got.Output, err)
		}
	}
	t.Logf("%d escapes work without the sandbox, none of %d in it", shown, len(escapes))
	if shown < 24 {
		t.Errorf("only %d of %d escapes work without the sandbox: the test shows too little", shown, len(escapes))
	}
}

// listen accepts connections at a socket until the test ends.
func listen(t *testing.T, name string) {
	t.Helper()
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

// leftOpen is a file that children inherit.
func leftOpen(t *testing.T) int {
	t.Helper()
	file, err := syscall.Open("/dev/zero", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(file) })
	return file
}

// past is when the canary was written.
var past = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// reset writes the canary anew and empties the working folder.
func reset(t *testing.T, canary, work string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(work, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, canary) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(canary, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(canary, past, past); err != nil {
		t.Fatal(err)
	}
}

// free tells whether an escape worked.
func free(t *testing.T, out, canary string) bool {
	t.Helper()
	info, err := os.Stat(canary)
	return strings.Contains(out, "free\n") || err != nil || info.Size() != 6 || info.Mode().Perm() != 0o600 || !info.ModTime().Equal(past)
}
