package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
)

// TestFailedCallsAreLogged: the log says which tool failed and how, never the words
// of the error, and reports no failure where there was none.
func TestFailedCallsAreLogged(t *testing.T) {
	fails := func(text string, err error) func(context.Context, agent.Call) (string, error) {
		return func(context.Context, agent.Call) (string, error) { return text, err }
	}
	for name, tt := range map[string]struct {
		run  func(context.Context, agent.Call) (string, error)
		want string // logged at Info; "": nothing
	}{
		"it worked":       {fails("secret", nil), ""},
		"any error":       {fails("", errors.New("secret")), "error"},
		"after output":    {fails("secret", errors.New("secret")), "error"},
		"no such file":    {fails("", fmt.Errorf("read secret: %w", fs.ErrNotExist)), `"not found"`},
		"not allowed":     {fails("", fmt.Errorf("read secret: %w", fs.ErrPermission)), `"no permission"`},
		"no network":      {fails("", &net.OpError{Op: "dial", Err: errors.New("secret")}), "network"},
		"its own timeout": {fails("", fmt.Errorf("fetch secret: %w", context.DeadlineExceeded)), "timeout"},
		"a slow network":  {fails("", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}), "timeout"},
		"our timeout": {func(ctx context.Context, _ agent.Call) (string, error) {
			<-ctx.Done()
			return "", errors.New("secret")
		}, "timeout"},
		"left behind": {func(context.Context, agent.Call) (string, error) {
			time.Sleep(time.Hour)
			return "", errors.New("secret")
		}, "timeout"},
		"a panic": {func(context.Context, agent.Call) (string, error) { panic("secret") }, "panic"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logs bytes.Buffer
				a := newAgent(t, newScript(t, call("c1 get {}"), say("Done.")), agent.Options{Logger: logger(&logs)}, get(tt.run))
				run(t, a, turnOf("go"))
				time.Sleep(2 * time.Hour) // for the tool that is left running
				got := failures(logs.String())
				if tt.want == "" && got != nil || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], " tool=get ") || !strings.HasSuffix(got[0], " failure="+tt.want)) {
					t.Errorf("the log has the failures %q, want one of get: %q", got, tt.want)
				}
				if strings.Contains(logs.String(), "secret") {
					t.Errorf("the log has words of the tool:\n%s", &logs)
				}
			})
		})
	}
}

// TestStoppedCallIsNoFailure: a person who writes /stop knows what they do.
func TestStoppedCallIsNoFailure(t *testing.T) {
	var logs bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	a := newAgent(t, newScript(t, call("c1 get {}")), agent.Options{Logger: logger(&logs)}, get(func(ctx context.Context, _ agent.Call) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}))
	if _, err := a.Run(ctx, turnOf("go")); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want that it was stopped", err)
	}
	if got := failures(logs.String()); got != nil || !strings.Contains(logs.String(), "tool call stopped") {
		t.Errorf("the log has the failures %q:\n%s", got, &logs)
	}
}

func logger(to *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// failures returns the lines that tell an operator of a failed tool.
func failures(logs string) (lines []string) {
	for line := range strings.Lines(logs) {
		if strings.Contains(line, `level=INFO msg="tool call failed"`) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
