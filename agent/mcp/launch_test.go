package mcp_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
	"dragoman/internal/testkit"
)

// bySocket starts programs as the unit for servers does: with one end of a socket as their
// standard input and output. When that is closed they are killed.
func bySocket(t *testing.T) mcp.Launch {
	return func(_ context.Context, p mcp.Program) (*mcp.Launched, error) {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		theirs := os.NewFile(uintptr(pair[0]), "theirs")
		defer theirs.Close()
		mine := os.NewFile(uintptr(pair[1]), "ours")
		defer mine.Close()
		ours, err := net.FileConn(mine)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(p.Command[0], p.Command[1:]...)
		cmd.Env = append([]string{"PATH=/usr/bin:/bin", "SERVER=" + p.Server}, p.Env...)
		cmd.Dir = t.TempDir()
		cmd.Stdin = theirs
		cmd.Stdout = theirs
		said, err := cmd.StderrPipe()
		if err != nil {
			return nil, err
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		s := killing{ours.(*net.UnixConn), cmd.Process.Pid}
		return &mcp.Launched{Streams: s, Errors: said}, nil
	}
}

// killing kills the program's group when it is closed.
type killing struct {
	*net.UnixConn
	group int
}

func (k killing) Close() error {
	_ = syscall.Kill(-k.group, syscall.SIGKILL) // it may have ended
	return k.UnixConn.Close()
}

// What a launched server writes comes to the same as what a child does, and it ends with the
// pool, whatever it does against that.
func TestLaunch(t *testing.T) {
	t.Parallel()
	s := scene(t, "banner")
	leak := mcp.Server{Name: "leak", Command: mcptest.Command("leak"), Env: map[string]string{"KEY": "ours"}}
	p := open(t, &notes{}, mcp.Options{Launch: bySocket(t)}, s, leak)
	if got, err := run(t, named(t, p, "scene__double"), `{"n":21}`); !strings.HasSuffix(got, `{"n":42}`) || err != nil {
		t.Errorf("double(21) = %q, %v", got, err)
	}
	if got, err := run(t, named(t, p, "scene__die"), `{}`); err == nil {
		t.Errorf("a crash is %q", got)
	}
	if got, err := run(t, named(t, p, "scene__double"), `{"n":1}`); err != nil {
		t.Errorf("after a crash: %q, %v", got, err)
	}
	r, err := p.Test(t.Context(), "leak")
	if err != nil || !slices.Contains(r.Errors, "KEY=ours") || !slices.Contains(r.Errors, "SERVER=leak") || slices.ContainsFunc(r.Errors, func(s string) bool { return strings.HasPrefix(s, "HOME=") }) {
		t.Errorf("it writes %q, %v", r.Errors, err)
	}
}

func TestLaunchHostile(t *testing.T) {
	t.Parallel()
	names := []string{"banner", "never", "missing", "crash", "stubborn", "deaf", "line", "drip", "notes"}
	if !testkit.Race {
		names = append(names, "stderr") // 50 MB
	}
	var some []misbehaving
	var servers []mcp.Server
	for _, m := range hostile {
		if slices.Contains(names, m.name) {
			some = append(some, m)
			servers = append(servers, mcp.Server{Name: m.server(), Command: mcptest.Command(m.name, m.args...)})
		}
	}
	servers = append(servers, mcp.Server{Name: "good", Command: mcptest.Command("good")})
	pool := open(t, &notes{}, mcp.Options{Launch: bySocket(t), Wait: 2 * time.Second, Start: 20 * time.Second, Call: shortCall(), LongCall: 2 * shortCall()}, servers...)
	together(t, pool, some)
}

// Nobody would notice that a file has changed which nobody here can read.
func TestLaunchOfFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if !testkit.AsUser(t, "/") {
		return
	}
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	s := mcp.Server{Name: "one", Command: []string{"/bin/sh", filepath.Join(closed, "index.js")}}
	p := open(t, &notes{}, mcp.Options{Launch: bySocket(t)}, s)
	p.Tools(t.Context())
	if why := p.Missing(t.Context()); len(why) != 1 || !strings.Contains(why[0].Why, "cannot look at index.js") {
		t.Errorf("missing are %q", why)
	}
}
