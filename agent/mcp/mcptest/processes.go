package mcptest

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// forever is longer than any test.
const forever = time.Hour

// processes are behaviours of the process: its start, its end, and what it prints.
var processes = map[string]behaviour{
	"banner": {
		does:  "prints a banner and log lines on stdout, before, between and within what belongs there",
		start: func(c *conn) { c.send("Welcome to the server!\n\n  [info] listening\n> {not JSON}") },
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			c.send("[debug] a call came")
			c.text(m, "done")
		}},
	},
	"never": {
		does:  "starts and neither reads nor writes anything",
		start: func(*conn) { time.Sleep(forever) },
	},
	"slow": {
		does:  "needs the seconds of its argument, or 10, until it reads anything",
		start: func(c *conn) { time.Sleep(seconds(c, 10)) },
	},
	"missing": {
		does: "ends at once with a complaint on stderr, as a program does that lacks a part",
		start: func(*conn) {
			fmt.Fprintln(os.Stderr, "Error: Cannot find module 'everything'")
			os.Exit(3)
		},
	},
	"crash": {
		does: "ends in the middle of a call",
		on:   map[string]func(c *conn, m message){"work": func(*conn, message) { os.Exit(4) }},
	},
	"stubborn": {
		does: "ignores the end of its input and SIGTERM, and leaves children, one of them in a session " +
			"of its own; their process ids are written to the file that its argument names",
		start: func(c *conn) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
			leaveChildren(c)
		},
		end: func(*conn) { time.Sleep(forever) },
	},
	"stderr": {
		does: "writes 50 MB to stderr, with no line end in the last ten",
		start: func(*conn) {
			line := strings.Repeat("x", 1<<10)
			for range 40 << 10 {
				fmt.Fprintln(os.Stderr, line)
			}
			for range 10 << 10 {
				fmt.Fprint(os.Stderr, line)
			}
		},
	},
	"leak": {
		does:  "prints its environment on stderr, and gives it as the result",
		start: func(*conn) { fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), "\n")) },
		on: map[string]func(c *conn, m message){"work": func(c *conn, m message) {
			c.text(m, strings.Join(os.Environ(), "\n"))
		}},
	},
	"deaf": {
		does: "answers nothing after its first call, and reads nothing either, so that the pipe fills up",
		on:   map[string]func(c *conn, m message){"work": func(c *conn, _ message) { c.wait(forever) }},
	},
}

// seconds is the first argument of the server as a time.
func seconds(c *conn, otherwise int) time.Duration {
	if len(c.args) > 0 {
		if n, err := strconv.Atoi(c.args[0]); err == nil {
			otherwise = n
		}
	}
	return time.Duration(otherwise) * time.Second
}

// leaveChildren starts two and writes their ids and its own.
func leaveChildren(c *conn) {
	ids := strconv.Itoa(os.Getpid())
	for _, session := range []bool{false, true} {
		child := exec.Command("/bin/sleep", "120")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
		if err := child.Start(); err == nil {
			ids += " " + strconv.Itoa(child.Process.Pid)
		}
	}
	if len(c.args) > 0 {
		_ = os.WriteFile(c.args[0], []byte(ids), 0o600) // a test that waits for it says that it is missing
	}
}
