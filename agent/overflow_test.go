package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// smaller is a server that takes 4096 tokens, whatever is configured. Many servers
// count the room for the answer too.
type smaller struct {
	t             *testing.T
	answerToo     bool
	made, refused int
	seen          map[string]bool
}

func (s *smaller) answer(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
	s.made++
	whole := fmt.Sprint(r.MaxTokens, r.System, show(r.Messages))
	if s.seen[whole] {
		s.t.Error("the same request was made twice")
	}
	s.seen[whole] = true
	size := window.Count(r.Messages, nil) + window.EstimateText(r.System)
	if s.answerToo {
		size += r.MaxTokens
	}
	if size > 4096 {
		s.refused++
		return agent.Response{}, modelError(agent.ErrorContext, 0)
	}
	return response("## Goal\n"+theyTalked, "stop"), nil
}

// TestCase26SmallerServer: the server refuses a request that fills a small part of
// the configured window. A summary is still made, in a few calls, and later requests
// are not refused.
func TestCase26SmallerServer(t *testing.T) {
	for _, size := range []int{16_384, 32_768, 128_000} {
		for _, answerToo := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, the answer counts %v", size, answerToo), func(t *testing.T) {
				s := &smaller{t: t, answerToo: answerToo, seen: make(map[string]bool)}
				c := chat{
					t: t, a: newAgent(t, newScript(t, s.answer), agent.Options{ContextWindow: size}), seq: 60,
					h: sessions.History{Generation: "g", FirstSeq: 1, Messages: sixty()},
				}
				if err := c.compact(t.Context(), nil); err != nil {
					t.Fatalf("Summarize() = %v after %d requests", err, s.made)
				}
				if s.refused == 0 || s.refused > 5 || s.made > 12 {
					t.Errorf("%d of %d requests were refused, want some, 5 at most, and 12 in all", s.refused, s.made)
				}
				if n := len(c.h.Messages); n != 8 {
					t.Errorf("%d messages stay, want 8", n)
				}
				late := 0
				for i := range 60 {
					before := s.refused
					c.say(fmt.Sprint("And ", i, strings.Repeat(" word", 100)))
					if i >= 2 {
						late += s.refused - before
					}
				}
				if late > 0 || len(c.summaries) < 3 || c.unaccounted > 0 {
					t.Errorf("in the turns after that %d requests are refused, %d summaries made, %d messages unaccounted for; want none, some, none", late, len(c.summaries), c.unaccounted)
				}
			})
		}
	}
}

// TestTurnsLearnASmallerWindow: turns without summaries also learn the server's size, and
// are answered meanwhile.
func TestTurnsLearnASmallerWindow(t *testing.T) {
	for _, size := range []int{32_768, 128_000} {
		s := &smaller{t: t, seen: make(map[string]bool)}
		a := newAgent(t, newScript(t, s.answer), agent.Options{ContextWindow: size, Compaction: without()})
		last := 0
		for i := range 4 {
			before := s.refused
			turn := turnOf(fmt.Sprint("And now? ", i))
			turn.History = sessions.History{Generation: "g", Messages: sixty()}
			runUnsummarised(t, a, turn)
			last = s.refused - before
		}
		if s.refused == 0 || last > 0 {
			t.Errorf("with %d configured, %d requests are refused, %d of them in the fourth turn; want some and none", size, s.refused, last)
		}
	}
}

// sixty returns a conversation of 60 messages of 100 words.
func sixty() []sessions.Message {
	msgs := talk(60)
	for i := range msgs {
		msgs[i].Seq = int64(i + 1)
		msgs[i].Content += strings.Repeat(" words", 100)
	}
	return msgs
}

