package storetest

import (
	"testing"
	"time"

	"dragoman/sessions"
)

// history loads x:1 without a limit.
func (r *rig) history(t *testing.T, limit sessions.HistoryLimit) (sessions.History, []string) {
	t.Helper()
	h, err := r.History(t.Context(), key("x:1"), limit)
	must(t, err)
	var texts []string
	for _, m := range h.Messages {
		texts = append(texts, m.Content)
	}
	return h, texts
}

var transcriptTests = map[string]func(*testing.T, *rig){
	"Transcript/UnknownKeyIsEmpty": func(t *testing.T, r *rig) {
		h, texts := r.history(t, sessions.HistoryLimit{})
		if h.Generation != "" || h.Summary != nil || h.Omitted != 0 || texts != nil {
			t.Errorf("History = %+v", h)
		}
		if ms, err := r.Messages(t.Context(), key("x:1"), 0, 10); err != nil || len(ms) != 0 {
			t.Errorf("Messages = %v, %v", ms, err)
		}
	},
	"Transcript/KeepsEveryField": func(t *testing.T, r *rig) {
		at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
		full := sessions.Message{
			Role: sessions.RoleAssistant, Content: "text", Name: "n", Sender: "s", At: at, Turn: "mine", Model: "m", Synthetic: true, Failed: true,
			ToolCalls:  []sessions.ToolCall{{ID: "1", Name: "f", Arguments: `{"a": 1}`}, {ID: "2", Name: "g", Arguments: "not json"}},
			ToolCallID: "9", Usage: &sessions.Usage{Input: 10, Output: 20, Cached: 5},
		}
		seq := r.accept(t, "x:1", "1", "hi")
		h := r.claim(t)
		must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: []sessions.Answered{{Seq: seq}}, Messages: []sessions.Message{user("hi"), full}}))
		got, _ := r.history(t, sessions.HistoryLimit{})
		full.Seq = 2
		same(t, "message", got.Messages[1], full)
		if m := got.Messages[0]; m.Turn != "t" || m.At.IsZero() || m.Seq != 1 || m.ToolCalls != nil {
			t.Errorf("first message: %+v", m)
		}
	},
	"Transcript/GettersReturnCopies": func(t *testing.T, r *rig) {
		mine := sessions.Message{Role: sessions.RoleAssistant, Content: "a", ToolCalls: []sessions.ToolCall{{ID: "1", Name: "f"}}, Usage: &sessions.Usage{Input: 1}}
		r.say(t, "x:1", "1", mine)
		spoil := func(ms []sessions.Message) {
			ms[0].ToolCalls[0].Name = "spoilt"
			ms[0].Usage.Input = 99
			ms[0].Content = "spoilt"
		}
		spoil([]sessions.Message{mine})
		for range 2 {
			h, _ := r.history(t, sessions.HistoryLimit{})
			page, err := r.Messages(t.Context(), key("x:1"), 0, 10)
			must(t, err)
			for _, ms := range [][]sessions.Message{h.Messages, page} {
				if m := ms[0]; m.ToolCalls[0].Name != "f" || m.Usage.Input != 1 || m.Content != "a" {
					t.Fatalf("message = %+v", m)
				}
				spoil(ms)
			}
		}
		r.accept(t, "x:2", "2", "hi")
		h := r.claim(t)
		r.pending(t, h, 0, "hi").Messages[0].Inbound.Sender.IDs[0] = "spoilt"
		if id := r.pending(t, h, 0, "hi").Messages[0].Inbound.Sender.ID(); id != "42" {
			t.Errorf("sender = %q", id)
		}
	},
	"Transcript/TheNewestFitTheLimit": func(t *testing.T, r *rig) {
		call := assistant("4444")
		call.ToolCalls = []sessions.ToolCall{{ID: "1", Name: "f", Arguments: "123456"}}
		r.say(t, "x:1", "1", user("1"), user("22"), user("333"), call)
		for _, test := range []struct {
			limit   sessions.HistoryLimit
			want    []string
			omitted int
		}{
			{sessions.HistoryLimit{}, []string{"1", "22", "333", "4444"}, 0},
			{sessions.HistoryLimit{Messages: 2}, []string{"333", "4444"}, 2},
			{sessions.HistoryLimit{Messages: 9, Bytes: 13}, []string{"333", "4444"}, 2},
			{sessions.HistoryLimit{Bytes: 12}, []string{"4444"}, 3},
			{sessions.HistoryLimit{Bytes: 9}, nil, 4},
			{sessions.HistoryLimit{Bytes: 16}, []string{"1", "22", "333", "4444"}, 0},
		} {
			h, got := r.history(t, test.limit)
			same(t, "History", got, test.want)
			if h.Omitted != test.omitted {
				t.Errorf("%+v omitted %d, want %d", test.limit, h.Omitted, test.omitted)
			}
		}
	},
	"Transcript/SummaryStandsForWhatItCovers": func(t *testing.T, r *rig) {
		ctx := t.Context()
		r.say(t, "x:1", "1", user("1"), user("2"), user("3"), user("4"))
		h, _ := r.history(t, sessions.HistoryLimit{})
		sum := func(covers int64) sessions.Summary {
			return sessions.Summary{Text: number("to ", int(covers)), CoversSeq: covers, Generation: h.Generation, Model: "m"}
		}
		paid := sessions.Count{Kind: "k", Owner: "o", Day: "20261129", N: 3}
		must(t, r.AddSummary(ctx, key("x:1"), sum(2), paid))
		is(t, "AddSummary of the same, with what it used", r.AddSummary(ctx, key("x:1"), sum(2), paid), sessions.ErrConflict)
		used, err := r.Sum(ctx, "k", "o", "20261129", "20261129")
		must(t, err)
		same(t, "what was counted with it", used, 3)
		got, texts := r.history(t, sessions.HistoryLimit{Messages: 1})
		same(t, "History", texts, []string{"4"})
		if got.Omitted != 1 || got.Summary == nil || got.Summary.Text != "to 2" || got.Summary.Model != "m" || got.Summary.At.IsZero() {
			t.Errorf("History = %+v, summary %+v", got, got.Summary)
		}
		got.Summary.Text = "spoilt"
		for name, bad := range map[string]sessions.Summary{
			"same as the newest": sum(2), "before the newest": sum(1), "beyond the last message": sum(5), "nothing": sum(0), "negative": sum(-1),
			"another generation": {Text: "x", CoversSeq: 3, Generation: "20200101_001"}, "no generation": {Text: "x", CoversSeq: 3},
		} {
			is(t, "AddSummary: "+name, r.AddSummary(ctx, key("x:1"), bad), sessions.ErrConflict)
		}
		is(t, "AddSummary for an unknown key", r.AddSummary(ctx, key("x:9"), sum(3)), sessions.ErrConflict)
		must(t, r.AddSummary(ctx, key("x:1"), sum(4)))
		got, texts = r.history(t, sessions.HistoryLimit{})
		if len(texts) != 0 || got.Omitted != 0 || got.Summary.Text != "to 4" {
			t.Errorf("History = %+v", got)
		}
		// No message was removed.
		same(t, "transcript", r.transcript(t, "x:1"), []string{"user: 1", "user: 2", "user: 3", "user: 4"})
		r.say(t, "x:1", "2", user("5"))
		_, texts = r.history(t, sessions.HistoryLimit{})
		same(t, "History", texts, []string{"5"})
	},
	"Transcript/SummaryOfTheLastGenerationIsRefused": func(t *testing.T, r *rig) {
		r.say(t, "x:1", "1", user("1"), user("2"))
		former, _ := r.history(t, sessions.HistoryLimit{})
		r.enter(t, control("x:1", "2", sessions.ControlNew), sessions.Done)
		r.say(t, "x:1", "3", user("3"))
		h, _ := r.history(t, sessions.HistoryLimit{})
		is(t, "AddSummary of the former generation", r.AddSummary(t.Context(), key("x:1"), sessions.Summary{Text: "x", CoversSeq: 3, Generation: former.Generation}), sessions.ErrConflict)
		is(t, "AddSummary that covers the former generation only", r.AddSummary(t.Context(), key("x:1"), sessions.Summary{Text: "x", CoversSeq: 2, Generation: h.Generation}), sessions.ErrConflict)
		must(t, r.AddSummary(t.Context(), key("x:1"), sessions.Summary{Text: "x", CoversSeq: 3, Generation: h.Generation}))
	},
	"Transcript/GenerationsAreUnique": func(t *testing.T, r *rig) {
		seen := map[string]bool{}
		note := func(k string) {
			t.Helper()
			h, err := r.History(t.Context(), key(k), sessions.HistoryLimit{})
			must(t, err)
			if h.Generation == "" || seen[h.Generation] {
				t.Errorf("generation %q of %s was given before", h.Generation, k)
			}
			seen[h.Generation] = true
		}
		for i := range 3 {
			r.say(t, number("x:", i), number("a", i), user("hi"))
			note(number("x:", i))
		}
		must(t, r.Delete(t.Context(), key("x:0")))
		must(t, r.Delete(t.Context(), key("x:2")))
		for i, k := range []string{"x:0", "x:2", "x:7"} {
			r.say(t, k, number("b", i), user("hi"))
			note(k)
			r.enter(t, control(k, number("c", i), sessions.ControlNew), sessions.Done)
			note(k)
		}
	},
}
