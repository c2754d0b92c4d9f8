package actions_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/internal/actions"

	"github.com/google/go-cmp/cmp"
)

// The table of verdicts, cell by cell.
func TestJudge(t *testing.T) {
	const (
		allow  = actions.Allow
		ask    = actions.Ask
		refuse = actions.Refuse
	)
	tests := []struct {
		name   string
		effect agent.Effect
		rule   agent.Rule
		weigh  bool
		// clean, tainted, nobody there and clean, nobody there and tainted
		want [4]actions.Verdict
	}{
		{"read", agent.EffectRead, "", false, [4]actions.Verdict{allow, allow, allow, allow}},
		{"own", agent.EffectOwn, "", false, [4]actions.Verdict{allow, allow, allow, allow}},
		{"own and weighty", agent.EffectOwn, "", true, [4]actions.Verdict{allow, ask, refuse, refuse}},
		{"out", agent.EffectOut, "", false, [4]actions.Verdict{allow, ask, refuse, refuse}},
		{"run", agent.EffectRun, "", false, [4]actions.Verdict{ask, ask, refuse, refuse}},
		{"read, ruled ask", agent.EffectRead, agent.RuleAsk, false, [4]actions.Verdict{allow, allow, allow, allow}},
		{"own, ruled ask", agent.EffectOwn, agent.RuleAsk, false, [4]actions.Verdict{ask, ask, refuse, refuse}},
		{"out, ruled ask", agent.EffectOut, agent.RuleAsk, false, [4]actions.Verdict{ask, ask, refuse, refuse}},
		{"out, ruled allow", agent.EffectOut, agent.RuleAllow, false, [4]actions.Verdict{allow, ask, allow, refuse}},
		{"run, ruled allow", agent.EffectRun, agent.RuleAllow, false, [4]actions.Verdict{ask, ask, refuse, refuse}},
		{"own and weighty, ruled allow", agent.EffectOwn, agent.RuleAllow, true, [4]actions.Verdict{allow, ask, refuse, refuse}},
		{"read, ruled deny", agent.EffectRead, agent.RuleDeny, false, [4]actions.Verdict{refuse, refuse, refuse, refuse}},
		{"an effect that nobody knows", agent.Effect("new"), "", false, [4]actions.Verdict{allow, ask, refuse, refuse}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got [4]actions.Verdict
			for i := range got {
				got[i] = actions.Judge(actions.Situation{Effect: tt.effect, Rule: tt.rule, Weighty: tt.weigh, Tainted: i%2 == 1, Nobody: i >= 2})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
}

// What is ours is asked about only where it is noticed late, as the tool says.
func TestWeighty(t *testing.T) {
	for _, tt := range []struct {
		weighty, alone, nobody bool
		want                   string
	}{
		{want: "run"},
		{weighty: true, want: "ask"},
		{weighty: true, nobody: true, want: nobody},
		{alone: true, want: "run"},
		{alone: true, nobody: true, want: nobody},
		{nobody: true, want: "run"},
	} {
		w := newWorld(t)
		w.call.Effect = agent.EffectOwn
		w.call.Weighty = tt.weighty
		w.call.WeightyAlone = tt.alone
		w.turn.Nobody = tt.nobody
		if got := w.said(); got != tt.want {
			t.Errorf("%+v: the guard says %q", tt, got)
		}
		w.call.ID = "clean"
		w.call.Origins = nil
		if got := w.said(); !tt.nobody && got != "run" {
			t.Errorf("%+v, without foreign words: the guard says %q", tt, got)
		}
	}
}

// Times of another day say so.
func TestTextBeforeMidnight(t *testing.T) {
	w := newWorld(t)
	w.later(9*60*60*1e9 + 55*60*1e9) // 23:55
	w.said()
	if q := w.question(); !strings.Contains(q.Text(false), "It waits until 29 November 00:05 (UTC).") || !strings.HasSuffix(q.Text(false), "I only listen to those who may decide that.") {
		t.Errorf("the question is %q", q.Text(false))
	}
}

// In a private chat the times are those of the person, in a shared one those of the house, and
// the question says whose clock it is.
func TestTimesAreThePersons(t *testing.T) {
	tokyo := time.FixedZone("Asia/Tokyo", 9*3600)
	for _, tt := range []struct {
		name          string
		given         func(*world)
		until, answer string
	}{
		{"private", func(*world) {}, "It waits until 23:10 (Tokyo).", "web_fetch is allowed by Ann at 23:00."},
		{"group", withSelf, "It waits until 14:10 (UTC).", "web_fetch is allowed by Ann at 14:00."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.o.ZoneOf = func(_ context.Context, identity string) *time.Location {
				if identity != "telegram:42" {
					t.Errorf("the zone of %q is looked up", identity)
				}
				return tokyo
			}
			tt.given(w)
			w.open()
			if got := w.said(); got != "ask" {
				t.Fatalf("the guard says %q", got)
			}
			q := w.question()
			if text := q.Text(w.turn.Private); !strings.Contains(text, tt.until) {
				t.Errorf("the question is %q, want %q in it", text, tt.until)
			}
			if line := q.Line(); !strings.HasSuffix(line, strings.Replace(tt.until, "It waits until", "Until", 1)) {
				t.Errorf("the line is %q", line)
			}
			if got := w.answer(ann, q.Code, actions.AllowOnce).Say(); got != tt.answer {
				t.Errorf("the answer is told as %q, want %q", got, tt.answer)
			}
		})
	}
}
