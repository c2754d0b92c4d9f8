package bench_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/testkit"
)

// build makes the binary as "make build" does, or with more flags. A binary
// that DRAGOMAN_BIN names is measured instead.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	if bin := os.Getenv("DRAGOMAN_BIN"); bin != "" && len(flags) == 0 {
		return bin
	}
	testkit.Sources(t)
	bin := filepath.Join(t.TempDir(), "dragoman")
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", bin}, flags...)
	cmd := exec.Command("go", append(args, "dragoman/cmd/dragoman")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	reread(t, bin)
	return bin
}

// dropCached makes the kernel forget the pages of a file, where there is a way.
var dropCached func(*os.File) error

// reread has a new binary read from the disk once, as one that was installed
// is. What was just written stands in other pieces in the kernel's memory, of
// which it maps more to a process than that touches: up to 10 MB of one binary.
func reread(t *testing.T, bin string) {
	t.Helper()
	if dropCached == nil {
		return
	}
	f, err := os.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	err = dropCached(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bin, "version").CombinedOutput(); err != nil {
		t.Fatalf("version: %v\n%s", err, out)
	}
}

// house is a configured place to run daemons in, one after the other, with
// the servers that they talk to.
type house struct {
	t      *testing.T
	bin    string
	api    *botapi.Server
	model  *agenttest.Server
	people *writers
	config string
	proxy  string // between the daemon and the model; "": none
	log    *os.File
}

// plan says what a house is like. The zero value is a new store and a model
// that answers at once.
type plan struct {
	state    string // the state directory; "" is a new one
	store    string // the kind of store; "" is the default
	latency  time.Duration
	far      bool // the model is not on this machine, as far as the daemon can tell
	reply    func(*agenttest.Request) agenttest.Reply
	recorded int    // requests that the model keeps
	http     string // what the configuration says of the port; "" is any free one
	more     string // of the configuration
}

