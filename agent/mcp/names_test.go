package mcp_test

import (
	"strings"
	"testing"

	"dragoman/agent/mcp"
	"dragoman/agent/window"
)

func TestToolName(t *testing.T) {
	for own, want := range map[string]string{
		"echo": "srv__echo", "get-sum": "srv__get-sum", "a__b": "srv__a__b", "GetSum": "srv__getsum", "get sum": "srv__get_sum",
		"read\nfile": "srv__read_file", "exec": "srv__exec", "tea/2": "srv__tea_2",
		"":                       "srv___e3b0c4",
		"___":                    "srv______bda251",
		"е":                      "srv___259f56", // Cyrillic
		"ехec":                   "srv__ec",      // its first letters are Cyrillic
		strings.Repeat("x", 200): "srv__" + strings.Repeat("x", 52) + "_aa20c2",
	} {
		if got := mcp.ToolName("srv", own); got != want {
			t.Errorf("ToolName(srv, %q) = %q, want %q", own, got, want)
		}
	}
}

func FuzzToolName(f *testing.F) {
	f.Add("echo")
	f.Add("е\n ")
	f.Fuzz(func(t *testing.T, own string) {
		name := mcp.ToolName("my-server", own)
		if !window.IsToolName(name) || !strings.HasPrefix(name, "my-server__") || strings.ToLower(name) != name {
			t.Errorf("ToolName(my-server, %q) = %q", own, name)
		}
	})
}
