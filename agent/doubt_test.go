package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// odd is a server that takes so many tokens and has its own way with what is
// longer. It says what requests have.
type odd struct {
	takes   int
	instead reply
	sizes   []int
	failed  int
}

func (o *odd) answer(ctx context.Context, r agent.Request, d func(agent.Delta)) (agent.Response, error) {
	size := window.Estimate(r.Messages) + window.EstimateText(r.System)
	o.sizes = append(o.sizes, size)
	if size > o.takes {
		o.failed++
		return o.instead(ctx, r, d)
	}
	resp := response("Hi.", "stop")
	resp.Usage = &sessions.Usage{Input: size, Output: 1}
	return resp, nil
}

// turn answers a message after so many others, in a chat of its own.
func (o *odd) turn(t *testing.T, a *agent.Agent, history int) (text string, requests int, err error) {
	t.Helper()
	before := len(o.sizes)
	turn := turnOf("And now?")
	turn.ID, turn.Key = fmt.Sprint("t", before), channels.MustKey(fmt.Sprint("web:", before))
	turn.History = sessions.History{Generation: "20260301_001", Messages: long(history)}
	res, err := a.Run(t.Context(), turn)
	return res.Text, len(o.sizes) - before, err
}

func refusal(clear bool) reply {
	return fail(&agent.ModelError{Kind: agent.ErrorInvalid, Status: 400, Clear: clear, Err: errors.New("das geht so nicht")})
}

// empty is what some servers answer to what is too long.
func empty(finish string) reply { return answer(response("", finish)) }

// TestCase28UnknownWords: what may be a refusal for the length is tried once
// with less. If that passes, the length is learned; if not, the error is told.
func TestCase28UnknownWords(t *testing.T) {
	for name, tc := range map[string]struct {
		takes, before, history int // what passes, and the messages of the turns
		clear                  bool
		requests               int
		answered, perhaps      bool
	}{
		"more than half of the window":          {takes: 5000, history: 60, requests: 2, answered: true},
		"longer than what passed":               {takes: 2800, before: 26, history: 36, requests: 2, answered: true},
		"nothing helps":                         {takes: 0, history: 60, requests: 2, perhaps: true},
		"it is too long even so":                {takes: 1000, before: 8, history: 60, requests: 2, perhaps: true},
		"shorter than half, and nothing passed": {takes: 1000, history: 30, requests: 1},
		"short":                                 {takes: 60, before: 0, history: 0, requests: 1, answered: true},
		"short, though nothing so long passed":  {takes: 300, before: 2, history: 6, requests: 1},
		"the server says clearly what is wrong": {takes: 5000, history: 60, clear: true, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := &odd{takes: tc.takes, instead: refusal(tc.clear)}
			a := newAgent(t, newScript(t, o.answer), agent.Options{ContextWindow: 8000, Compaction: without()})
			if tc.before > 0 {
				if text, _, err := o.turn(t, a, tc.before); text != "Hi." {
					t.Fatalf("the turn before = %q, %v", text, err)
				}
			}
			text, requests, err := o.turn(t, a, tc.history)
			if requests != tc.requests || (text == "Hi.") != tc.answered || (err == nil) != tc.answered {
				t.Errorf("Run() = %q, %v after %d requests of %v; want %d, answered: %v", text, err, requests, o.sizes, tc.requests, tc.answered)
			}
			var me *agent.ModelError
			if perhaps := errors.Is(err, agent.ErrPerhapsTooLong); perhaps != tc.perhaps || err != nil && (!errors.As(err, &me) || me.Kind != agent.ErrorInvalid) {
				t.Errorf("Run() = %v, want the server's error, perhaps too long: %v", err, tc.perhaps)
			}
			if requests == 2 && o.sizes[len(o.sizes)-1] > o.sizes[len(o.sizes)-2]*6/10 {
				t.Errorf("requests of %v tokens, want the last one much smaller", o.sizes)
			}
			if tc.requests != 2 {
				return
			}
			// What was learned of it, if it was that.
			first, failed := o.sizes[len(o.sizes)-2], o.failed
			if !tc.answered {
				o.takes = 1 << 20
			}
			text, _, err = o.turn(t, a, tc.history)
			last := o.sizes[len(o.sizes)-1]
			if err != nil || text != "Hi." || o.failed > failed || !tc.answered && last < first {
				t.Errorf("the next turn = %q, %v, requests of %v; want none that is refused, and a short one only if it was that", text, err, o.sizes)
			}
		})
	}
}

