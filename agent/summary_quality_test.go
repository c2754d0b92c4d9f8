package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// TestCase18AnswersThatAreNoSummary: an answer that is not a summary replaces neither
// messages nor the previous summary.
func TestCase18AnswersThatAreNoSummary(t *testing.T) {
	refusal := response("I can't assist with that request, whoever it is that asks me about these people.", "stop")
	refusal.Refused = true
	old := &sessions.Summary{Text: strings.Repeat("Ada keeps bees, and the hive by the wall costs $129. ", 8), CoversSeq: 99}
	few, many := talk(20), of("en").Messages
	for _, test := range []struct {
		name   string
		msgs   []sessions.Message
		old    *sessions.Summary
		answer agent.Response
		calls  int
	}{
		{"marked as a refusal", few, nil, refusal, 2},
		{"dots", few, nil, response("...", "stop"), 2},
		{"a picture of a mood", few, nil, response("🙏 — …", "stop"), 2},
		{"a refusal after a few messages", few, nil, response("I'm sorry, but I can't help with that.", "stop"), 2},
		{"nothing to do", few, nil, response("Here is the summary:", "stop"), 2},
		{"a refusal in German after many", many, nil, response("Es tut mir leid, aber dabei kann ich nicht helfen.", "stop"), 2},
		{"a refusal in Chinese after many", many, nil, response("抱歉，我无法协助满足该请求。", "stop"), 2},
		{"one word after many", many, nil, response("Done.", "stop"), 2},
		{"a refusal after a summary", few, old, response("Я не могу этого сделать.", "stop"), 2},
	} {
		t.Run("case 18: "+test.name, func(t *testing.T) {
			m := newScript(t, answer(test.answer))
			s, err := newAgent(t, m, agent.Options{Compaction: keeping(8)}).Summarize(t.Context(),
				sessions.History{Messages: test.msgs, Summary: test.old}, nil)
			if !errors.Is(err, recap.ErrBadSummary) || s.Text != "" {
				t.Errorf("Summarize() = %q, %v, want ErrBadSummary", s.Text, err)
			}
			if n := len(m.requests()); n != test.calls {
				t.Errorf("%d requests, want %d", n, test.calls)
			}
		})
	}
}

// A good summary is short if there is little to say.
func TestShortSummariesAreSummaries(t *testing.T) {
	own, brief := keeping(8), keeping(8)
	own.Format, own.Schema = window.JSON, `{"type":"object","required":["topic"],"properties":{"topic":{"type":"string"}}}`
	brief.Prompt = "Name the topics, and nothing else."
	old := &sessions.Summary{Text: strings.Repeat("Ada keeps bees, and the hive by the wall costs $129. ", 200), CoversSeq: 99}
	for _, test := range []struct {
		name   string
		c      window.Compaction
		msgs   []sessions.Message
		old    *sessions.Summary
		answer string
	}{
		{"of two short messages", keeping(8), talk(10), nil, "They greeted each other."},
		{"of few", keeping(8), talk(20), nil, "They talked."},
		{"of few, with a word of the task", keeping(8), talk(20), nil, "## Critical context\nA summary about bread."},
		{"of one that is huge", keeping(8), append([]sessions.Message{{Seq: 1, Role: sessions.RoleUser, Content: strings.Repeat("word ", 3000)}}, talk(8)...), nil, "Ada sent a log."},
		{"of many, in Chinese", keeping(8), long(60), nil, "他们谈了天气和花园，商定了种什么、种在哪里、由谁来种，没有别的问题了。"},
		{"in a schema of the operator's", own, long(60), nil, `{"topic":"bees"}`},
		{"as the operator wants it", brief, long(60), nil, "Bees, hives, honey and prices."},
		{"that tells of a refusal", keeping(8), talk(20), nil, "Ada asked for the key; Dragoman said: I'm sorry, I can't help with that."},
		{"that begins like a refusal and goes on", keeping(8), of("en").Messages, nil, "The assistant was unable to open the page of prices at first. Ada keeps bees and sells the old hive for $129. " +
			"Honey is $9 a jar, the smoker costs 35 euros, and a queen was ordered from Miller. The hives are moved on Friday, after the mites were treated with oxalic acid."},
		{"after one in a longer format", keeping(8), talk(20), old, "Ada keeps bees. The hive by the wall was sold."},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newScript(t, say(test.answer))
			s, err := newAgent(t, m, agent.Options{Compaction: test.c}).Summarize(t.Context(), sessions.History{Messages: test.msgs, Summary: test.old}, nil)
			if err != nil || s.Text == "" || len(m.requests()) != 1 {
				t.Errorf("Summarize() = %q, %v after %d requests, want the summary at once", s.Text, err, len(m.requests()))
			}
		})
	}
}

