//go:build amd64 || arm64

package sandbox_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/internal/sandbox"
	"dragoman/internal/testkit"

	"golang.org/x/sys/unix"
)

// asUser is [testkit.AsUser].
func asUser(t *testing.T, env ...string) bool {
	t.Helper()
	return testkit.AsUser(t, "/", env...)
}

// workFolder is a folder for commands. The test is skipped where they cannot run.
func workFolder(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	err := sandbox.SelfTest(t.Context(), home)
	if err != nil && !strings.Contains(err.Error(), "does not hold") && !strings.Contains(err.Error(), "could not") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(home, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	return work
}

func TestRootIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it needs root")
	}
	closed, ok := errors.AsType[sandbox.Closed](sandbox.SelfTest(t.Context(), t.TempDir()))
	if !ok || !strings.Contains(string(closed), "root") {
		t.Errorf("as root: %q", closed)
	}
}

func TestCommands(t *testing.T) {
	if !asUser(t) {
		return
	}
	work := workFolder(t)
	for _, test := range []struct {
		name, line, want string
		code             int
	}{
		{"words", "echo out; echo err >&2", "out\nerr\n", 0},
		{"code", "exit 7", "", 7},
		{"no such program", "nothing-like-this 2>/dev/null", "", 127},
		{"where", "pwd; hostname; ls -A", "/work\nsandbox\n", 0},
		{"a file", "echo kept > file; cat file; mv file /work/kept", "kept\n", 0},
		{"a temporary file", "echo x > $TMPDIR/x && cat /tmp/x && cat /dev/null", "x\n", 0},
		{"a pipe", "seq 3 | sort -r | tr -d '\\n'", "321", 0},
		{"a timeout", "timeout 0.2 sleep 20; echo $?", "124\n", 0},
		{"a script", "printf '#!/bin/sh\\necho ran' > s; chmod 755 s; ./s; rm s", "ran\n", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := sandbox.Exec(t.Context(), sandbox.Command{Line: test.line, Dir: work})
			if want := (sandbox.Result{Output: test.want, Code: test.code}); got != want || err != nil {
				t.Errorf("%q gives %+v, %v; want %+v", test.line, got, err, want)
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(work, "kept")); string(text) != "kept\n" || err != nil {
		t.Errorf("the file of the working folder is %q, %v", text, err)
	}
}

func TestCommandsHaveLimits(t *testing.T) {
	if !asUser(t) {
		return
	}
	work := workFolder(t)
	for _, test := range []struct {
		name, line, ended, says string
		limit                   time.Duration
	}{
		{"time", "sleep 60", "it took too long", "", time.Second},
		{"deaf", "trap '' TERM INT; while :; do sleep 1; done", "it took too long", "", time.Second},
		{"output", "yes", "it printed more than 64 MiB", "bytes left out]", 0},
		{"both ends", "echo first; head -c 300000 /dev/zero | tr '\\0' x; echo last", "", "bytes left out]", 0},
		{"a file", "head -c 70000000 /dev/zero > big 2>/dev/null || stat -c %s big; rm big", "", "67108864", 0},
		{"a tmp", "head -c 70000000 /dev/zero > /tmp/big 2>&1 || echo full", "", "full", 0},
		{"processes", "i=0; while [ $i -lt 400 ]; do sleep 50 & i=$((i+1)); done 2>&1", "", "ork", 0},
		{"memory", "dd if=/dev/zero of=/dev/null bs=1500M count=1 2>&1", "", "exhausted", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			began := time.Now()
			got, err := sandbox.Exec(t.Context(), sandbox.Command{Line: test.line, Dir: work, Timeout: test.limit})
			if err != nil || got.Ended != test.ended || !strings.Contains(got.Output, test.says) || len(got.Output) > sandbox.MostShown+100 {
				t.Errorf("%q ended %q with code %d and %d bytes: %.300q, %v", test.line, got.Ended, got.Code, len(got.Output), got.Output, err)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// besideThreads, at the end of a line, has the helper do what Go's runtime does on a busy
// machine: see [needAddresses].
const besideThreads = "# beside other threads"

var _ = disturbed()

// disturbed starts [needAddresses] in a helper that is asked for it.
func disturbed() bool {
	asked := slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasSuffix(arg, besideThreads) })
	if asked {
		go needAddresses()
	}
	return asked
}

// needAddresses stands in for a thread of Go's runtime, which needs addresses at any moment,
// and dies with the process when there are none.
func needAddresses() {
	for {
		memory, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err == nil {
			err = unix.Munmap(memory)
		}
		if err != nil {
			_, _ = unix.Write(2, []byte("fatal error: no addresses\n"))
			os.Exit(2)
		}
	}
}

// The limit of memory binds the command, and not the threads that this program has until it
// has become the command.
func TestLimitsSpareTheHelper(t *testing.T) {
	if !asUser(t) {
		return
	}
	work := workFolder(t)
	for range 20 {
		got, err := sandbox.Exec(t.Context(), sandbox.Command{Line: "ulimit -v " + besideThreads, Dir: work})
		if got.Output != "1048576\n" || got.Code != 0 || err != nil {
			t.Fatalf("a command gives %+v, %v", got, err)
		}
		read, err := sandbox.Read(t.Context(), sh("ulimit -v "+besideThreads, ""))
		if string(read.Out) != "147456\n" || read.Said != "" || read.Code != 0 || err != nil {
			t.Fatalf("a program gives %q, %q, code %d, %v", read.Out, read.Said, read.Code, err)
		}
	}
}

// Whatever a command began ends with it, also what left its session and holds no output.
func TestNothingOutlivesACommand(t *testing.T) {
	if !asUser(t) {
		return
	}
	work := workFolder(t)
	line := "(setsid sh -c 'while :; do echo >> alive; sleep 0.05; done' >/dev/null 2>&1 &) ; until [ -s alive ]; do sleep 0.05; done"
	if got, err := sandbox.Exec(t.Context(), sandbox.Command{Line: line, Dir: work}); got.Code != 0 || err != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	size := func() int64 {
		info, err := os.Stat(filepath.Join(work, "alive"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	sleep := exec.CommandContext(t.Context(), "sleep", "0.5") // what is being waited for must not happen
	if err := sleep.Run(); err != nil {
		t.Fatal(err)
	}
	if after := size(); after != before {
		t.Errorf("something still writes: %d bytes, then %d", before, after)
	}
}

func TestTheCallerStopsACommand(t *testing.T) {
	if !asUser(t) {
		return
	}
	work := workFolder(t)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(300*time.Millisecond, func() { cancel(stopped) })
	if _, err := sandbox.Exec(ctx, sandbox.Command{Line: "sleep 30", Dir: work}); !errors.Is(err, stopped) {
		t.Errorf("the error is %v", err)
	}
}
