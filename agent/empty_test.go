package agent_test

import (
	"testing"

	"dragoman/agent"
	"dragoman/sessions"
)

// several is a model of several.
type several struct{ *script }

func (several) Names() []string { return []string{"first", "second"} }

// TestEmptyAnswers: an answer that is empty for no reason is asked for once more, and
// then from another model. What has a reason is not, and a job may be silent.
func TestEmptyAnswers(t *testing.T) {
	empty, yes := answer(response("", "stop")), say("Yes.")
	thoughts := response("", "stop")
	thoughts.Thought = true
	refused := response("", "stop")
	refused.Refused = true
	for name, test := range map[string]struct {
		replies  []reply
		silent   bool
		fallback bool
		text     string
		requests int
	}{
		"once":                      {[]reply{empty, yes}, false, false, "Yes.", 2},
		"twice":                     {[]reply{empty, empty, yes}, false, false, "", 2},
		"twice, with a fallback":    {[]reply{empty, empty, yes}, false, true, "Yes.", 3},
		"always, with a fallback":   {[]reply{empty}, false, true, "", 3},
		"after a tool":              {[]reply{call("c1 get {}"), empty, yes}, false, false, "Yes.", 3},
		"after words and a tool":    {[]reply{answer(response("I look.", "tool_calls", parseCalls([]string{"c1 get {}"})...)), empty, yes}, false, false, "I look.\n\nYes.", 3},
		"blanks only":               {[]reply{answer(response(" \n", "stop")), yes}, false, false, "Yes.", 2},
		"thoughts only":             {[]reply{answer(thoughts), yes}, false, false, "Yes.", 2},
		"an unknown reason":         {[]reply{answer(response("", "OTHER")), yes}, false, false, "Yes.", 2},
		"calls after an empty one":  {[]reply{empty, call("c1 get {}"), yes}, false, false, "Yes.", 3},
		"a job":                     {[]reply{empty, yes}, true, true, "", 1},
		"filtered":                  {[]reply{answer(response("", "content_filter")), yes}, false, true, "", 1},
		"a refusal without words":   {[]reply{answer(refused), yes}, false, true, "", 1},
		"cut before the first word": {[]reply{answer(response("", "length")), yes}, false, true, "(The answer was cut off here: it reached the length limit.)", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, test.replies...)
			var m agent.Model = s
			if test.fallback {
				m = several{s}
			}
			turn := turnOf("go")
			turn.MayBeSilent = test.silent
			get := newCounter("get")
			res := run(t, newAgent(t, m, agent.Options{}, get), turn)
			got := s.requests()
			if res.Text != test.text || len(got) != test.requests {
				t.Errorf("Text = %q after %d requests, want %q after %d", res.Text, len(got), test.text, test.requests)
			}
			if n := len(get.calls()); n > 1 {
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}

// What an empty answer cost counts with the answer that follows.
func TestEmptyAnswersArePaid(t *testing.T) {
	paid := func(text string) reply {
		resp := response(text, "stop")
		resp.Usage = &sessions.Usage{Input: 100, Output: 1, Cost: 0.25}
		resp.Message.Usage = resp.Usage
		return answer(resp)
	}
	res := run(t, newAgent(t, newScript(t, paid(""), paid("Yes.")), agent.Options{}), turnOf("go"))
	if u := res.Messages[len(res.Messages)-1].Usage; u == nil || u.Cost != 0.5 || u.Input != 100 {
		t.Errorf("the answer's usage is %+v, want the cost of both calls", u)
	}
}
