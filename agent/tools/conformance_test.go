package tools_test

import (
	"testing"

	"dragoman/agent/toolbox/toolboxtest"
)

// usual are calls of built-in tools; the others are called with {}.
var usual = map[string]string{
	"cancel_job": `{"id":"r7"}`, "change_job": `{"id":"r7","text":"x"}`, "exec": `{"command":"true"}`, "forget": `{"id":1}`,
	"list_dir": `{"path":"."}`, "make_picture": `{"prompt":"a cat"}`, "read_attachment": `{"name":"a.txt"}`, "read_file": `{"path":"a"}`, "remember": `{"text":"a fact"}`,
	"schedule": `{"text":"x","in":"1h"}`, "search_history": `{"query":"x"}`, "send_message": `{"to":"web","text":"x"}`,
	"web_fetch": `{"url":"ftp://nowhere.example"}`, "web_search": `{"query":"x"}`, "write_file": `{"path":"a","content":"b"}`,
}

// Every built-in tool that is on passes the suite of all tools.
func TestConformance(t *testing.T) {
	for _, tool := range all(t) {
		spec := tool.Spec()
		if spec.Off != "" {
			continue // it is never called
		}
		args := usual[spec.Name]
		if args == "" {
			args = "{}"
		}
		t.Run(spec.Name, func(t *testing.T) { toolboxtest.Run(t, tool, args) })
	}
}
