package crash_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// rest is how long a node stays down that ended, as with the unit for systemd.
const rest = 2 * time.Second

// node is one of a cluster: its place, and the process that is started there
// again whenever it ends.
type node struct {
	t           *testing.T
	name, state string
	config      string
	bin         string
	proxy       *proxy
	run         func() *exec.Cmd
	over        sync.WaitGroup

	mu      sync.Mutex
	cmd     *exec.Cmd // nil: it is down
	rest    time.Duration
	leaving bool
	starts  int
	ends    map[string]int // how it ended, and how often
	ended   time.Time      // the last time, of its own or by a fault
}

// live starts the node, again and again until leave.
func (n *node) live() {
	n.over.Go(func() {
		for {
			n.mu.Lock()
			if n.leaving {
				n.mu.Unlock()
				return
			}
			cmd := n.run()
			n.cmd, n.rest = cmd, rest
			n.starts++
			n.mu.Unlock()
			err := cmd.Wait()
			n.mu.Lock()
			n.cmd = nil
			n.ends[how(err)]++
			if !n.leaving {
				n.ended = time.Now()
			}
			pause := n.rest
			n.mu.Unlock()
			time.Sleep(pause)
		}
	})
}

// how is how a process ended.
func how(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.Error()
	}
	return "exit status 0"
}

// signal sends one to the process, if there is one, and says how long it stays
// down should it end of that.
func (n *node) signal(s syscall.Signal, down time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		n.rest = down
		_ = n.cmd.Process.Signal(s) // it may have ended
	}
}

// count is how often it was started.
func (n *node) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.starts
}

// ready waits until the process answers an operator.
func (n *node) ready() bool {
	return testkit.Poll(time.Minute, func() bool { _, err := n.status(); return err == nil })
}

func (n *node) status() (api.Status, error) {
	admin := api.Dial(filepath.Join(n.state, "dragoman.sock"))
	defer admin.Close()
	return api.ReadStatus.Call(n.t.Context(), admin, api.None{})
}

// leave ends the node for good, as an operator does.
func (n *node) leave() {
	n.mu.Lock()
	n.leaving = true
	n.mu.Unlock()
	n.signal(syscall.SIGCONT, 0)
	n.signal(syscall.SIGTERM, 0)
	n.over.Wait()
}

// newNode makes the place of a node.
func newNode(t *testing.T, name, bin string, env []string, p *proxy, config func(state string) string) *node {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	n := &node{t: t, name: name, bin: bin, proxy: p, state: filepath.Join(dir, "state"), config: filepath.Join(dir, "dragoman.yaml"), ends: map[string]int{}}
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(n.config, []byte(config(n.state)), 0o600)); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(n.log())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	n.run = func() *exec.Cmd {
		cmd := exec.Command(n.bin, "run", "--config", n.config)
		cmd.Stdout, cmd.Stderr = log, log
		cmd.Env = append(os.Environ(), env...)
		if err := cmd.Start(); err != nil {
			panic(err) // not the test's goroutine
		}
		return cmd
	}
	return n
}

// log is the path of what all processes of the node said. go test -artifacts keeps it.
func (n *node) log() string { return filepath.Join(n.t.ArtifactDir(), n.name+".log") }

// judge wants that the node ended only as it may, and never panicked.
func (n *node) judge() {
	n.t.Helper()
	for way, times := range n.ends {
		if way != "exit status 0" && way != "exit status 1" && way != "signal: killed" {
			n.t.Errorf("%s ended %d times with %s", n.name, times, way)
		}
	}
	b, err := os.ReadFile(n.log())
	if err != nil {
		n.t.Error(err)
	}
	for _, words := range []string{"panic", "DATA RACE"} {
		if at := bytes.Index(b, []byte(words)); at >= 0 {
			n.t.Errorf("%s said %q: %s", n.name, words, b[at:min(len(b), at+2000)])
		}
	}
	accounted(n.t, n.log(), false)
}

func (n *node) String() string {
	var ends []string
	for way, times := range n.ends {
		ends = append(ends, fmt.Sprintf("%s %d", way, times))
	}
	return fmt.Sprintf("%s: %d starts; %s", n.name, n.starts, strings.Join(ends, ", "))
}
