package tools_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/tools"

	"github.com/google/go-cmp/cmp"
)

func TestDelegate(t *testing.T) {
	if off := tools.Delegate(nil).Spec().Off; !strings.Contains(off, "agent.delegate.enabled") {
		t.Errorf("without configuration it is off because %q", off)
	}
	tool := tools.Delegate(&tools.Tasks{Model: "small", MaxSteps: 3, MaxTokens: 4, Timeout: time.Minute})
	if spec := tool.Spec(); spec.Off != "" || !spec.Parallel || !spec.Repeatable || spec.Patience != 3*time.Minute {
		t.Errorf("the tool is %+v", spec)
	}
	long := strings.Repeat("read it ", 10)
	for args, want := range map[string]any{
		`{"task":"read a and b","name":"the\ntwo"}`:        agent.Task{Name: "the two", Text: "read a and b"},
		`{"task":"` + long + `","tools":["web_fetch"]}`:    agent.Task{Name: long[:40] + "…", Text: long, Tools: []string{"web_fetch"}},
		`{"task":"read","tools":"time"}`:                   agent.Task{Name: "read", Text: "read", Tools: []string{"time"}},
		`{"task":" "}`:                                     "delegate: the task is empty",
		`{"task":"read","tools":[["time"]]}`:               "delegate: arguments: want a list of texts",
		`{"name":"x"}`:                                     "delegate: the task is empty",
		`{"task":"read","name":"x","reason":"they asked"}`: agent.Task{Name: "x", Text: "read"},
	} {
		var got any
		c := agent.Call{Args: []byte(args), Delegate: func(_ context.Context, task agent.Task) (string, error) {
			got = task
			return "done", nil
		}}
		_, err := tool.Run(t.Context(), c)
		if err != nil {
			got = err.Error()
		}
		if task, is := want.(agent.Task); is {
			task.Model = "small"
			task.MaxSteps = 3
			task.MaxTokens = 4
			task.Timeout = time.Minute
			want = task
		}
		if !cmp.Equal(got, want) {
			t.Errorf("for %s: %s", args, cmp.Diff(want, got))
		}
	}
	_, err := tool.Run(t.Context(), agent.Call{Args: []byte(`{"task":"x"}`)})
	if err == nil || !strings.Contains(err.Error(), "has none of its own") {
		t.Errorf("inside of a task: %v", err)
	}
}
