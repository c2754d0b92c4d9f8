package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
)

// shell stands in for the sandbox.
type shell struct {
	off  string
	ran  tools.Ran
	err  error
	dir  *string
	line *string
	time *time.Duration
}

func (s shell) Off() string { return s.off }

func (s shell) Run(_ context.Context, dir, line string, timeout time.Duration) (tools.Ran, error) {
	if s.dir != nil {
		*s.dir = dir
		*s.line = line
		*s.time = timeout
	}
	return s.ran, s.err
}

func TestExec(t *testing.T) {
	w := workspace(t, t.TempDir())
	var dir, line string
	var timeout time.Duration
	tool := tools.Exec(w, shell{ran: tools.Ran{Output: "three\xff\n", Code: 3}, dir: &dir, line: &line, time: &timeout})
	folder := "chats/" + channels.MustKey("telegram:7").FileName()
	got := must(t, tool, m{"command": "wc -l < a", "timeout": "5"})
	if want := "[exit code 3; its folder is " + folder + "]\nthree�"; got != want {
		t.Errorf("exec says %q, want %q", got, want)
	}
	if line != "wc -l < a" || timeout != 5*time.Second || !strings.HasSuffix(dir, "/"+folder) {
		t.Errorf("%q ran in %s within %v", line, dir, timeout)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Errorf("its folder: %v", err)
	}
	if got := must(t, tools.Exec(w, shell{ran: tools.Ran{Code: -1, Ended: "it took too long"}}), m{"command": "x"}); got != "[ended before its time: it took too long; its folder is "+folder+"; it printed nothing]" {
		t.Errorf("of a command that took too long exec says %q", got)
	}
	refuse(t, tool, m{"command": " "}, "is empty")
	refuse(t, tool, m{"command": strings.Repeat("x", 8<<10+1)}, "write a file")
	refuse(t, tool, m{"command": "a\x00b"}, "NUL")
	refuse(t, tool, m{"command": "x", "timeout": 61}, "from 1 to 60")
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
	var dir, line string
	var timeout time.Duration
	tool := tools.Exec(w, shell{dir: &dir, line: &line, time: &timeout})
	key := channels.MustKey("telegram:7")
	for operator, want := range map[bool]string{
		false: "[exit code 0; it printed nothing]",
		true:  "[exit code 0; its folder is chats/" + key.FileName() + "; it printed nothing]",
	} {
		got, err := tool.Run(t.Context(), agent.Call{Args: json.RawMessage(`{"command":"x"}`), Key: key, Operator: operator})
		if got != want || err != nil || filepath.Base(filepath.Dir(dir)) != "chats" {
			t.Errorf("an operator's (%v) command says %q, %v in %s; want %q", operator, got, err, dir, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, 5<<10), 0o600); err != nil {
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