// TestEmptyAnswerToWhatPassed: a longer request passed a moment ago, so that an
// empty answer has another reason, and nothing is learned of it.
func TestEmptyAnswerToWhatPassed(t *testing.T) {
	o := &odd{takes: 1 << 20, instead: empty("stop")}
	a := newAgent(t, newScript(t, o.answer), agent.Options{ContextWindow: 8000, Compaction: without()})
	if text, _, err := o.turn(t, a, 60); text != "Hi." {
		t.Fatalf("the turn before = %q, %v", text, err)
	}
	longest := o.sizes[len(o.sizes)-1]
	o.takes = 0
	if _, requests, err := o.turn(t, a, 55); err != nil || requests != 1 {
		t.Errorf("Run() = %v after %d requests of %v, want one", err, requests, o.sizes)
	}
	o.takes = 1 << 20
	if text, _, err := o.turn(t, a, 60); text != "Hi." || o.sizes[len(o.sizes)-1] != longest {
		t.Errorf("the turn after it = %q, %v, requests of %v; want one of %d tokens again", text, err, o.sizes, longest)
	}
}

// TestCase28SilentOverflow: an empty answer to what fills more than half of the
// window counts as too long, once in a turn.
func TestCase28SilentOverflow(t *testing.T) {
	for name, tc := range map[string]struct {
		takes, history int
		instead        reply
		maxTokens      int
		requests       int
		text           string
	}{
		"nothing":                       {5000, 60, empty("stop"), 0, 2, "Hi."},
		"nothing, for its length":       {5000, 60, empty("length"), 0, 2, "Hi."},
		"less, for its length":          {2000, 24, empty("length"), 0, 2, "Hi."},
		"only thoughts":                 {5000, 60, answer(response("<think>What was it?</think>", "stop")), 0, 2, "Hi."},
		"nothing, whatever is left out": {0, 60, empty("stop"), 0, 2, ""},
		"cut, whatever is left out":     {0, 60, empty("length"), 0, 2, "(The answer was cut off here: it reached the length limit.)"},
		"nothing to a short one":        {0, 10, empty("stop"), 0, 1, ""},
		"cut by our own limit":          {0, 60, empty("length"), 500, 1, "(The answer was cut off here: it reached the length limit.)"},
		"filtered":                      {0, 60, empty("content_filter"), 0, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := &odd{takes: tc.takes, instead: tc.instead}
			a := newAgent(t, newScript(t, o.answer), agent.Options{ContextWindow: 8000, Compaction: without(), MaxTokens: tc.maxTokens})
			if _, _, err := o.turn(t, a, 15); err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				before := o.failed
				want := tc.requests
				if i > 0 && tc.text == "Hi." {
					want = 1
				}
				text, requests, err := o.turn(t, a, tc.history)
				if err != nil || text != tc.text || requests != want {
					t.Errorf("turn %d = %q, %v after %d requests of %v; want %q after %d", i, text, err, requests, o.sizes, tc.text, want)
				}
				if i > 0 && tc.text == "Hi." && o.failed > before {
					t.Error("the next turn begins with what is too long")
				}
			}
		})
	}
}

// TestDoubtLeavesNothingOut: where a summary can be made, it stands for what
// the smaller request lacks.
func TestDoubtLeavesNothingOut(t *testing.T) {
	o := &odd{takes: 3500, instead: refusal(false)}
	a := newAgent(t, newScript(t, o.answer), agent.Options{ContextWindow: 8000})
	turn := turnOf("And now?")
	turn.History = sessions.History{Generation: "20260301_001", Messages: long(50)}
	made := 0
	turn.Compact = func(_ context.Context, keep *agent.Keep) (sessions.History, error) {
		made++
		cut := window.CutAt(turn.History.Messages, *keep)
		return sessions.History{
			Generation: turn.History.Generation, Messages: turn.History.Messages[cut:],
			Summary: &sessions.Summary{Text: "THE SUMMARY", CoversSeq: int64(cut)},
		}, nil
	}
	res, err := a.Run(t.Context(), turn)
	if err != nil || res.Text != "Hi." || made != 1 || len(o.sizes) != 2 || res.Unaccounted != 0 {
		t.Errorf("Run() = %q, %v after requests of %v, %d summaries, %d messages unaccounted for; want 2, 1, 0", res.Text, err, o.sizes, made, res.Unaccounted)
	}
}

// TestDoubtOfSummaries: a summariser that refuses in unknown words is asked for
// less once, and no more than that.
func TestDoubtOfSummaries(t *testing.T) {
	for takes, want := range map[int]string{2600: "## Goal\n" + strings.Repeat("They said words. ", 20), 500: ""} {
		o := &odd{takes: takes, instead: refusal(false)}
		m := newScript(t, func(ctx context.Context, r agent.Request, d func(agent.Delta)) (agent.Response, error) {
			resp, err := o.answer(ctx, r, d)
			resp.Message.Content = want
			return resp, err
		})
		a := newAgent(t, m, agent.Options{ContextWindow: 8000, Compaction: keeping(4)})
		s, err := a.Summarize(t.Context(), sessions.History{Messages: long(40)}, nil)
		if strings.TrimSpace(s.Text) != strings.TrimSpace(want) || (err == nil) != (want != "") || want == "" && len(o.sizes) != 2 || o.failed == 0 {
			t.Errorf("a server of %d: Summarize() = %q, %v after requests of %v; want %q, or an error after 2", takes, s.Text, err, o.sizes, want)
		}
	}
}

