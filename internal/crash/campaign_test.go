package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
)

// steps are the named moments at which the daemon can be told to die.
var steps = []string{
	"accept.before", "accept.after",
	"journal.model.before", "journal.model.after",
	"journal.tool_start.before", "journal.tool_start.after",
	"journal.tool_done.before", "journal.tool_done.after",
	"journal.preview.before", "journal.preview.after",
	"commit.before", "commit.after",
	"sending.before", "sending.after",
	"send.before", "send.after",
	"sent.before", "sent.after",
}

// firstChat numbers the people; each has one private chat.
const (
	firstChat = 5000
	chats     = 12
)

// campaign is one run: the two servers, the daemon's configuration, and what
// was sent so far.
type campaign struct {
	t      *testing.T
	api    *botapi.Server
	model  *agenttest.Server
	bin    string
	config string
	log    *os.File
	env    []string        // what the daemon is told beside the config
	sent   map[int64][]int // marks by chat, in order
	count  atomic.Int64
}

func newCampaign(t *testing.T) *campaign {
	t.Helper()
	api, err := botapi.Start("127.0.0.1:0", botapi.Options{Token: "1000:" + strings.Repeat("TEST", 9)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	c := &campaign{
		t: t, api: api, bin: build(t), sent: make(map[int64][]int),
		model: agenttest.Serve(t, agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return reply }, Recorded: -1}),
	}
	dir := t.TempDir()
	if c.log, err = os.Create(filepath.Join(dir, "daemon.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.log.Close() })
	c.config = filepath.Join(dir, "dragoman.yaml")
	var allow []string
	for i := range chats {
		allow = append(allow, strconv.Itoa(firstChat+i))
	}
	text := fmt.Sprintf(`
state_dir: %s
http: {listen: "off"}
log: {level: info}
model: {type: openai, base_url: %s, name: fake, context_window: 200000}
summary: {trigger: {messages: 30}, keep: {n: 8}}
queue: {rate_per_minute: 0, max_waiting: 1000}
channels:
  telegram: {type: telegram, token: %q, api_url: %s, allow: [%s], poll_timeout: 5s}
`, filepath.Join(dir, "state"), c.model.URL(), api.Token(), api.URL(), strings.Join(allow, ", "))
	if err := os.WriteFile(c.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// build makes the binary under test.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "dragoman")
	cmd := exec.Command("go", "build", "-tags", "crashpoints", "-o", bin, "dragoman/cmd/dragoman")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// reply is the model. What it does follows from the marks it is asked about,
// so that a turn that is run again meets the same behaviour: every third turn
// calls tools, every seventh streams long enough to be previewed.
func reply(x *agenttest.Exchange) {
	marks := agenttest.Marks(strings.Join(x.Request.Input(), " "))
	if len(marks) == 0 { // a summary
		x.Text("## Progress\nThey count.")
		x.End("stop")
		return
	}
	n, _ := strconv.Atoi(marks[0][1:])
	last := x.Request.Messages[len(x.Request.Messages)-1]
	if n%3 == 0 && last.Role != "tool" && x.Request.HasTool("write_file") {
		x.Tools(
			agenttest.ToolDelta{Index: agenttest.At(0), ID: "a" + marks[0][1:], Name: "time", Arguments: "{}"},
			agenttest.ToolDelta{Index: agenttest.At(1), ID: "b" + marks[0][1:], Name: "write_file", Arguments: `{"path":"n.txt","content":"` + marks[0] + `"}`},
		)
		x.End("tool_calls")
		return
	}
	text := "Seen: " + strings.Join(marks, " ") + " done."
	if n%7 == 0 {
		for _, word := range agenttest.Words(text) {
			x.Text(word)
			x.Wait(150 * time.Millisecond)
		}
	} else {
		x.Text(text)
	}
	x.End("stop")
}

// start runs the daemon; at, if not empty, is where it kills itself.
func (c *campaign) start(at string) *exec.Cmd {
	c.t.Helper()
	cmd := exec.Command(c.bin, "run", "--config", c.config)
	cmd.Stdout, cmd.Stderr = c.log, c.log
	cmd.Env = append(os.Environ(), "DRAGOMAN_CRASH="+at)
	cmd.Env = append(cmd.Env, c.env...)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

// talk writes messages into random chats until ctx ends.
func (c *campaign) talk(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			id := int64(firstChat + rand.N(chats))
			c.sent[id] = append(c.sent[id], n)
			c.api.Private(botapi.Person(id, "Ann")).Say(botapi.Person(id, "Ann"), fmt.Sprintf("message #%d", n))
			c.count.Add(1)
		}
	}
}

// killed runs the daemon until it dies, and says whether it died at the step.
// Without a step it is killed at a random moment.
func (c *campaign) killed(step string) (atStep bool) {
	c.t.Helper()
	if step == "" {
		cmd := c.start("")
		time.Sleep(50*time.Millisecond + rand.N(700*time.Millisecond))
		_ = cmd.Process.Kill()
		c.mustBeKilled(cmd.Wait())
		return false
	}
	cmd := c.start(fmt.Sprintf("%s@%d", step, 1+rand.N(6)))
	died := make(chan error, 1)
	go func() { died <- cmd.Wait() }()
	select {
	case err := <-died:
		c.mustBeKilled(err)
		return true
	case <-time.After(4 * time.Second): // that step was not passed so often: kill it like the others
		_ = cmd.Process.Kill()
		c.mustBeKilled(<-died)
		return false
	}
}

// mustBeKilled ends the campaign if the daemon ended in another way than by
// SIGKILL: then nothing was tested.
func (c *campaign) mustBeKilled(err error) {
	c.t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if st, ok := exit.Sys().(syscall.WaitStatus); ok && st.Signaled() && st.Signal() == syscall.SIGKILL {
			return
		}
	}
	keepLog(c.t, c.log.Name())
	c.t.Fatalf("the daemon ended with %v, not by SIGKILL", err)
}

// settle runs the daemon undisturbed until every message is answered, then
// stops it as an operator would.
func (c *campaign) settle() time.Duration {
	c.t.Helper()
	began := time.Now()
	cmd := c.start("")
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	err := c.api.Until(ctx, func() bool { return c.verdict().lost == 0 })
	took := time.Since(began)
	if err != nil {
		c.t.Errorf("not everything was answered after %s", took.Round(time.Second))
	}
	// What is sent twice comes after what was sent: give it time to show.
	time.Sleep(2 * time.Second)
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		c.t.Errorf("the daemon ended with %v after SIGINT", err)
	}
	return took
}

func TestCampaign(t *testing.T) {
	kills := 24
	if s := os.Getenv("DRAGOMAN_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("DRAGOMAN_KILLS=%q, want a number of kills", s)
		}
		kills = n
	} else if testing.Short() {
		t.Skip("short: no crash campaign")
	}
	c := newCampaign(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	talked := make(chan struct{})
	go func() {
		defer close(talked)
		c.talk(ctx, 40*time.Millisecond)
	}()

	began := time.Now()
	atStep := make(map[string]int)
	random := 0
	for i := range kills {
		// Two of three kills are at a step, each step in its turn.
		step := ""
		if i%3 != 2 {
			step = steps[(i-i/3)%len(steps)]
		}
		if c.killed(step) {
			atStep[step]++
		} else {
			random++
		}
	}
	stop()
	<-talked
	settled := c.settle()
	v := c.verdict()
	r := report{
		kills: kills, atStep: atStep, random: random, messages: int(c.count.Load()),
		verdict: v, took: time.Since(began), settled: settled,
	}
	t.Logf("\n%s", r)
	v.check(t)
	accounted(t, c.log.Name())
	if t.Failed() {
		keepLog(t, c.log.Name())
	}
	if path := os.Getenv("DRAGOMAN_REPORT"); path != "" && !t.Failed() {
		if err := r.write(path); err != nil {
			t.Error(err)
		}
	}
}

// accounted wants that no request passed over messages in silence, which the
// daemon logs when it counts dragoman_messages_unaccounted_total.
func accounted(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	} else if bytes.Contains(b, []byte("passed over messages")) {
		t.Error("a request to the model passed over messages in silence")
	}
}

// keepLog shows the end of the daemon's log of a campaign that failed.
func keepLog(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Log(err)
		return
	}
	t.Logf("the daemon's last words:\n%s", b[max(0, len(b)-6000):])
}