// TestOneSummaryForOneRefusal: a refusal costs one summary. It leaves so little that
// no other is due right after it, and it covers what the request lacks.
func TestOneSummaryForOneRefusal(t *testing.T) {
	for _, test := range []struct {
		preset               string
		window, takes, words int
		turn                 int // whose request is refused
	}{
		{"dragoman", 16_384, 3000, 300, 8},
		{"dragoman", 32_768, 9000, 1000, 8},
		{"dragoman", 128_000, 9000, 1000, 8}, // so little of the window that the refusal alone teaches nothing
		{"goose-conservative", 16_384, 6000, 1000, 5},
		{"molf", 32_768, 6000, 1000, 5},
	} {
		t.Run(fmt.Sprint(test.preset, " ", test.takes, " of ", test.window), func(t *testing.T) {
			o := &odd{takes: test.takes, instead: fail(modelError(agent.ErrorContext, 0))}
			m := newScript(t, func(ctx context.Context, r agent.Request, d func(agent.Delta)) (agent.Response, error) {
				resp, err := o.answer(ctx, r, d)
				resp.Message.Content = "## Goal\n" + theyTalked
				return resp, err
			})
			opts := agent.Options{ContextWindow: test.window, Compaction: window.Presets[test.preset]}
			c := chat{t: t, a: newAgent(t, m, opts), h: sessions.History{Generation: "g", FirstSeq: 1}}
			for i := range test.turn + 2 {
				made := len(o.sizes)
				summaries := len(c.summaries)
				failed := o.failed
				c.say(fmt.Sprint("And ", i, strings.Repeat(" word", test.words)))
				calls, want := len(o.sizes)-made, 1
				if i == test.turn {
					want = 3 // refused, summarised, answered
				}
				if calls != want || len(c.summaries)-summaries != want/2 || (o.failed > failed) != (want == 3) || c.unaccounted > 0 {
					t.Errorf("turn %d: requests of %v, %d of them refused, %d summaries, %d messages unaccounted for; want %d calls",
						i, o.sizes[made:], o.failed-failed, len(c.summaries)-summaries, c.unaccounted, want)
				}
			}
		})
	}
}

// odd is a server that takes takes tokens and answers longer requests with instead.
// It records the size of each request.
type odd struct {
	takes   int
	instead reply
	sizes   []int
	failed  int
}

func (o *odd) answer(ctx context.Context, r agent.Request, d func(agent.Delta)) (agent.Response, error) {
	size := window.Count(r.Messages, nil) + window.EstimateText(r.System)
	o.sizes = append(o.sizes, size)
	if size > o.takes {
		o.failed++
		return o.instead(ctx, r, d)
	}
	resp := response("Hi.", "stop")
	resp.Usage = &sessions.Usage{Input: size, Output: 1}
	return resp, nil
}

// TestKeepAfterRefusal: if the messages that are usually kept still fit after a
// refusal, they are kept.
func TestKeepAfterRefusal(t *testing.T) {
	refuse := false
	var seen agent.Request
	m := newScript(t, func(ctx context.Context, r agent.Request, d func(agent.Delta)) (agent.Response, error) {
		if refuse {
			refuse = false
			return fail(modelError(agent.ErrorContext, 0))(ctx, r, d)
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
}

// TestSqueezeKeepsTheQuestion: where instructions and tools are what is too long, nobody
// asks about a question of which nothing is left. A long question may lose its middle.
func TestSqueezeKeepsTheQuestion(t *testing.T) {
	for name, test := range map[string]struct {
		question string
		requests int
	}{
		"short":     {"Where is the key?", 1},
		"a few":     {strings.Repeat("Where is the key? ", 3), 1},
		"long":      {"Where is the key? " + strings.Repeat("I looked here. ", 2000), 3},
		"not short": {"Where is the key? " + strings.Repeat("I looked here. ", 100), 3},
	} {
		t.Run(name, func(t *testing.T) {
			m := newScript(t, fail(modelError(agent.ErrorContext, 0)))
			a := newAgent(t, m, agent.Options{ContextWindow: 128_000, System: strings.Repeat("Be kind. ", 300)})
			_, err := a.Run(t.Context(), turnOf(test.question))
			if err == nil {
				t.Error("Run = nil, want the refusal")
			}
			for _, r := range m.got {
				if !strings.Contains(show(r.Messages), "Where is the") {
					t.Errorf("a request without the question: %.200s", show(r.Messages))
				}
			}
			if len(m.got) != test.requests {
				t.Errorf("%d requests, want %d", len(m.got), test.requests)
			}
		})
	}
}