// TestDoubtWhereUsageIsOff: what passed is remembered by the usage that the
// server reported, and that is not quite what we count. A refusal a little later
// is doubted all the same.
func TestDoubtWhereUsageIsOff(t *testing.T) {
	var c agent.Calibration
	takes := 1 << 20
	m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		size := window.Estimate(r.Messages) + window.EstimateText(r.System)
		if size > takes {
			return agent.Response{}, &agent.ModelError{Kind: agent.ErrorInvalid, Status: 400, Err: errors.New("das geht so nicht")}
		}
		resp := response("Hi.", "stop")
		resp.Usage = &sessions.Usage{Input: size * 11 / 10, Output: 1}
		return resp, nil
	})
	a := newAgent(t, m, agent.Options{ContextWindow: 32_768, Compaction: without(), Calibration: &c})
	talk := chat{t: t, a: a, h: sessions.History{Generation: "20260301_001"}}
	for i := range 40 {
		talk.say(fmt.Sprint("message ", i, strings.Repeat(" word", 100)))
	}
	requests := m.requests()
	takes = window.Estimate(requests[len(requests)-1].Messages) + 10
	turn := turnOf("And now?" + strings.Repeat(" word", 100))
	turn.History = talk.h
	if res := runUnsummarised(t, a, turn); res.Text != "Hi." {
		t.Errorf("Text = %q, want an answer to what fits", res.Text)
	}
}

// TestDoubtOfSummariesWhereUsageIsOff: the same for a summary by the model that
// answers. It is refused though the usage that was reported for turns says that
// something as long has passed.
func TestDoubtOfSummariesWhereUsageIsOff(t *testing.T) {
	var c agent.Calibration
	var sizes []int
	takes := 1 << 20
	m := newScript(t, func(ctx context.Context, r agent.Request, d func(agent.Delta)) (agent.Response, error) {
		size := window.Estimate(r.Messages) + window.EstimateText(r.System)
		sizes = append(sizes, size)
		if size > takes {
			return refusal(false)(ctx, r, d)
		}
		resp := response(theyTalked, "stop")
		resp.Usage = &sessions.Usage{Input: size * 11 / 10, Output: 1}
		return resp, nil
	})
	opts := agent.Options{ContextWindow: 32_768, Compaction: without(), Calibration: &c}
	talk := chat{t: t, a: newAgent(t, m, opts), h: sessions.History{Generation: "20260301_001"}}
	for i := range 28 {
		talk.say(fmt.Sprint("message ", i, strings.Repeat(" word", 600)))
	}
	passed := sizes[len(sizes)-1]
	takes = passed // and a summary is a little longer
	opts.Compaction = keeping(2)
	a := newAgent(t, m, opts)
	turn := turnOf("message 27" + strings.Repeat(" word", 600))
	turn.History = talk.h
	turn.History.Messages = turn.History.Messages[:len(turn.History.Messages)-2]
	runUnsummarised(t, a, turn)
	before := len(sizes)
	s, err := a.Summarize(t.Context(), turn.History, nil)
	if n := sizes[before]; n <= takes || n > takes*104/100 {
		t.Fatalf("the summary asks for %d tokens, want a little more than %d", n, takes)
	}
	if err != nil || s.Text == "" {
		t.Errorf("Summarize() = %v after requests of %v, want a summary by smaller ones", err, sizes[before:])
	}
}

// TestFloorWhenDoubted: one odd refusal takes no more words out of sight than a
// refusal for the length does. What usually stays beside a summary has room in
// what is left of the request, so it stays.
func TestFloorWhenDoubted(t *testing.T) {
	for name, refused := range map[string]reply{"in unknown words": refusal(false), "for its length": fail(modelError(agent.ErrorContext, 0))} {
		t.Run(name, func(t *testing.T) {
			refuse := false
			var seen agent.Request
			m := newScript(t, func(ctx context.Context, r agent.Request, d func(agent.Delta)) (agent.Response, error) {
				if refuse {
					refuse = false
					return refused(ctx, r, d)
				}
				seen = r
				return response("## Goal\n"+theyTalked, "stop"), nil
			})
			c := chat{t: t, a: newAgent(t, m, agent.Options{ContextWindow: 32_768, Compaction: window.Presets["dragoman"]}), h: sessions.History{Generation: "g", FirstSeq: 1}}
			for i := range 30 {
				c.say(fmt.Sprint("Message ", i, strings.Repeat(" word", 250)))
			}
			if len(c.summaries) > 0 {
				t.Fatal("there is a summary already")
			}
			refuse = true
			c.say("And now?")
			if len(c.summaries) != 1 || c.unaccounted > 0 {
				t.Fatalf("%d summaries, %d messages unaccounted for, want one and none", len(c.summaries), c.unaccounted)
			}
			for i := 24; i < 30; i++ {
				if !strings.Contains(show(seen.Messages), fmt.Sprint("user: Message ", i, " word")) {
					t.Errorf("message %d is out of sight:\n%s", i, show(seen.Messages))
				}
			}
		})
	}
}
