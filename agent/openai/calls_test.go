package openai_test

import (
	"context"
	"strings"
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
		want   []sessions.ToolCall // an id of "" matches any id
	}{
		"single":             {[][]d{{{at(0), "a", "read_file", ""}}, {{at(0), "", "", `{"path"`}}, {{at(0), "", "", `:"x"}`}}}, two[:1]},
		"parallel":           {[][]d{{{at(0), "a", "read_file", `{"path":"x"}`}, {at(1), "b", "time", "{}"}}}, two},
		"interleaved":        {[][]d{{{at(0), "a", "read_file", ""}}, {{at(1), "b", "time", ""}}, {{at(0), "", "", `{"path":`}}, {{at(1), "", "", "{"}}, {{at(0), "", "", `"x"}`}}, {{at(1), "", "", "}"}}}, two},
		"no index":           {[][]d{{{nil, "a", "read_file", `{"path":`}}, {{nil, "", "", `"x"}`}}, {{nil, "b", "time", ""}}}, two},
		"no index, by id":    {[][]d{{{nil, "a", "read_file", ""}}, {{nil, "b", "time", ""}}, {{nil, "a", "", `{"path":"x"}`}}, {{nil, "b", "", "{}"}}}, two},
		"no index, at once":  {[][]d{{{nil, "a", "read_file", `{"path":"x"}`}, {nil, "b", "time", "{}"}}}, two},
		"no index, no ids":   {[][]d{{{nil, "", "read_file", `{"path":"x"}`}, {nil, "", "time", "{}"}}}, []sessions.ToolCall{call("", "read_file", `{"path":"x"}`), call("", "time", "{}")}},
		"one by one, no ids": {[][]d{{{nil, "", "read_file", `{"path":"x"}`}}, {{nil, "", "time", "{}"}}}, []sessions.ToolCall{call("", "read_file", `{"path":"x"}`), call("", "time", "{}")}},
		"index 0 reused":     {[][]d{{{at(0), "a", "read_file", `{"path":`}}, {{at(0), "", "", `"x"}`}}, {{at(0), "b", "time", ""}}}, two},
		"index 0, one tool":  {[][]d{{{at(0), "a", "time", ""}}, {{at(0), "b", "time", ""}}}, []sessions.ToolCall{call("a", "time", "{}"), call("b", "time", "{}")}},
		"index 0, no ids":    {[][]d{{{at(0), "", "read_file", `{"path":"x"}`}}, {{at(0), "", "time", "{}"}}}, []sessions.ToolCall{call("", "read_file", `{"path":"x"}`), call("", "time", "{}")}},
		"index from 1":       {[][]d{{{at(1), "a", "read_file", `{"path":"x"}`}}, {{at(2), "b", "time", "{}"}}}, two},
		"name in pieces":     {[][]d{{{at(0), "a", "read_", ""}}, {{at(0), "", "file", ""}}, {{at(0), "", "", `{"path":"x"}`}}}, two[:1]},
		"all repeated":       {[][]d{{{at(0), "a", "read_file", `{"path"`}}, {{at(0), "a", "read_file", `:"x"}`}}}, two[:1]},
		"new id each piece":  {[][]d{{{at(0), "a", "read_file", `{"path"`}}, {{at(0), "zz", "", `:"x"}`}}}, two[:1]},
		"id comes late":      {[][]d{{{at(0), "", "read_file", `{"path"`}}, {{at(0), "a", "", `:"x"}`}}}, two[:1]},
		"one id for all":     {[][]d{{{at(0), "a", "read_file", `{"path":"x"}`}, {at(1), "a", "time", "{}"}, {at(2), "a", "read_file", `{"path":"y"}`}}}, []sessions.ToolCall{two[0], call("", "time", "{}"), call("", "read_file", `{"path":"y"}`)}},
		"at three indexes":   {[][]d{{{at(0), "a", "read_file", `{"path":"x"}`}}, {{at(1), "a", "read_file", `{"path":"x"}`}}, {{at(2), "a", "read_file", `{"path":"x"}`}}}, two[:1]},
		"again, in pieces":   {[][]d{{{at(0), "a", "read_file", `{"path":`}}, {{at(0), "", "", `"x"}`}}, {{at(1), "a", "read_file", `{"path"`}}, {{at(1), "", "", `: "x"}`}}}, two[:1]},
		"announced again":    {[][]d{{{at(0), "a", "read_file", ""}}, {{at(1), "a", "read_file", `{"path":"x"}`}}}, two[:1]},
		"again, cut off":     {[][]d{{{at(0), "a", "read_file", `{"path":"x"}`}}, {{at(1), "a", "read_file", `{"pa`}}}, two[:1]},
		"again, no index":    {[][]d{{{nil, "a", "read_file", `{"path":"x"}`}}, {{nil, "a", "read_file", `{"path":"x"}`}}}, two[:1]},
		"again, same index":  {[][]d{{{at(0), "a", "read_file", `{"path":"x"}`}}, {{at(0), "a", "read_file", `{"path":"x"}`}}}, two[:1]},
		"{} first":           {[][]d{{{at(0), "a", "read_file", `{}`}}, {{at(0), "", "", `{"path":`}}, {{at(0), "", "", `"x"}`}}}, two[:1]},
		"{} first, at once":  {[][]d{{{at(0), "a", "read_file", `{}{"path":"x"}`}}}, two[:1]},
		"growing":            {[][]d{{{at(0), "a", "read_file", `{"pa`}}, {{at(0), "", "", `{"path":`}}, {{at(0), "", "", `{"path":"x"}`}}}, two[:1]},
		"each piece twice":   {[][]d{{{at(0), "a", "read_file", `{"path`}}, {{at(0), "a", "read_file", `{"path`}}, {{at(0), "a", "", `":"x"}`}}, {{at(0), "a", "", `":"x"}`}}}, two[:1]},
		"broken arguments":   {[][]d{{{at(0), "a", "time", "{oops"}}}, []sessions.ToolCall{call("a", "time", "{oops")}},
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
					t.Errorf("call %d has the id %q, which is empty or not unique", i, got[i].ID)
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
	s.Next(agenttest.RawReply(`data: {"choices":[{"delta":{"tool_calls":[{"index":"0","id":7,"function":{"name":"time","arguments":"{"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0.0,"id":[],"function":{"name":null,"arguments":"}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n"))
	resp, _, _, err = complete(t, m, ask("hi"))
	if err != nil || !cmp.Equal(resp.Message.ToolCalls, []sessions.ToolCall{{ID: "7", Name: "time", Arguments: "{}"}}) {
		t.Errorf("odd ids and indexes: %+v, %v", resp, err)
	}
	s.Next(func(x *agenttest.Exchange) {
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "a", Name: "time", Arguments: `{"zo`})
		x.End("length")
	})
	if resp, _, _, err := complete(t, m, ask("hi")); err != nil || resp.Finish != "length" {
		t.Errorf("a call cut by the length limit: %+v, %v, want Finish length", resp, err)
	}
	var _ agent.Model = m
}

// A model that calls a tool without a name is told that there is no such tool,
// so that it can correct itself. If it repeats the call, the turn ends like any
// other repetition.
func TestNamelessCalls(t *testing.T) {
	for _, tc := range []struct {
		corrects bool
		calls    int
		want     string
	}{{true, 2, "Here you are."}, {false, 4, "I kept calling the tool unknown_tool"}} {
		s := agenttest.Serve(t, agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
			if last := r.Messages[len(r.Messages)-1]; tc.corrects && last.Role == "tool" {
				return func(x *agenttest.Exchange) { x.Text("Here you are."); x.End("stop") }
			}
			return agenttest.DeltasReply([]agenttest.ToolDelta{{Index: agenttest.At(0), ID: "a", Name: " ", Arguments: "{}"}})
		}})
		a, err := agent.New(model(t, s.URL()), []agent.Tool{clock{}}, agent.Options{Tries: 1})
		if err != nil {
			t.Fatal(err)
		}
		res, err := a.Run(t.Context(), agent.Turn{ID: "t", Input: ask("What time is it?").Messages})
		if err != nil || !strings.Contains(res.Text, tc.want) || s.Count() != tc.calls {
			t.Errorf("Run() = %q, %v after %d calls; want %q after %d", res.Text, err, s.Count(), tc.want, tc.calls)
		}
		if m := res.Messages[2]; m.Role != sessions.RoleTool || !strings.Contains(m.Content, "there is no tool") || !strings.Contains(m.Content, "time") {
			t.Errorf("the model reads %+v, want that there is no such tool and the names of the others", m)
		}
	}
}

// clock is a tool that always answers "noon".
type clock struct{}

func (clock) Spec() agent.Spec { return agent.Spec{Name: "time"} }

func (clock) Run(context.Context, agent.Call) (string, error) { return "noon", nil }