func newHouse(t *testing.T, bin string, p plan) *house {
	t.Helper()
	h := &house{t: t, bin: bin, people: newPeople()}
	if p.reply == nil {
		p.reply = answer
	}
	if p.recorded == 0 {
		p.recorded = -1
	}
	var err error
	h.api, err = botapi.Start("127.0.0.1:0", botapi.Options{
		Token: "1000:" + strings.Repeat("TEST", 9), KeepCalls: 64, Wrote: h.people.hear,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.api.Close)
	h.people.api = h.api
	h.model = agenttest.Serve(t, agenttest.Options{Reply: p.reply, FirstToken: p.latency, Recorded: p.recorded})
	dir := t.TempDir()
	if p.state == "" {
		p.state = filepath.Join(dir, "state")
	}
	if h.log, err = os.Create(filepath.Join(dir, "daemon.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.log.Close() })
	h.config = filepath.Join(dir, "dragoman.yaml")
	// Everything that is not said here is as it comes.
	if p.store == "" {
		p.store = "sqlite"
	}
	model := h.model.URL()
	if p.far { // behind a proxy, which the fake server can be
		h.proxy, model = model, "http://model.example/v1"
	}
	if p.http == "" {
		p.http = `{listen: "127.0.0.1:0"}`
	}
	text := fmt.Sprintf(`
state_dir: %s
store: {type: %s}
http: %s
model: {type: openai, base_url: %s, name: fake}
queue: {rate_per_minute: 0}
channels:
  telegram: {type: telegram, token: %q, api_url: %s, allow: ["*"]}
%s
`, p.state, p.store, p.http, model, h.api.Token(), h.api.URL(), p.more)
	if err := os.WriteFile(h.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// answer is the model of most measurements: an echo, so that every answer can
// be told from every other, and a short summary when one is asked for.
func answer(r *agenttest.Request) agenttest.Reply {
	if len(r.Tools) == 0 {
		_, talk, _ := strings.Cut(r.LastUser(), "<transcript>")
		begins := strings.ReplaceAll(talk[:min(len(talk), 300)], "<", " ")
		return agenttest.TextReply("## Progress\nThe person sends messages and gets each of them back as it was. Nothing is open. They began with: " + begins)
	}
	return agenttest.EchoReply
}

// daemon is one run of the binary.
type daemon struct {
	h     *house
	cmd   *exec.Cmd
	began time.Time
	// polled is how long it took to the first poll, and cpu what that cost.
	polled, cpu time.Duration
	ended       bool
}

// start runs the binary and returns when it has polled for the first time.
func (h *house) start() *daemon {
	h.t.Helper()
	d := &daemon{h: h, cmd: exec.Command(h.bin, "run", "--config", h.config)}
	d.cmd.Stdout, d.cmd.Stderr = h.log, h.log
	if h.proxy != "" {
		d.cmd.Env = append(os.Environ(), "HTTP_PROXY="+h.proxy, "NO_PROXY=")
	}
	polls := h.api.Count("getUpdates")
	d.began = time.Now()
	if err := d.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(d.stop)
	ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer cancel()
	if err := h.api.Until(ctx, func() bool { return h.api.Count("getUpdates") > polls }); err != nil {
		d.words()
		h.t.Fatalf("the daemon does not poll: %v", err)
	}
	d.cpu = d.used()
	for _, c := range h.api.Calls("getUpdates") {
		if c.At.After(d.began) {
			d.polled = c.At.Sub(d.began)
			break
		}
	}
	return d
}

// stop ends the daemon as an operator would.
func (d *daemon) stop() {
	if d.ended {
		return
	}
	d.ended = true
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	if err := d.cmd.Wait(); err != nil {
		d.words()
		d.h.t.Errorf("the daemon ended with %v after SIGTERM", err)
	}
}

// words shows the end of the daemon's log.
func (d *daemon) words() {
	b, err := os.ReadFile(d.h.log.Name())
	if err != nil {
		d.h.t.Log(err)
	}
	d.h.t.Logf("the daemon's last words:\n%s", b[max(0, len(b)-3000):])
}

// used is the CPU time that the daemon has taken, in the kernel's ticks of
// 10 ms.
func (d *daemon) used() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		d.h.t.Fatal(err)
	}
	used, err := parseStat(b)
	if err != nil {
		d.h.t.Fatal(err)
	}
	return used
}

// parseStat takes user and system time out of /proc/PID/stat. The name of the
// program stands in parentheses and may hold anything.
func parseStat(b []byte) (time.Duration, error) {
	const tick = 10 * time.Millisecond
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("bench: %d fields in %q", len(fields), b)
	}
	var sum time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("bench: read a stat: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// memory is the daemon's resident memory now and at its peak, in bytes.
func (d *daemon) memory() (now, peak int64) {
	b := d.status()
	return parseStatus(b, "VmRSS"), parseStatus(b, "VmHWM")
}

// own is what of its memory no file holds: the kernel cannot drop it.
func (d *daemon) own() int64 { return parseStatus(d.status(), "RssAnon") }

func (d *daemon) status() []byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		d.h.t.Fatal(err)
	}
	return b
}

// parseStatus finds a size in /proc/PID/status; 0 if it is not there.
func parseStatus(b []byte, name string) int64 {
	for line := range strings.Lines(string(b)) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}

// ownCPU is what this process, the fake servers and the people, has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// machineCPU is what all processes of the machine have used.
func machineCPU() time.Duration {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parseMachine(b)
}

// parseMachine adds up the first line of /proc/stat but for idle, waiting for
// disks, and what guests count twice.
func parseMachine(b []byte) time.Duration {
	const tick = 10 * time.Millisecond
	line, _, _ := bytes.Cut(b, []byte("\n"))
	var sum time.Duration
	for i, f := range bytes.Fields(line) {
		if n, err := strconv.ParseInt(string(f), 10, 64); err == nil && i >= 1 && i <= 8 && i != 4 && i != 5 {
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
