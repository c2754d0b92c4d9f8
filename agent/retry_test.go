package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/sessions"
)

func modelError(kind agent.ErrorKind, after time.Duration) error {
	return &agent.ModelError{Kind: kind, After: after, Err: errors.New("the server is busy")}
}

func TestRetry(t *testing.T) {
	temporary := fail(modelError(agent.ErrorTemporary, 0))
	for _, test := range []struct {
		name     string
		replies  []reply
		calls    int
		min, max time.Duration
		kind     agent.ErrorKind // "": it ends well
	}{
		{"second try", []reply{temporary, say("Hi.")}, 2, 250 * time.Millisecond, 500 * time.Millisecond, ""},
		{"no type", []reply{fail(errors.New("odd")), say("Hi.")}, 2, 250 * time.Millisecond, 500 * time.Millisecond, ""},
		{"last try", []reply{temporary, temporary, temporary, say("Hi.")}, 4, 1750 * time.Millisecond, 3500 * time.Millisecond, ""},
		{"too often", []reply{temporary}, 4, 1750 * time.Millisecond, 3500 * time.Millisecond, agent.ErrorTemporary},
		{"the server says when", []reply{fail(modelError(agent.ErrorTemporary, 7*time.Second)), say("Hi.")}, 2, 7 * time.Second, 7 * time.Second, ""},
		{"the server says much later", []reply{fail(modelError(agent.ErrorTemporary, time.Hour)), say("Hi.")}, 1, 0, 0, agent.ErrorTemporary},
		{"refused", []reply{fail(modelError(agent.ErrorRefused, 0)), say("Hi.")}, 1, 0, 0, agent.ErrorRefused},
		{"invalid", []reply{fail(modelError(agent.ErrorInvalid, 0)), say("Hi.")}, 1, 0, 0, agent.ErrorInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newScript(t, test.replies...)
				begun := time.Now()
				res, err := newAgent(t, m, agent.Options{}).Run(t.Context(), turnOf("go"))
				took := time.Since(begun)
				if n := len(m.requests()); n != test.calls {
					t.Errorf("%d model calls, want %d", n, test.calls)
				}
				if took < test.min || took > test.max {
					t.Errorf("took %v, want %v to %v", took, test.min, test.max)
				}
				if test.kind == "" {
					if err != nil || res.Text != "Hi." || res.Steps != 1 {
						t.Errorf("Run() = %q after %d steps, %v, want Hi.", res.Text, res.Steps, err)
					}
					return
				}
				var me *agent.ModelError
				if !errors.As(err, &me) || me.Kind != test.kind {
					t.Errorf("Run() = %v, want a *ModelError of kind %s", err, test.kind)
				}
			})
		})
	}
}

// TestRetryStreamsAnew: the text of a broken stream is replaced, not added to.
// A call is not tried again after the time at which the caller gives up.
func TestRetryEndsWithTheCaller(t *testing.T) {
	for after, want := range map[time.Duration]int{0: 4, time.Hour: 4, 700 * time.Millisecond: 2, time.Nanosecond: 1} {
		synctest.Test(t, func(t *testing.T) {
			m := newScript(t, fail(modelError(agent.ErrorTemporary, 0)))
			turn := turnOf("go")
			if after > 0 {
				turn.Until = time.Now().Add(after)
			}
			_, err := newAgent(t, m, agent.Options{}).Run(t.Context(), turn)
			if got := len(m.requests()); err == nil || got != want {
				t.Errorf("with %v left: %v after %d requests, want an error after %d", after, err, got, want)
			}
			if until := m.requests()[0].Until; !until.Equal(turn.Until) {
				t.Errorf("the request ends at %v, want %v", until, turn.Until)
			}
		})
	}
}

func TestRetryStreamsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newScript(t, func(_ context.Context, _ agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
			onDelta(agent.Delta{Text: "Broken"})
			return agent.Response{}, modelError(agent.ErrorTemporary, 0)
		}, say("Whole answer."))
		var seen []string
		turn := turnOf("go")
		turn.Progress = func(p agent.Progress) { seen = append(seen, p.Text) }
		run(t, newAgent(t, &able{m, agent.Abilities{SeparatesThoughts: true}}, agent.Options{}), turn)
		if want := []string{"", "Broken", "Whole ", "Whole answer."}; !slices.Equal(seen, want) {
			t.Errorf("Progress = %q, want %q", seen, want)
		}
	})
}

