package openai_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/sessions"
)

func TestToolCalls(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	type d struct {
		index          *int
		id, name, args string
	}
	at := agenttest.At
	call := func(id, name, args string) sessions.ToolCall {
		return sessions.ToolCall{ID: id, Name: name, Arguments: args}
	}
	two := []sessions.ToolCall{call("a", "read_file", `{"path":"x"}`), call("b", "time", `{}`)}
	for name, tc := range map[string]struct {
		chunks [][]d
		want   []sessions.ToolCall // an id of "" may be anything
	}{
		"single":            {[][]d{{{at(0), "a", "read_file", ""}}, {{at(0), "", "", `{"path"`}}, {{at(0), "", "", `:"x"}`}}}, two[:1]},
		"parallel":          {[][]d{{{at(0), "a", "read_file", `{"path":"x"}`}, {at(1), "b", "time", "{}"}}}, two},
		"interleaved":       {[][]d{{{at(0), "a", "read_file", ""}}, {{at(1), "b", "time", ""}}, {{at(0), "", "", `{"path":`}}, {{at(1), "", "", "{"}}, {{at(0), "", "", `"x"}`}}, {{at(1), "", "", "}"}}}, two},
		"no index":          {[][]d{{{nil, "a", "read_file", `{"path":`}}, {{nil, "", "", `"x"}`}}, {{nil, "b", "time", ""}}}, two},
		"no index, by id":   {[][]d{{{nil, "a", "read_file", ""}}, {{nil, "b", "time", ""}}, {{nil, "a", "", `{"path":"x"}`}}, {{nil, "b", "", "{}"}}}, two},
		"no index, at once": {[][]d{{{nil, "a", "read_file", `{"path":"x"}`}, {nil, "b", "time", "{}"}}}, two},
		"no index, no ids":  {[][]d{{{nil, "", "read_file", `{"path":"x"}`}, {nil, "", "time", "{}"}}}, []sessions.ToolCall{call("", "read_file", `{"path":"x"}`), call("", "time", "{}")}},
		"one by one, bare":  {[][]d{{{nil, "", "read_file", `{"path":"x"}`}}, {{nil, "", "time", "{}"}}}, []sessions.ToolCall{call("", "read_file", `{"path":"x"}`), call("", "time", "{}")}},
		"index 0 reused":    {[][]d{{{at(0), "a", "read_file", `{"path":`}}, {{at(0), "", "", `"x"}`}}, {{at(0), "b", "time", ""}}}, two},
		"index 0, one tool": {[][]d{{{at(0), "a", "time", ""}}, {{at(0), "b", "time", ""}}}, []sessions.ToolCall{call("a", "time", "{}"), call("b", "time", "{}")}},
		"index 0, no ids":   {[][]d{{{at(0), "", "read_file", `{"path":"x"}`}}, {{at(0), "", "time", "{}"}}}, []sessions.ToolCall{call("", "read_file", `{"path":"x"}`), call("", "time", "{}")}},
		"index from 1":      {[][]d{{{at(1), "a", "read_file", `{"path":"x"}`}}, {{at(2), "b", "time", "{}"}}}, two},
		"name in pieces":    {[][]d{{{at(0), "a", "read_", ""}}, {{at(0), "", "file", ""}}, {{at(0), "", "", `{"path":"x"}`}}}, two[:1]},
		"all repeated":      {[][]d{{{at(0), "a", "read_file", `{"path"`}}, {{at(0), "a", "read_file", `:"x"}`}}}, two[:1]},
		"new id each piece": {[][]d{{{at(0), "a", "read_file", `{"path"`}}, {{at(0), "zz", "", `:"x"}`}}}, two[:1]},
		"id comes late":     {[][]d{{{at(0), "", "read_file", `{"path"`}}, {{at(0), "a", "", `:"x"}`}}}, two[:1]},
		"same id twice":     {[][]d{{{at(0), "a", "time", "{}"}, {at(1), "a", "time", "{}"}}}, []sessions.ToolCall{call("a", "time", "{}"), call("", "time", "{}")}},
		"broken arguments":  {[][]d{{{at(0), "a", "time", "{oops"}}}, []sessions.ToolCall{call("a", "time", "{oops")}},
	} {
		t.Run(name, func(t *testing.T) {
			s.Next(func(x *agenttest.Exchange) {
				for _, c := range tc.chunks {
					var deltas []agenttest.ToolDelta
					for _, p := range c {
						deltas = append(deltas, agenttest.ToolDelta{Index: p.index, ID: p.id, Name: p.name, Arguments: p.args})
					}
					x.Tools(deltas...)
				}
				x.End("tool_calls")
			})
			resp, _, _, err := complete(t, m, ask("hi"))
			if err != nil {
				t.Fatal(err)
			}
			got := resp.Message.ToolCalls
			seen := make(map[string]bool)
			for i := range got {
				if got[i].ID == "" || seen[got[i].ID] {
					t.Errorf("call %d has the id %q, which is empty or not its own", i, got[i].ID)
				}
				seen[got[i].ID] = true
				if i < len(tc.want) && tc.want[i].ID == "" {
					got[i].ID = ""
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || resp.Finish != "tool_calls" {
				t.Errorf("finish %s, calls (-want +got):\n%s", resp.Finish, diff)
			}
		})
	}
}

func TestToolCallOddities(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	s.Next(agenttest.RawReply(`data: {"choices":[{"delta":{"content":"","tool_calls":[{"function":{"name":"time","arguments":{"zone": "UTC"}}}]},"finish_reason":"stop"}]}` + "\n\n"))
	resp, _, _, err := complete(t, m, ask("hi"))
	if err != nil || resp.Finish != "tool_calls" || resp.Message.ToolCalls[0].Arguments != `{"zone": "UTC"}` {
		t.Errorf("arguments as an object: %+v, %v", resp, err)
	}
	s.Next(agenttest.DeltasReply([]agenttest.ToolDelta{{Index: agenttest.At(0), ID: "a", Arguments: "{}"}}))
	if resp, _, _, err := complete(t, m, ask("hi")); err == nil {
		t.Errorf("a call without a name: %+v, want an error", resp)
	}
	s.Next(func(x *agenttest.Exchange) {
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "a", Name: "time", Arguments: `{"zo`})
		x.End("length")
	})
	if resp, _, _, err := complete(t, m, ask("hi")); err != nil || resp.Finish != "length" {
		t.Errorf("a call cut by the length limit: %+v, %v, want the finish to say so", resp, err)
	}
	var _ agent.Model = m
}
