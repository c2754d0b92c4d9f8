package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// lastText is the newest text in a chat.
func (w *world) lastText(chat string) string {
	texts := w.net.texts(chat)
	return texts[len(texts)-1]
}

// compacting makes every turn ask for a summary before it answers. waited
// returns how that ended for the last turn, and after how long.
func (w *world) compacting() (waited func() (time.Duration, error)) {
	var got error
	var took time.Duration
	w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
		began := time.Now()
		_, got = turn.Compact(ctx, nil)
		took = time.Since(began)
		return echo(ctx, turn)
	}
	return func() (time.Duration, error) { return took, got }
}

// TestWaitedForSummaryFails: a turn whose summary fails learns of it. Otherwise
// it would go on as if the summary existed.
func TestWaitedForSummaryFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		down := errors.New("model down")
		w.agent.needs = func(sessions.History) bool { return true }
		w.agent.summarize = func(context.Context, sessions.History) (sessions.Summary, error) {
			time.Sleep(time.Minute)
			return sessions.Summary{}, down
		}
		w.say("1", "first")
		synctest.Wait() // its summary is being made
		waited := w.compacting()
		w.say("1", "second")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if took, got := waited(); !errors.Is(got, down) || took != time.Minute || w.seen.get("summary failed") != 1 {
			t.Errorf("Compact = %v after %s, want the failure that it waited a minute for", got, took)
		}
		w.expect("1", "echo first", "echo second")
	})
}

// TestWaitingIsBounded: a turn waits two minutes for its summary, then it
// answers without one.
func TestWaitingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.summarize = func(ctx context.Context, _ sessions.History) (sessions.Summary, error) {
			<-ctx.Done()
			return sessions.Summary{}, context.Cause(ctx)
		}
		waited := w.compacting()
		w.say("1", "hello")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		w.expect("1", "echo hello")
		if took, got := waited(); !errors.Is(got, context.DeadlineExceeded) || took != 2*time.Minute || w.seen.get("summary failed") != 1 {
			t.Errorf("Compact = %v after %s, want that it ends after two minutes, and that this counts as a failure", got, took)
		}
	})
}

// TestCompactAgainAfterAFailure: /compact answers whether a summary is being
// made or one failed, and how long to wait. After a minute /compact tries
// again; automatic summaries wait ten minutes.
func TestCompactAgainAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ag := compacting(t, window.Presets["picoclaw"], 32768)
		ag.hold, ag.fail = time.Minute, errors.New("model down")
		w.talk(8)
		ask := func(want string, calls int) {
			t.Helper()
			w.say("1", "/compact")
			synctest.Wait()
			if got := w.lastText("1"); !strings.Contains(got, want) || ag.count() != calls {
				t.Errorf("/compact is answered %q after %d attempts, want %q after %d", got, ag.count(), want, calls)
			}
		}
		ask("I am summarising the older part", 1)
		time.Sleep(30 * time.Second)
		ask("already", 1)
		time.Sleep(40 * time.Second) // it failed ten seconds ago
		ask("failed a short while ago; nothing is lost. Please try again in 50 seconds", 1)
		for i := range 4 { // the trigger is reached, and nobody asks
			w.say("1", fmt.Sprint("later ", i))
			synctest.Wait()
		}
		time.Sleep(50 * time.Second)
		ask("I am summarising the older part", 2)
		time.Sleep(61 * time.Second)
		ask("failed a short while ago", 2)
		time.Sleep(time.Minute)
		ag.fail = nil
		ask("I am summarising the older part", 3)
		time.Sleep(2 * time.Minute)
		if h := w.history("1"); h.Summary == nil || len(h.Messages) != 4 {
			t.Errorf("after it was mended: summary %v, %d messages", h.Summary, len(h.Messages))
		}
		ask("nothing to summarise", 3)
	})
}

// TestFailedCompactIsSaid: whoever asked for a summary hears that it failed,
// also if it had begun already, whoever began it. Other people hear nothing.
func TestFailedCompactIsSaid(t *testing.T) {
	const began, busy = "I am summarising the older part of this conversation. All that was said is kept.", "I am summarising this conversation already."
	const failed = "I could not summarise this conversation. Nothing is lost, and it goes on as before; you can ask for it again with /compact."
	asks := window.Presets["picoclaw"]
	asks.When = window.WhenAsk
	for name, test := range map[string]struct {
		preset   window.Compaction
		messages int
		commands int
		want     []string
	}{
		"asked":        {window.Presets["picoclaw"], 8, 1, []string{began, failed}},
		"when: ask":    {asks, 8, 1, []string{began, failed}},
		"asked twice":  {window.Presets["picoclaw"], 8, 2, []string{began, busy, failed}},
		"on its way":   {window.Presets["picoclaw"], 11, 1, []string{busy, failed}},
		"nobody asked": {window.Presets["picoclaw"], 11, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, ag := compacting(t, test.preset, 32768)
				ag.hold, ag.fail = time.Minute, errors.New("model down")
				w.talk(test.messages)
				for range test.commands {
					w.say("1", "/compact")
					synctest.Wait()
				}
				time.Sleep(2 * time.Minute)
				w.say("1", "and on")
				synctest.Wait()
				got := slices.DeleteFunc(w.net.texts("1"), func(s string) bool { return s == "noted" })
				if !slices.Equal(got, test.want) || ag.count() != 1 {
					t.Errorf("it says %q after %d attempts, want %q after one", got, ag.count(), test.want)
				}
				if h := w.history("1"); h.Summary != nil || len(h.Messages) != 2*test.messages+2 {
					t.Errorf("a summary %v and %d messages, want all that was said", h.Summary, len(h.Messages))
				}
			})
		})
	}
}