// TestStop: a stopped turn ends at once, whatever it is doing.
func TestStop(t *testing.T) {
	block := func(ctx context.Context, _ agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		<-ctx.Done()
		return agent.Response{}, ctx.Err()
	}
	for name, replies := range map[string][]reply{
		"in the model":    {block},
		"in a tool":       {call("c1 get {}")},
		"between retries": {fail(modelError(agent.ErrorTemporary, 19*time.Second))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				var j journal
				turn := turnOf("go")
				turn.Record = j.record
				begun := time.Now()
				_, err := newAgent(t, newScript(t, replies...), agent.Options{}, get(func(ctx context.Context, _ agent.Call) (string, error) {
					<-ctx.Done()
					return "", ctx.Err()
				})).Run(ctx, turn)
				if took := time.Since(begun); !errors.Is(err, context.Canceled) || took > time.Second {
					t.Errorf("Run() = %v after %v, want Canceled after 1s", err, took)
				}
				if strings.Contains(j.shape(), "tool_done") {
					t.Errorf("journal = %q, want no result of a call that was stopped", j.shape())
				}
			})
		})
	}
}

// long returns a history with about 100 tokens a message.
func long(messages int) []sessions.Message {
	words := strings.TrimSpace(strings.Repeat("word ", 96))
	var msgs []sessions.Message
	for i := range messages {
		role := sessions.RoleUser
		if i%2 == 1 {
			role = sessions.RoleAssistant
		}
		msgs = append(msgs, sessions.Message{Seq: int64(i + 1), Role: role, Content: words})
	}
	return msgs
}

// TestBudget: a request never takes more than the window, and always contains the
// newest message (acceptance cases 27 and 31).
func TestBudget(t *testing.T) {
	turn := turnOf("what now?")
	turn.Input = append(turn.Input, sessions.Message{Role: sessions.RoleUser, Content: "and this?"})
	turn.History.Messages = long(200) // 20,000 tokens
	big := get(func(context.Context, agent.Call) (string, error) { return strings.Repeat("result ", 1500), nil })
	var replies []reply
	for i := range 8 {
		replies = append(replies, call("c "+`get {"n":`+string(rune('0'+i))+`}`))
	}
	m := newScript(t, append(replies, say("Done."))...)
	const window8k = 8000
	res := runUnsummarised(t, newAgent(t, m, agent.Options{ContextWindow: window8k}, big), turn)
	if res.Text != "Done." || len(m.requests()) != 9 {
		t.Fatalf("Result = %q after %d requests", res.Text, len(m.requests()))
	}
	for i, req := range m.requests() {
		if n := window.Count(req.Messages, nil); n > window8k*9/10 {
			t.Errorf("request %d takes about %d tokens of %d", i, n, window8k)
		}
		if !strings.Contains(show(req.Messages), "what now?\n\nand this?") {
			t.Errorf("request %d lacks a message that the turn answers", i)
		}
	}
	if len(res.Messages) != 2+8*2+1 {
		t.Errorf("Result has %d messages, want all 19", len(res.Messages))
	}
}

// TestContextError: the server counts differently from us.
func TestContextError(t *testing.T) {
	tooLong := fail(modelError(agent.ErrorContext, 0))
	for _, test := range []struct {
		name    string
		history int
		replies []reply
		calls   int
		ok      bool
	}{
		{"once", 100, []reply{tooLong, say("Hi.")}, 2, true},
		{"twice", 100, []reply{tooLong, tooLong, say("Hi.")}, 3, true},
		{"for ever", 100, []reply{tooLong}, 3, false},
		{"nothing to leave out", 0, []reply{tooLong}, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newScript(t, test.replies...)
			turn := turnOf("what now?")
			turn.History.Messages = long(test.history)
			res, err := newAgent(t, m, agent.Options{}).Run(t.Context(), turn)
			reqs := m.requests()
			if len(reqs) != test.calls {
				t.Errorf("%d requests, want %d", len(reqs), test.calls)
			}
			for i := 1; i < len(reqs); i++ {
				if before, now := window.Count(reqs[i-1].Messages, nil), window.Count(reqs[i].Messages, nil); now > before*7/10 {
					t.Errorf("request %d takes %d tokens after %d, want far less", i, now, before)
				}
			}
			var me *agent.ModelError
			if test.ok && (err != nil || res.Text != "Hi.") {
				t.Errorf("Run() = %q, %v, want Hi.", res.Text, err)
			} else if !test.ok && (!errors.As(err, &me) || me.Kind != agent.ErrorContext || !strings.Contains(err.Error(), "does not fit")) {
				t.Errorf("Run() = %v, want a clear error of kind context", err)
			}
		})
	}
	t.Run("stays small for the rest of the turn", func(t *testing.T) {
		m := newScript(t, tooLong, call("c1 get {}"), say("Hi."))
		turn := turnOf("what now?")
		turn.History.Messages = long(100)
		runUnsummarised(t, newAgent(t, m, agent.Options{}, newCounter("get")), turn)
		reqs := m.requests()
		if second, third := window.Count(reqs[1].Messages, nil), window.Count(reqs[2].Messages, nil); third > second*11/10 {
			t.Errorf("the request after a refused one takes %d tokens, the next %d, want no more", second, third)
		}
	})
}
