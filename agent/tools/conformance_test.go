package tools_test

import (
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/toolbox/toolboxtest"
	"dragoman/agent/tools"
)

// usual are calls of built-in tools; the others are called with {}.
var usual = map[string]string{
	"cancel_job": `{"id":"r7"}`, "change_job": `{"id":"r7","text":"x"}`, "delegate": `{"task":"look"}`, "exec": `{"command":"true"}`, "forget": `{"id":1}`,
	"list_dir": `{"path":"."}`, "make_picture": `{"prompt":"a cat"}`, "read_attachment": `{"name":"a.txt"}`, "read_file": `{"path":"a"}`, "remember": `{"text":"a fact"}`,
	"send_file": `{"path":"a"}`, "stop_command": `{"command":"c1"}`,
	"schedule": `{"text":"x","in":"1h"}`, "search_history": `{"query":"x"}`, "send_message": `{"to":"web","text":"x"}`,
	"web_fetch": `{"url":"ftp://nowhere.example"}`, "web_search": `{"query":"x"}`, "write_file": `{"path":"a","content":"b"}`,
}

// on are all built-in tools, with all that they need.
func on(t *testing.T) []agent.Tool {
	return tools.Builtin(tools.Needs{
		Workspace: workspace(t, t.TempDir()), Facts: &facts{}, Archive: archive{}, Attachments: sent{}, Documents: paper{}, Pages: tools.Here{}, Reminders: noJobs{}, Search: engine{}, Drawing: &easel{},
		Exec: shell{ends: []string{"c1"}}, Messages: &post{}, Tasks: &tools.Tasks{MaxSteps: 2}, Zone: time.UTC, Now: time.Now,
	})
}

// Every built-in tool passes the suite of all tools.
func TestConformance(t *testing.T) {
	for _, tool := range on(t) {
		spec := tool.Spec()
		if spec.Off != "" {
			t.Errorf("%s is off, so nobody tries it here: give it what it needs", spec.Name)
			continue
		}
		args := usual[spec.Name]
		if args == "" {
			args = "{}"
		}
		t.Run(spec.Name, func(t *testing.T) { toolboxtest.Run(t, tool, args) })
	}
}