// TestCompactCutOffIsSaid: the end of the process cuts off summaries, both
// running and waiting ones. Whoever asked hears of it after the next start.
// There is no notice of a finished or an automatic summary.
func TestCompactCutOffIsSaid(t *testing.T) {
	for name, test := range map[string]struct {
		messages int
		commands int
		done     bool
		want     bool
	}{
		"asked":        {8, 1, false, true},
		"asked twice":  {8, 2, false, true},
		"on its way":   {11, 1, false, true},
		"nobody asked": {11, 0, false, false},
		"done":         {8, 1, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, ag := compacting(t, window.Presets["picoclaw"], 32768)
				ag.hold = time.Minute
				w.talk(test.messages)
				for range test.commands {
					w.say("1", "/compact")
					synctest.Wait()
				}
				if test.done {
					time.Sleep(2 * time.Minute)
				}
				w.close()
				items, err := w.mem.Feed(context.Background(), channels.MustKey("net:1"), 0, 100)
				if err != nil {
					t.Fatal(err)
				}
				said := 0
				for _, item := range items {
					if strings.Contains(item.Text, "I was restarted before this conversation was summarised. Nothing is lost") {
						said++
						if item.State != sessions.DeliveryQueued {
							t.Errorf("its state is %s, want that it is delivered after the next start", item.State)
						}
					}
				}
				if want := map[bool]int{true: 1}[test.want]; said != want {
					t.Errorf("it is said %d times, want %d", said, want)
				}
			})
		})
	}
}

// TestCompactBehindACutTurnIsSaid: if a turn makes a summary and is ended
// before it is done, a person who asked meanwhile hears once that it failed,
// and why. Automatic summaries are not mentioned.
func TestCompactBehindACutTurnIsSaid(t *testing.T) {
	const stopped, restarted = "was stopped, and so was the summary. Nothing is lost", "I was restarted before this conversation was summarised. Nothing is lost"
	say := func(text string) func(*world) { return func(w *world) { w.say("1", text) } }
	for name, test := range map[string]struct {
		asks bool
		cut  func(*world)
		want []string
	}{
		"stopped":                    {true, say("/stop"), []string{stopped}},
		"restarted":                  {true, (*world).close, []string{restarted}},
		"stopped, and nobody asked":  {false, say("/stop"), nil},
		"restarted and nobody asked": {false, (*world).close, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.agent.can = true
				w.agent.summarize = func(ctx context.Context, _ sessions.History) (sessions.Summary, error) {
					<-ctx.Done()
					return sessions.Summary{}, context.Cause(ctx)
				}
				w.say("1", "hello")
				synctest.Wait()
				w.compacting()
				w.say("1", "hello again")
				synctest.Wait() // its summary is being made
				if test.asks {
					w.say("1", "/compact")
					synctest.Wait()
				}
				test.cut(w)
				synctest.Wait()
				items, err := w.mem.Feed(context.Background(), channels.MustKey("net:1"), 0, 100)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, item := range items {
					for _, words := range []string{stopped, restarted} {
						if strings.Contains(item.Text, words) {
							got = append(got, words)
						}
					}
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("it says %q, want %q", got, test.want)
				}
			})
		})
	}
}

// TestCompactWhereSummariesAreOff: /compact is not offered if summaries are
// off.
func TestCompactWhereSummariesAreOff(t *testing.T) {
	for when, off := range map[window.When]bool{window.WhenOff: true, window.WhenAuto: false} {
		synctest.Test(t, func(t *testing.T) {
			c := window.Presets["picoclaw"]
			c.When = when
			w, _ := compacting(t, c, 32768)
			w.say("1", "/compact")
			synctest.Wait()
			if got := w.lastText("1"); strings.Contains(got, "turned them off") != off {
				t.Errorf("with summaries %s, /compact is answered %q", when, got)
			}
			w.say("1", "/help")
			synctest.Wait()
			if got := w.lastText("1"); strings.Contains(got, "/compact") == off || !strings.Contains(got, "/status") {
				t.Errorf("with summaries %s, /help says %q", when, got)
			}
		})
	}
}

// TestCompactOfAShortTalk: if a summary would be longer than the messages it
// replaces, /compact says so, and it does not count as a failure.
func TestCompactOfAShortTalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ag := compacting(t, window.Presets["picoclaw"], 32768)
		ag.fail = fmt.Errorf("test: %w", recap.ErrLongSummary)
		w.talk(8)
		w.say("1", "/compact")
		time.Sleep(time.Second)
		synctest.Wait()
		if got := w.lastText("1"); !strings.Contains(got, "A summary would be longer") {
			t.Errorf("it says %q, want why there is no summary", got)
		}
		if h := w.history("1"); h.Summary != nil || len(h.Messages) != 16 || w.seen.get("summary longer") != 1 || w.seen.get("summary failed") != 0 {
			t.Errorf("a summary %v, %d messages, %d counted as longer, want all messages and one", h.Summary, len(h.Messages), w.seen.get("summary longer"))
		}
		for i := range 4 { // the trigger is reached, and the next one waits
			w.say("1", fmt.Sprint("later ", i))
			synctest.Wait()
		}
		if ag.count() != 1 {
			t.Errorf("%d attempts, want one in ten minutes", ag.count())
		}
	})
}
