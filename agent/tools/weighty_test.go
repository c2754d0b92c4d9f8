package tools_test

import (
	"testing"

	"dragoman/agent"
)

// Changes that people notice late are weighty.
func TestWeighty(t *testing.T) {
	byName := map[string]agent.Tool{}
	for _, tool := range all(t) {
		byName[tool.Spec().Name] = tool
	}
	for _, tt := range []struct {
		tool, args     string
		weighty, alone bool // and where nobody is there
		weightyTheNext bool
	}{
		{tool: "forget", args: `{"id":3}`, alone: true, weightyTheNext: true},
		{tool: "forget", args: `{"ids":[3,4]}`, weighty: true, alone: true, weightyTheNext: true},
		{tool: "remember", args: `{"text":"x"}`},
		{tool: "remember", args: `{"text":"x","pinned":true}`, weighty: true, alone: true, weightyTheNext: true},
		{tool: "remember", args: `{"text":"x","replaces":[3]}`, alone: true},
		{tool: "remember", args: `{"text":"x","replaces":[3,4]}`, weighty: true, alone: true, weightyTheNext: true},
		{tool: "schedule", args: `{"text":"x","in":"1h"}`},
		{tool: "schedule", args: `{"text":"x","repeat":{"freq":"daily"}}`, weighty: true, alone: true, weightyTheNext: true},
		{tool: "schedule", args: `{"text":"x","EVERY":"1h"}`, weighty: true, alone: true, weightyTheNext: true},
		{tool: "schedule", args: `{"text":"x","in":"1h","zone":"Asia/Tokyo"}`, alone: true},
		{tool: "change_job", args: `{"id":"r7","text":"x"}`, alone: true},
		{tool: "change_job", args: `{"id":"r7","zone":"Asia/Tokyo"}`, alone: true},
		{tool: "change_job", args: `{"id":"r7","every":"1h"}`, weighty: true, alone: true, weightyTheNext: true},
		{tool: "change_job", args: `{"id":"r7","repeat":{"freq":"daily"}}`, weighty: true, alone: true, weightyTheNext: true},
		{tool: "cancel_job", args: `{"id":"r7"}`, alone: true},
		{tool: "write_file", args: `{"path":"a","content":"b"}`},
		{tool: "time", args: `{}`},
	} {
		able, _ := agent.ToolAs[agent.WeightyTool](byName[tt.tool])
		c := agent.Call{Args: []byte(tt.args)}
		got := [3]bool{able.IsWeighty(c, 0, false), able.IsWeighty(c, 0, true), able.IsWeighty(c, 1, false)}
		if want := [3]bool{tt.weighty, tt.alone, tt.weightyTheNext}; got != want {
			t.Errorf("%s %s: weighty at first, alone and the second time: %v, want %v", tt.tool, tt.args, got, want)
		}
	}
}
