package mcp_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
)

// asks calls a tool that asks the person, and returns what it asks.
func asks(t *testing.T, tool agent.Tool, answer *agent.Answer) *agent.Asking {
	t.Helper()
	got, err := tool.Run(t.Context(), agent.Call{Args: json.RawMessage("{}"), Answer: answer})
	a, is := errors.AsType[*agent.Asking](err)
	if !is {
		t.Fatalf("it gives %q, %v and asks nothing", got, err)
	}
	return a
}

// A server of either era asks in the middle of a call, and the call goes on with the answer. In
// the present era that works in another process, too; in the former one the call is lost with it.
func TestElicitation(t *testing.T) {
	t.Parallel()
	for _, era := range mcptest.Good {
		for name, launch := range map[string]mcp.Launch{"child": nil, "socket": bySocket(t)} {
			t.Run(era+" "+name, func(t *testing.T) {
				t.Parallel()
				n := &notes{}
				s := mcp.Server{Name: "good", Command: mcptest.Command(era)}
				tool := named(t, open(t, n, mcp.Options{Launch: launch}, s), "good__ask")
				a := asks(t, tool, nil)
				if f := a.Form; f.From != "good" || f.Message != "What is your name?" || len(f.Fields) != 1 || f.Fields[0].Name != "name" || !f.Fields[0].Required {
					t.Errorf("it asks %+v", f)
				}
				answer := &agent.Answer{State: a.State, Action: agent.Accepted, Values: map[string]any{"name": "Ann"}}
				other := named(t, open(t, n, mcp.Options{}, s), "good__ask")
				got, err := run2(t, other, answer)
				if old := era != "good"; old != (err != nil) || old && !strings.Contains(err.Error(), "interrupted") || !old && !strings.Contains(got, "answer: accept Ann, state: asked") {
					t.Errorf("in another process it gives %q, %v", got, err)
				}
				if got, err := run2(t, tool, answer); !strings.Contains(got, "answer: accept Ann") || err != nil {
					t.Errorf("with an answer it gives %q, %v", got, err)
				}
				a = asks(t, tool, nil)
				if got, err := run2(t, tool, &agent.Answer{State: a.State, Action: agent.Declined}); !strings.Contains(got, "answer: decline") || err != nil {
					t.Errorf("declined it gives %q, %v", got, err)
				}
			})
		}
	}
}

func run2(t *testing.T, tool agent.Tool, a *agent.Answer) (string, error) {
	t.Helper()
	return tool.Run(t.Context(), agent.Call{Args: json.RawMessage("{}"), Answer: a})
}

// Nobody is asked for a password, nor more than three times in a call, and a link is shown only.
func TestElicitationHostile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"asks", "asks@old", "password", "password@old", "link", "link@old", "asks-bad"} {
		for where := range 2 {
			s := mcp.Server{Name: "x", Command: mcptest.Command(name)}
			if where == 1 {
				web := httptest.NewServer(mcptest.Handler(name))
				t.Cleanup(web.Close)
				s = mcp.Server{Name: "x", URL: web.URL}
			}
			if where == 1 && strings.HasSuffix(name, "@old") {
				continue // by hand it is no session of HTTP
			}
			tool := named(t, open(t, &notes{}, mcp.Options{Call: shortCall()}, s), "x__work")
			asked := 0
			var answer *agent.Answer
			for {
				got, err := run2(t, tool, answer)
				a, is := errors.AsType[*agent.Asking](err)
				if !is {
					t.Logf("%s: asked %d times, then %q, %v", name, asked, got, err)
					if strings.HasPrefix(name, "password") && !strings.Contains(got, "it asked for a password or a key, which nobody should write into a chat. Say that to the person.") {
						t.Errorf("%s: the model does not read why nobody was asked: %q", name, got)
					}
					break
				}
				asked++
				if a.Form.URL != "" && a.Form.URL != "http://169.254.169.254/login" {
					t.Errorf("the link is %q", a.Form.URL)
				}
				answer = &agent.Answer{State: a.State, Action: agent.Declined}
			}
			want := map[string]int{"asks": 3, "asks@old": 3, "link": 1, "link@old": 1}[name]
			if asked != want {
				t.Errorf("%s at %v: asked %d times, want %d", name, where, asked, want)
			}
		}
	}
}
