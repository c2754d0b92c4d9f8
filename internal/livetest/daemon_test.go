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
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// answerTimeout is how long one answer may take. It is longer than a turn waits
// for a summary, because these servers are slow on a busy machine.
const answerTimeout = 3 * time.Minute

var ada = botapi.Person(71, "Ada")

// daemon is a running daemon with a Telegram bot that answers everybody.
type daemon struct {
	t      *testing.T
	api    *botapi.Server
	admin  *api.Client
	out    *testkit.Output
	config string
	env    []string
}

// startDaemon starts the daemon with a configuration, which names at least the
// model. env is added to a minimal environment.
func startDaemon(t *testing.T, config string, env ...string) *daemon {
	t.Helper()
	dir := t.TempDir()
	d := &daemon{t: t, out: &testkit.Output{}, config: filepath.Join(dir, "dragoman.yaml")}
	var err error
	if d.api, err = botapi.Start("127.0.0.1:0", botapi.Options{Token: "1000:TESTTESTTESTTESTTESTTESTTESTTESTTEST"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.api.Close)
	text := fmt.Sprintf(`state_dir: %s
http: {listen: "127.0.0.1:0"}
queue: {rate_per_minute: 6000}
channels: {telegram: {type: telegram, token: %q, api_url: %s, poll_timeout: 5s, allow: ["*"]}}
%s
`, filepath.Join(dir, "state"), d.api.Token(), d.api.URL(), config)
	if err := os.WriteFile(d.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.env = append([]string{"HOME=" + dir, "PATH=/usr/bin:/bin", "TZ=UTC"}, env...)
	run(t, d.out, d.env, binary, "run", "--config", d.config)
	d.admin = api.Dial(filepath.Join(dir, "state", "dragoman.sock"))
	t.Cleanup(d.admin.Close)
	testkit.Eventually(t, "the daemon to be connected", func() bool {
		s, err := api.ReadStatus.Call(t.Context(), d.admin, api.None{})
		return err == nil && s.Channels["telegram"].State == "connected"
	})
	return d
}

// run starts a program and ends it with the test. If the test fails, run shows
// the end of its output.
func run(t *testing.T, out *testkit.Output, env []string, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdout = out
	cmd.Stderr = out
	cmd.Env = env
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
			t.Logf("the end of %s's output:\n%s", filepath.Base(program), tail(out.String(), 3000))
		}
	})
	return cmd
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// write sends the bot a private message.
func (d *daemon) write(text string) { d.api.Private(ada).Say(ada, text) }

// ask sends the bot a message and returns its answer.
func (d *daemon) ask(text string) string {
	d.t.Helper()
	before := len(d.answers())
	d.write(text)
	return d.next(before)
}

// next waits until the bot has answered more than n times, and returns answer
// n.
func (d *daemon) next(n int) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), answerTimeout)
	defer cancel()
	if err := d.api.Until(ctx, func() bool { return len(d.answers()) > n }); err != nil {
		d.t.Fatalf("the bot does not answer message %d: %v", n+1, err)
	}
	return d.answers()[n]
}

// answers returns the bot's finished messages. It skips previews, which end
// with "…".
func (d *daemon) answers() []string {
	var all []string
	for _, s := range d.api.FromBot(ada.ID) {
		if !strings.HasSuffix(s, "…") {
			all = append(all, s)
		}
	}
	return all
}

// dragoman runs an operator's command and returns its output.
func (d *daemon) dragoman(args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), binary, args...)
	cmd.Env = append([]string{"DRAGOMAN_CONFIG=" + d.config}, d.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Errorf("dragoman %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