// The second request shows all messages again, and what was wrong.
func TestThinSummaryIsAskedForOnceMore(t *testing.T) {
	m := newScript(t, say("I cannot do that."), say(theyTalked))
	h := sessions.History{Messages: talk(20), Summary: &sessions.Summary{Text: "B costs $129.", CoversSeq: 99}}
	s, err := newAgent(t, m, agent.Options{Compaction: keeping(8)}).Summarize(t.Context(), h, nil)
	if err != nil || s.Text != theyTalked || s.CoversSeq != 111 {
		t.Fatalf("Summarize() = %q up to %d, %v, want the second answer", s.Text, s.CoversSeq, err)
	}
	contains(t, "the second request", m.requests()[1].Messages[0].Content,
		"B costs $129.", "message-0\n", "message-11\n", "refused, because it is a refusal")
}

// TestSummaryLongerThanTheMessages: if a summary takes more room than the messages it
// covers, the model is asked once more; after that all messages are kept.
func TestSummaryLongerThanTheMessages(t *testing.T) {
	endless := strings.Repeat(theyTalked+" ", 40)
	little := strings.Repeat(theyTalked+" ", 10)
	bounded := keeping(8)
	bounded.Keep.MaxMessages = 20
	old := &sessions.Summary{Text: endless, CoversSeq: 99}
	for _, test := range []struct {
		name    string
		c       window.Compaction
		old     *sessions.Summary
		answers []string
		want    string
		err     error
	}{
		{"a little, of short messages", keeping(8), nil, []string{little}, strings.TrimSpace(little), nil},
		{"twice", keeping(8), nil, []string{endless, endless}, "", recap.ErrLongSummary},
		{"once", keeping(8), nil, []string{endless, theyTalked}, theyTalked, nil},
		{"and then nothing", keeping(8), nil, []string{endless, ""}, "", recap.ErrBadSummary},
		{"and then a refusal", keeping(8), nil, []string{endless, "I cannot do that."}, "", recap.ErrBadSummary},
		{"but not than the one before and the talk", keeping(8), old, []string{endless}, strings.TrimSpace(endless), nil},
		{"where the number of messages is bounded", bounded, nil, []string{endless}, strings.TrimSpace(endless), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var replies []reply
			for _, a := range test.answers {
				replies = append(replies, say(a))
			}
			m := newScript(t, replies...)
			s, err := newAgent(t, m, agent.Options{Compaction: test.c}).Summarize(t.Context(), sessions.History{Messages: talk(20), Summary: test.old}, nil)
			if !errors.Is(err, test.err) || s.Text != test.want {
				t.Errorf("Summarize() = %q, %v, want %q, %v", s.Text, err, test.want, test.err)
			}
			if n := len(m.requests()); n != len(test.answers) {
				t.Errorf("%d requests, want %d", n, len(test.answers))
			}
		})
	}
}

// TestSecondAnswerIsJudgedToo: the second answer, after a summary that was too
// long, is judged like any other.
func TestSecondAnswerIsJudgedToo(t *testing.T) {
	c := keeping(4)
	c.Format, c.MaxChars = window.Concise, 500
	m := newScript(t, say(strings.Repeat(theyTalked+" ", 10)), say("I'm sorry, but I can't do that."))
	s, err := newAgent(t, m, agent.Options{Compaction: c}).Summarize(t.Context(), sessions.History{Messages: talk(40)}, nil)
	if !errors.Is(err, recap.ErrBadSummary) || s.Text != "" {
		t.Errorf("Summarize() = %q, %v after %d requests, want ErrBadSummary", s.Text, err, len(m.requests()))
	}
}

// TestShortSummariesAreUsed: a model that never writes more than a few words still
// gets summaries, and requests do not grow.
func TestShortSummariesAreUsed(t *testing.T) {
	turns, made := 0, 0
	m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		if len(r.Messages) == 1 && strings.Contains(r.Messages[0].Content, "<transcript>") {
			if !strings.Contains(r.Messages[0].Content, "was refused") {
				made++
			}
			return response(fmt.Sprintf("Ada sold hive %d. Nothing else is open.", made), "stop"), nil
		}
		turns++
		return response(said["en"][turns%6], "stop"), nil
	})
	talk := chat{t: t, a: newAgent(t, m, agent.Options{ContextWindow: 16_384, Compaction: keeping(8)}), h: sessions.History{Generation: "g", FirstSeq: 1}}
	most := 0
	for i := range 200 {
		talk.say(said["en"][i%6])
		most = max(most, len(talk.h.Messages))
	}
	if most > 60 || len(talk.summaries) < 5 || talk.unaccounted > 0 {
		t.Errorf("up to %d messages, %d summaries, %d unaccounted for; want 60 at most, 5 and more, none", most, len(talk.summaries), talk.unaccounted)
	}
}
