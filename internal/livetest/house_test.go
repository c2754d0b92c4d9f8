package livetest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/channels/channeltest/botapi"
	"dragoman/internal/httpapi"
	"dragoman/internal/testkit"
)

// most is how long one answer may take before it counts as lost: longer than
// a turn waits for a summary, and a busy machine makes these servers slow.
const most = 3 * time.Minute

var ada = botapi.Person(71, "Ada")

// house is a running daemon with one Telegram bot that answers everybody.
type house struct {
	t      *testing.T
	api    *botapi.Server
	admin  *httpapi.Client
	out    *testkit.Output
	config string
	env    []string
}

// startHouse runs the daemon with a configuration of the model and more. env is
// all that it sees of the environment beside the usual.
func startHouse(t *testing.T, config string, env ...string) *house {
	t.Helper()
	dir := t.TempDir()
	h := &house{t: t, out: &testkit.Output{}, config: filepath.Join(dir, "dragoman.yaml")}
	var err error
	if h.api, err = botapi.Start("127.0.0.1:0", botapi.Options{Token: "1000:TESTTESTTESTTESTTESTTESTTESTTESTTEST"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.api.Close)
	text := fmt.Sprintf(`state_dir: %s
http: {listen: "127.0.0.1:0"}
queue: {rate_per_minute: 6000}
channels: {telegram: {type: telegram, token: %q, api_url: %s, poll_timeout: 5s, allow: ["*"]}}
%s
`, filepath.Join(dir, "state"), h.api.Token(), h.api.URL(), config)
	if err := os.WriteFile(h.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h.env = append([]string{"HOME=" + dir, "PATH=/usr/bin:/bin", "TZ=UTC"}, env...)
	run(t, h.out, h.env, binary, "run", "--config", h.config)
	h.admin = httpapi.Dial(filepath.Join(dir, "state", "dragoman.sock"))
	t.Cleanup(h.admin.Close)
	testkit.Eventually(t, "the daemon to be connected", func() bool {
		s, err := h.admin.Status(t.Context())
		return err == nil && s.Channels["telegram"].State == "connected"
	})
	return h
}

// run starts a program that is ended with the test. What it said is shown if
// the test fails.
func run(t *testing.T, out *testkit.Output, env []string, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("the last words of %s:\n%s", filepath.Base(program), tail(out.String(), 3000))
		}
	})
	return cmd
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// tell writes to the bot in private.
func (h *house) tell(text string) { h.api.Private(ada).Say(ada, text) }

// ask writes to the bot and returns its answer.
func (h *house) ask(text string) string {
	h.t.Helper()
	before := len(h.said())
	h.tell(text)
	return h.next(before)
}

// next waits for the bot to have said more than n things, and returns the
// first of them.
func (h *house) next(n int) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), most)
	defer cancel()
	if err := h.api.Until(ctx, func() bool { return len(h.said()) > n }); err != nil {
		h.t.Fatalf("the bot does not answer message %d: %v", n+1, err)
	}
	return h.said()[n]
}

// said are the bot's finished messages. Previews end with "…" and are none.
func (h *house) said() []string {
	var all []string
	for _, s := range h.api.FromBot(ada.ID) {
		if !strings.HasSuffix(s, "…") {
			all = append(all, s)
		}
	}
	return all
}

// dragoman runs a command of the operator's and returns what it prints.
func (h *house) dragoman(args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), binary, args...)
	cmd.Env = append([]string{"DRAGOMAN_CONFIG=" + h.config}, h.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Errorf("dragoman %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
