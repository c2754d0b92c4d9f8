package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal opens a terminal: its own end, and that of programs.
func openTerminal(t *testing.T) (own, programs *os.File) {
	t.Helper()
	own, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	if err := unix.IoctlSetPointerInt(int(own.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(own.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if programs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = programs.Close() })
	return own, programs
}

// A closed terminal stops the daemon that was started in it; SIGHUP with the
// terminal open reloads. Under nohup it stays.
func TestClosedTerminal(t *testing.T) {
	// A signal that is handled here is not ignored there: the tests themselves may
	// run under nohup.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for name, tt := range map[string]struct{ begin, last string }{
		"in a terminal": {`exec "$0"`, "draining"},
		"under nohup":   {`trap "" HUP; exec "$0"`, "reloading"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			own, programs := openTerminal(t)
			cmd := exec.CommandContext(ctx, "/bin/sh", "-c", tt.begin, os.Args[0])
			cmd.Env = append(os.Environ(), stuckVariable+"=1")
			cmd.Stdin = programs
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait() // killed
			}()
			lines := bufio.NewScanner(out)
			says := func(want string) {
				t.Helper()
				if !lines.Scan() || strings.TrimSpace(lines.Text()) != want {
					t.Fatalf("%q, want %q", lines.Text(), want)
				}
			}
			says("serving")
			kill(t, cmd.Process.Pid, syscall.SIGHUP)
			says("reloading")
			_ = programs.Close()
			if err := own.Close(); err != nil {
				t.Fatal(err)
			}
			says(tt.last)
		})
	}
}
