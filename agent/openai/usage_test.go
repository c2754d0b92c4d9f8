package openai_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/agenttest"
	"dragoman/sessions"
)

// An odd usage never costs the answer, and only plausible counts are kept.
func TestOddUsage(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for _, tc := range []struct {
		usage string
		want  *sessions.Usage
	}{
		{`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":5}}`, &sessions.Usage{Input: 12, Output: 3, Cached: 5}},
		{`{"prompt_tokens":12,"completion_tokens":3,"prompt_cache_hit_tokens":4}`, &sessions.Usage{Input: 12, Output: 3, Cached: 4}},
		{`{"prompt_tokens":12.0,"completion_tokens":3e0,"total_tokens":15.0}`, &sessions.Usage{Input: 12, Output: 3}},
		{`{"prompt_tokens":"12","completion_tokens":" 3 ","total_tokens":"15"}`, &sessions.Usage{Input: 12, Output: 3}},
		{`{"prompt_tokens":12.5,"completion_tokens":3,"total_tokens":15}`, &sessions.Usage{Output: 3}},
		{`{"prompt_tokens":1e30,"completion_tokens":1}`, &sessions.Usage{Output: 1}},
		{`{"prompt_tokens":1e999,"completion_tokens":1}`, &sessions.Usage{Output: 1}},
		{`{"prompt_tokens":1000000000000000000000000000000,"completion_tokens":1}`, &sessions.Usage{Output: 1}},
		{`{"prompt_tokens":100000001,"completion_tokens":1}`, &sessions.Usage{Output: 1}},
		{`{"prompt_tokens":100000000,"completion_tokens":1}`, &sessions.Usage{Input: 100_000_000, Output: 1}},
		{`{"prompt_tokens":1000000000,"completion_tokens":1000000000,"total_tokens":2000000000}`, nil},
		{`{"prompt_tokens":-5,"completion_tokens":-1,"total_tokens":-6}`, nil},
		{`{"prompt_tokens":null,"completion_tokens":3,"total_tokens":null}`, &sessions.Usage{Output: 3}},
		{`{"prompt_tokens":[12],"completion_tokens":{"n":3},"total_tokens":true}`, nil},
		{`{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":"x"}}`, &sessions.Usage{Input: 12, Output: 3}},
		{`{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":-7}}`, &sessions.Usage{Input: 12, Output: 3}},
		{`{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":["cached"]}`, &sessions.Usage{Input: 12, Output: 3}},
		{`{"prompt_tokens":12,"completion_tokens":3,"completion_tokens_details":"none","prompt_tokens_details":null}`, &sessions.Usage{Input: 12, Output: 3}},
		{`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, nil},
		// Servers that count cached tokens apart.
		{`{"prompt_tokens":6,"completion_tokens":3,"cache_read_input_tokens":3000}`, &sessions.Usage{Input: 3006, Output: 3, Cached: 3000}},
		{`{"prompt_tokens":6,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":3000}}`, &sessions.Usage{Input: 3006, Output: 3, Cached: 3000}},
		{`{"prompt_tokens":6,"completion_tokens":3,"cache_read_input_tokens":3000,"cache_creation_input_tokens":200}`, &sessions.Usage{Input: 3206, Output: 3, Cached: 3000}},
		{`{"prompt_tokens":6,"completion_tokens":3,"cache_creation_input_tokens":3000}`, &sessions.Usage{Input: 3006, Output: 3}},
		{`{"prompt_tokens":0,"completion_tokens":3,"prompt_cache_hit_tokens":3000}`, &sessions.Usage{Input: 3000, Output: 3, Cached: 3000}},
		{`{"input_tokens":6,"output_tokens":3,"input_tokens_details":{"cached_tokens":3000}}`, &sessions.Usage{Input: 3006, Output: 3, Cached: 3000}},
		{`{"prompt_tokens":3000,"completion_tokens":3,"cache_read_input_tokens":3000}`, &sessions.Usage{Input: 3000, Output: 3, Cached: 3000}},
		{`{"prompt_tokens":12,"completion_tokens":3,"cost":0.00014}`, &sessions.Usage{Input: 12, Output: 3, Cost: 0.00014}},
		{`{"prompt_tokens":12,"completion_tokens":3,"cost":-1}`, &sessions.Usage{Input: 12, Output: 3}},
		{`{"prompt_tokens":12,"completion_tokens":3,"cost":1e12}`, &sessions.Usage{Input: 12, Output: 3}},
		{`{"prompt_tokens":12,"completion_tokens":3,"cost":{"total_cost":1}}`, &sessions.Usage{Input: 12, Output: 3}},
		{`{"total_tokens":500}`, nil},
		{`[1]`, nil},
		{`"n/a"`, nil},
		{`7`, nil},
		{`false`, nil},
		{`null`, nil},
	} {
		const text = `data: {"choices":[{"index":0,"delta":{"content":"all well"},"finish_reason":"stop"}]}` + "\n\n"
		s.Next(agenttest.RawReply(text + `data: {"choices":[],"usage":` + tc.usage + "}\n\ndata: [DONE]\n\n"))
		resp, _, _, err := complete(t, m, ask("hi"))
		if err != nil || resp.Message.Content != "all well" || resp.Finish != "stop" {
			t.Errorf("usage %s: Complete = %+v, %v, want the answer", tc.usage, resp, err)
		}
		if diff := cmp.Diff(tc.want, resp.Usage); diff != "" {
			t.Errorf("usage %s (-want +got):\n%s", tc.usage, diff)
		}
	}
	// An empty usage does not replace an earlier one.
	s.Next(agenttest.RawReply(`data: {"choices":[{"delta":{"content":"all well"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":3}}` +
		"\n\n" + `data: {"choices":[],"usage":{"prompt_tokens":"?"}}` + "\n\n"))
	if resp, _, _, err := complete(t, m, ask("hi")); err != nil || !cmp.Equal(resp.Usage, &sessions.Usage{Input: 12, Output: 3}) {
		t.Errorf("after two usages: %+v, %v, want the first", resp.Usage, err)
	}
}
