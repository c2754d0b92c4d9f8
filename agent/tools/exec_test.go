package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
)

// shell stands in for the sandbox and what runs in the background.
type shell struct {
	off   string
	ran   tools.Ran
	err   error
	job   *tools.Job
	lines []string
	ends  []string // what may be stopped
}

func (s shell) Off() string { return s.off }

func (s shell) Run(_ context.Context, j tools.Job) (tools.Ran, error) {
	if s.job != nil {
		*s.job = j
	}
	return s.ran, s.err
}

func (s shell) List(context.Context, channels.Key) ([]string, error) { return s.lines, s.err }

func (s shell) Stop(_ context.Context, _ channels.Key, name string) ([]string, error) {
	if slices.Contains(s.ends, name) {
		return []string{name}, s.err
	}
	return nil, s.err
}

func TestExec(t *testing.T) {
	w := workspace(t, t.TempDir())
	var job tools.Job
	tool := tools.Exec(w, shell{ran: tools.Ran{Output: "three\xff\n", Code: 3}, job: &job})
	folder := "chats/" + channels.MustKey("telegram:7").FileName()
	got := must(t, tool, m{"command": "wc -l < a", "timeout": "5"})
	if want := "[exit code 3; its folder is " + folder + "]\nthree�"; got != want {
		t.Errorf("exec says %q, want %q", got, want)
	}
	if job.Line != "wc -l < a" || job.Most != 5*time.Second || job.Wait <= job.Most || !strings.HasSuffix(job.Dir, "/"+folder) || job.Call.Key.String() != "telegram:7" {
		t.Errorf("what ran is %+v", job)
	}
	if info, err := os.Stat(job.Dir); err != nil || !info.IsDir() {
		t.Errorf("its folder: %v", err)
	}
	if got := must(t, tools.Exec(w, shell{ran: tools.Ran{Code: -1, Ended: "it took too long"}}), m{"command": "x"}); got != "[ended before its time: it took too long; its folder is "+folder+"; it printed nothing]" {
		t.Errorf("of a command that took too long exec says %q", got)
	}
	refuse(t, tool, m{"command": " "}, "is empty")
	refuse(t, tool, m{"command": strings.Repeat("x", 8<<10+1)}, "write a file")
	refuse(t, tool, m{"command": "a\x00b"}, "NUL")
	refuse(t, tool, m{"command": "x", "timeout": 61}, "from 1 to 60")
	refuse(t, tool, m{"command": "x", "timeout": 1801, "background": true}, "or to 1800")
	refuse(t, tools.Exec(w, shell{err: errors.New("no namespace")}), m{"command": "x"}, "no namespace")
}

// Nobody writes over what only operators may write: also theirs run in a chat's folder. Where
// a chat's files are all that its tools see, the folder is not named.
func TestExecStaysInTheChatsFolder(t *testing.T) {
	home := t.TempDir()
	w, err := tools.OpenWorkspace(home, tools.WorkspaceOptions{PerChat: true, Quota: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	var job tools.Job
	tool := tools.Exec(w, shell{job: &job})
	key := channels.MustKey("telegram:7")
	for operator, want := range map[bool]string{
		false: "[exit code 0; it printed nothing]",
		true:  "[exit code 0; its folder is chats/" + key.FileName() + "; it printed nothing]",
	} {
		got, err := tool.Run(t.Context(), agent.Call{Args: json.RawMessage(`{"command":"x"}`), Key: key, Operator: operator})
		if got != want || err != nil || filepath.Base(filepath.Dir(job.Dir)) != "chats" {
			t.Errorf("an operator's (%v) command says %q, %v in %s; want %q", operator, got, err, job.Dir, want)
		}
	}
	if err := os.WriteFile(filepath.Join(job.Dir, "big"), make([]byte, 5<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(t, tool, m{"command": "x"}, "the workspace is full")
}

func TestExecIsOff(t *testing.T) {
	if off := tools.Exec(nil, nil).Spec().Off; !strings.Contains(off, "exec.enabled") {
		t.Errorf("without a sandbox the reason is %q", off)
	}
	if off := tools.Exec(nil, shell{off: "this kernel has no Landlock"}).Spec().Off; off != "this kernel has no Landlock" {
		t.Errorf("with one that does not hold it is %q", off)
	}
	if spec := tools.Exec(nil, shell{}).Spec(); spec.Off != "" || spec.Repeatable || spec.Parallel || spec.Effect != agent.EffectRun {
		t.Errorf("the tool is %+v", spec)
	}
}

// How long a command may take, and how long the model waits for it, follow from what it says
// and from how long a tool may take.
func TestExecTakesLong(t *testing.T) {
	w := workspace(t, t.TempDir())
	var job tools.Job
	tool := tools.Exec(w, shell{ran: tools.Ran{Background: "c4"}, job: &job})
	for _, test := range []struct {
		args       m
		most, wait time.Duration
	}{
		{m{}, 30 * time.Minute, time.Minute},
		{m{"background": true}, 30 * time.Minute, 0},
		{m{"background": true, "timeout": 600}, 10 * time.Minute, 0},
		{m{"timeout": 20}, 20 * time.Second, 2 * time.Minute},
	} {
		test.args["command"] = "make"
		got := must(t, tool, test.args)
		if job.Most != test.most || job.Wait != test.wait || !strings.Contains(got, "in the background as c4, for") {
			t.Errorf("%v may take %v, waits %v, and says %q", test.args, job.Most, job.Wait, got)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, args := range []string{`{"command":"x"}`, `{"command":"x","timeout":60}`} {
		_, err := tool.Run(ctx, agent.Call{Args: json.RawMessage(args), Key: channels.MustKey("telegram:7")})
		least := min(job.Most, job.Wait)
		if err != nil || least > 17*time.Second || least < 10*time.Second {
			t.Errorf("with 20 seconds %s may take %v and waits %v: %v", args, job.Most, job.Wait, err)
		}
	}
}

func TestCommandsInTheBackground(t *testing.T) {
	if got := must(t, tools.ListCommands(shell{}), m{}); got != "Nothing runs in the background here." {
		t.Errorf("an empty list is %q", got)
	}
	if got := must(t, tools.ListCommands(shell{lines: []string{"c1: make", "c2: sleep"}}), m{}); got != "c1: make\nc2: sleep" {
		t.Errorf("the list is %q", got)
	}
	stop := tools.StopCommand(shell{ends: []string{"c1"}})
	if got := must(t, stop, m{"command": " C1"}); !strings.HasPrefix(got, "c1 no longer runs") {
		t.Errorf("it says %q", got)
	}
	refuse(t, stop, m{"command": "c2"}, "no command called")
	refuse(t, stop, m{"command": ""}, "name the command")
	for _, tool := range []agent.Tool{tools.ListCommands(nil), tools.StopCommand(nil), tools.StopCommand(shell{off: "as root"})} {
		if tool.Spec().Off == "" {
			t.Errorf("%s is offered without a sandbox", tool.Spec().Name)
		}
	}
}
