package agent_test

import (
	"context"
	"testing"

	"dragoman/agent"
	"dragoman/sessions"
)

// TestCallsThatMeanATool: a name or arguments in another form that can mean only one
// thing are run, and the transcript has what was meant. What could mean two things, or
// none, is not run.
func TestCallsThatMeanATool(t *testing.T) {
	const zone = `{"zone":"UTC"}`
	for name, test := range map[string]struct{ name, args, tool, got string }{
		"as it should be":         {"time", zone, "time", zone},
		"a prefix":                {"functions.time", zone, "time", zone},
		"another prefix":          {"default_api:time", zone, "time", zone},
		"two prefixes":            {"multi_tool_use.functions.time", zone, "time", zone},
		"capitals":                {"Time", zone, "time", zone},
		"a prefix and capitals":   {"tools/WebFetch", zone, "web_fetch", zone},
		"a dash":                  {"web-fetch", zone, "web_fetch", zone},
		"two that differ by case": {"Files__read", zone, "", ""},
		"exactly one of them":     {"files__Read", zone, "files__Read", zone},
		"a part of a name":        {"tim", zone, "", ""},
		"a prefix alone":          {"functions.", zone, "", ""},
		"an MCP prefix":           {"mcp__time", zone, "time", zone},
		"and a server's name":     {"mcp__files__Read", zone, "files__Read", zone},
		"a dot for the server":    {"web.fetch", zone, "web_fetch", zone},
		"one underscore":          {"mcp_web_fetch", zone, "web_fetch", zone},
		"an unknown server":       {"builtin__time", zone, "time", zone},
		"another server's tool":   {"files__time", zone, "", ""},
		"the same with a prefix":  {"mcp__files__time", zone, "", ""},
		"a channel mark":          {"time<|channel|>commentary", zone, "time", zone},
		"a mark and a prefix":     {"functions.web_fetch <|constrain|>json", zone, "web_fetch", zone},
		"half a mark":             {"time<|", zone, "time", zone},
		"a number":                {"functions.time:0", zone, "time", zone},
		"a number alone":          {"web_fetch:12", zone, "web_fetch", zone},
		"a call":                  {"time()", zone, "time", zone},
		"a call with arguments":   {"functions.time({\"zone\": 1})", zone, "time", zone},
		"all at once":             {"`functions.WebFetch:3()`<|call|>", zone, "web_fetch", zone},
		"no name before a mark":   {"<|channel|>time", zone, "", ""},
		"a number in its place":   {"0", zone, "", ""},
		"a fence":                 {"time", "```json\n" + zone + "\n```", "time", zone},
		"a fence without a word":  {"time", "```\n" + zone + "```", "time", zone},
		"a string":                {"time", `"{\"zone\":\"UTC\"}"`, "time", zone},
		"a string in a string":    {"time", `"\"{\\\"zone\\\":\\\"UTC\\\"}\""`, "time", zone},
		"spaces around":           {"time", "\n " + zone + " ", "time", zone},
		"half a character":        {"time", `{"zone":"\ud99c"}`, "time", `{"zone":"\ufffd"}`},
		"a string of no object":   {"time", `"UTC"`, "", ""},
		"two objects":             {"time", `{"zone":"a"}{"zone":"b"}`, "", ""},
		"a fence on one line":     {"time", "```json " + zone + " ```", "time", zone},
		"without a space":         {"time", "```" + zone + "```", "time", zone},
		"an open fence of text":   {"time", "```json\nUTC", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var ran, args string
			var tools []agent.Tool
			for _, name := range []string{"time", "web_fetch", "files__read", "files__Read"} {
				tools = append(tools, tool{spec: agent.Spec{Name: name}, run: func(_ context.Context, c agent.Call) (string, error) {
					ran, args = name, string(c.Args)
					return "done", nil
				}})
			}
			m := newScript(t, func(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) {
				resp := response("", "tool_calls")
				resp.Message.ToolCalls = []sessions.ToolCall{{ID: "c1", Name: test.name, Arguments: test.args}}
				return resp, nil
			}, say("Done."))
			res := run(t, newAgent(t, m, agent.Options{}, tools...), turnOf("go"))
			if ran != test.tool || args != test.got {
				t.Errorf("%s(%s) runs %q with %s, want %q with %s", test.name, test.args, ran, args, test.tool, test.got)
			}
			if c := res.Messages[1].ToolCalls[0]; test.tool != "" && (c.Name != test.tool || c.Arguments != test.got) {
				t.Errorf("the transcript has %s(%s)", c.Name, c.Arguments)
			}
		})
	}
}
