package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/metrics"
	"dragoman/sessions"
)

// noting is a real agent whose Summarize can be watched and held up.
type noting struct {
	*agent.Agent
	mu    sync.Mutex
	calls int
	hold  time.Duration
	fail  error
}

func (n *noting) Summarize(ctx context.Context, h sessions.History, keep *window.Keep) (sessions.Summary, error) {
	n.mu.Lock()
	n.calls++
	n.mu.Unlock()
	time.Sleep(n.hold)
	if n.fail != nil {
		return sessions.Summary{}, n.fail
	}
	return n.Agent.Summarize(ctx, h, keep)
}

func (n *noting) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls
}

// theyTalked is a summary that says enough of any number of messages.
const theyTalked = "They talked about the weather and the garden, as in 10 and 11, agreed on what to plant where and who would do it, and left nothing open."

// plainModel answers every question, and writes summaries in the format that it
// is asked for.
type plainModel struct{}

func (plainModel) Name() string { return "plain" }

func (plainModel) Complete(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
	last := r.Messages[len(r.Messages)-1].Content
	text := "noted"
	if strings.Contains(last, "<transcript>") {
		text = "## Goal\n" + theyTalked
		if strings.Contains(r.System, `"key_facts"`) {
			text = `{"title":"Talk","keywords":["talk"],"summary":"` + theyTalked + `","key_points":[],"key_facts":[],"sentiment":"neutral","confidence":5}`
		}
	}
	return agent.Response{Message: sessions.Message{Role: sessions.RoleAssistant, Content: text}, Finish: "stop"}, nil
}

// compacting starts a world with a real agent that compacts as c says.
func compacting(t *testing.T, c window.Compaction, tokens int, changes ...change) (*world, *noting) {
	t.Helper()
	ag, err := agent.New(plainModel{}, nil, agent.Options{ContextWindow: tokens, Compaction: c})
	if err != nil {
		t.Fatal(err)
	}
	n := &noting{Agent: ag}
	real := func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.real = n }
	w := start(t, append([]change{real}, changes...)...)
	return w, n
}

func (w *world) history(chat string) sessions.History {
	w.t.Helper()
	h, err := w.mem.History(w.t.Context(), channels.MustKey("net:"+chat), sessions.HistoryLimit{})
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// TestCase16Background: 20 messages start no summary, 21 start one, and the
// messages that it replaced are still found (case 32).
func TestCase16Background(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ag := compacting(t, window.Presets["picoclaw"], 32768)
		w.say("1", "the price is B=$129")
		for i := range 9 {
			synctest.Wait()
			w.say("1", fmt.Sprint("message ", i))
		}
		synctest.Wait()
		if ag.count() != 0 {
			t.Fatalf("%d summaries after 20 messages, want none", ag.count())
		}
		w.say("1", "one more")
		synctest.Wait()
		h := w.history("1")
		if ag.count() != 1 || h.Summary == nil || len(h.Messages) != 4 {
			t.Fatalf("%d summaries and %d messages left, want 1 and 4", ag.count(), len(h.Messages))
		}
		found, err := w.mem.SearchAll(t.Context(), sessions.Search{Key: channels.MustKey("net:1"), Query: "price", Limit: 5})
		if err != nil || len(found) != 1 || !strings.Contains(found[0].Message.Content, "B=$129") {
			t.Errorf("case 32: Search = %+v, %v, want the price", found, err)
		}
	})
}

// Messages that a turn does not load are summarised, however small a part of
// the window they take: otherwise the model would never see them.
func TestWhatIsNotLoadedIsSummarised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := window.Presets["goose-balanced"]
		c.Keep = window.Keep{Unit: window.UnitMessages, N: 10}
		w, ag := compacting(t, c, 1<<20, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.HistoryMessages = 40 })
		for i := range 60 {
			w.say("1", fmt.Sprint("message ", i))
			synctest.Wait()
			h, err := w.mem.History(t.Context(), channels.MustKey("net:1"), sessions.HistoryLimit{Messages: 40})
			if err != nil || h.Omitted != 0 {
				t.Fatalf("after %d turns %d messages are neither loaded nor summarised, %v", i+1, h.Omitted, err)
			}
		}
		if n := ag.count(); n < 2 || n > 5 {
			t.Errorf("%d summaries, want one for about 30 messages", n)
		}
	})
}

// Without summaries the loaded history begins at the same message for a while,
// so that requests share a prefix.
func TestLoadedHistoryIsSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first []int64
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.HistoryMessages = 256 })
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if h := turn.History; len(h.Messages) > 0 {
				if int(h.Messages[0].Seq)-1 != h.Omitted {
					t.Errorf("a history that begins at %d says that %d were left out", h.Messages[0].Seq, h.Omitted)
				}
				if len(first) == 0 || first[len(first)-1] != h.Messages[0].Seq {
					first = append(first, h.Messages[0].Seq)
				}
			}
			return echo(ctx, turn)
		}
		w.talk(200)
		if want := []int64{1, 64, 128, 192}; !slices.Equal(first, want) {
			t.Errorf("histories began at %d, want %d", first, want)
		}
	})
}

// TestCase19MessagesDuringASummary: messages that come while a summary is made
// are answered at once, and follow the summary in order and word for word.
func TestCase19MessagesDuringASummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ag := compacting(t, window.Presets["picoclaw"], 32768)
		ag.hold = time.Minute
		w.talk(11)
		for _, text := range []string{"meanwhile 1", "meanwhile 2"} {
			w.say("1", text)
			synctest.Wait()
		}
		if h := w.history("1"); ag.count() != 1 || h.Summary != nil || len(w.net.texts("1")) != 13 {
			t.Fatalf("%d summaries begun, summary %v, %d answers; want one under way and 13 answers", ag.count(), h.Summary, len(w.net.texts("1")))
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		h := w.history("1")
		if h.Summary == nil {
			t.Fatal("there is no summary")
		}
		var said []string
		for i, m := range h.Messages {
			if i > 0 && m.Seq != h.Messages[i-1].Seq+1 {
				t.Errorf("message %d follows %d", m.Seq, h.Messages[i-1].Seq)
			}
			if m.Role == sessions.RoleUser {
				said = append(said, m.Content)
			}
		}
		if n := len(said); n < 3 || said[n-2] != "meanwhile 1" || said[n-1] != "meanwhile 2" || h.Messages[0].Seq != h.Summary.CoversSeq+1 {
			t.Errorf("after the summary of all up to %d stands %q from %d on", h.Summary.CoversSeq, said, h.Messages[0].Seq)
		}
		if n := w.seen.get("unaccounted"); n != 0 {
			t.Errorf("messages unaccounted for in %d turns", n)
		}
	})
}

// TestCase20NewDuringASummary: a summary of a conversation that /new has ended
// is dropped.
func TestCase20NewDuringASummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ag := compacting(t, window.Presets["picoclaw"], 32768)
		ag.hold = time.Minute
		w.talk(11)
		w.say("1", "/new")
		synctest.Wait()
		w.say("1", "fresh")
		time.Sleep(time.Hour)
		if h := w.history("1"); h.Summary != nil || len(h.Messages) != 2 {
			t.Errorf("after /new: summary %v and %d messages, want none and 2", h.Summary, len(h.Messages))
		}
		if n := w.seen.get("summary outdated"); ag.count() != 1 || n != 1 {
			t.Errorf("%d summaries, %d outdated, want one that is", ag.count(), n)
		}
	})
}

// TestCase20DeletedDuringASummary: a summary does not bring back messages that
// were deleted meanwhile.
func TestCase20DeletedDuringASummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ag := compacting(t, window.Presets["picoclaw"], 32768)
		ag.hold = time.Minute
		w.talk(11)
		if err := w.mem.Delete(t.Context(), channels.MustKey("net:1")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := w.seen.get("summary outdated"); ag.count() != 1 || n != 1 {
			t.Errorf("%d summaries, %d outdated, want one that is", ag.count(), n)
		}
		if list, err := w.mem.Find(t.Context(), sessions.Query{Limit: 10}); err != nil || len(list) != 0 {
			t.Errorf("Find = %+v, %v, want that it stays deleted", list, err)
		}
		w.say("1", "anew")
		time.Sleep(time.Hour)
		if h := w.history("1"); h.Summary != nil || len(h.Messages) != 2 {
			t.Errorf("afterwards: summary %v and %d messages, want none and 2", h.Summary, len(h.Messages))
		}
	})
}

// TestCase21OneSummaryAtATime: a turn that needs a summary waits for the one in
// the background instead of making another.
func TestCase21OneSummaryAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ag := compacting(t, window.Presets["picoclaw"], 2048)
		ag.hold = time.Minute
		for i := 0; ag.count() == 0; i++ {
			if i == 100 {
				t.Fatal("100 messages and no summary")
			}
			w.say("1", fmt.Sprint("message ", i, strings.Repeat(" word", 60)))
			synctest.Wait()
		}
		before := len(w.net.texts("1"))
		w.say("1", "a long one"+strings.Repeat(" word", 1100)) // does not fit any more
		synctest.Wait()
		if got, texts := ag.count(), w.net.texts("1"); got != 1 || len(texts) != before {
			t.Fatalf("%d summaries at once, %d answers after %d; want 1 and that the turn waits", got, len(texts), before)
		}
		time.Sleep(ag.hold)
		synctest.Wait()
		if texts := w.net.texts("1"); len(texts) != before+1 || texts[before] != "noted" {
			t.Errorf("the waiting turn was answered with %q once there was a summary", texts[before:])
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if h := w.history("1"); h.Summary == nil || ag.count() != 1 {
			t.Errorf("summary %v after %d calls, want one that serves both", h.Summary, ag.count())
		}
		if n := w.seen.get("unaccounted"); n != 0 {
			t.Errorf("messages unaccounted for in %d turns", n)
		}
	})
}

// forgetful is a store that silently loses messages after a summary.
type forgetful struct{ gateway.Conversations }

func (f forgetful) History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error) {
	h, err := f.Conversations.History(ctx, k, limit)
	if h.Summary != nil && len(h.Messages) > 3 {
		h.Messages = h.Messages[2:]
	}
	return h, err
}

// TestLostMessagesAreCounted: if a store loses messages, or an agent summarises
// fewer than it says, a metric that is otherwise 0 shows it.
func TestLostMessagesAreCounted(t *testing.T) {
	for name, test := range map[string]struct {
		lie  change
		want string
	}{
		"the store": {func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.store.Conversations = forgetful{w.mem} }, "2"},
		"the agent": {func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			w.real.(*noting).fail = fmt.Errorf("it is so: %w", recap.ErrUnseen)
		}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := metrics.New("test", "")
				w, _ := compacting(t, window.Presets["picoclaw"], 32768, test.lie,
					func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Observer = set })
				w.talk(12)
				page := httptest.NewRecorder()
				set.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
				const metric = "\ndragoman_messages_unaccounted_total{said=\"no\"} "
				if _, rest, _ := strings.Cut(page.Body.String(), metric); !strings.HasPrefix(rest, test.want+"\n") {
					t.Errorf("the metric is %.10q, want %s", rest, test.want)
				}
			})
		})
	}
}

// TestATurnOvertakesTheQueue: a turn that needs its summary now does not wait
// for those of other conversations.
func TestATurnOvertakesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t) // one slot
		w.agent.needs = func(h sessions.History) bool { return h.Summary == nil }
		calls := map[string]int{}
		w.agent.summarize = func(ctx context.Context, h sessions.History) (sessions.Summary, error) {
			said := h.Messages[0].Content
			calls[said]++
			if said == "first" {
				time.Sleep(4 * time.Minute)
			}
			return sessions.Summary{Text: "They talked.", Generation: h.Generation, CoversSeq: h.Messages[len(h.Messages)-1].Seq}, nil
		}
		w.say("1", "first")
		synctest.Wait()
		w.say("2", "second")
		synctest.Wait() // its summary waits for the slot
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			began := time.Now()
			h, err := turn.Compact(ctx, nil)
			if took := time.Since(began); err != nil || h.Summary == nil || took > time.Minute {
				t.Errorf("Compact = %+v, %v after %s", h.Summary, err, took)
			}
			return echo(ctx, turn)
		}
		w.say("2", "third")
		time.Sleep(time.Hour)
		synctest.Wait() // also for the race detector: calls is theirs until here
		if len(calls) != 2 || calls["first"] != 1 || calls["second"] != 1 {
			t.Errorf("summaries of %v, want one of each conversation", calls)
		}
		w.expect("2", "echo second", "echo third")
	})
}

// TestCompactionInATurn: messages that would not fit are summarised while the
// turn waits (cases 27 and 29), and none is passed over. After a failure (case
// 18) the turn goes on without a summary, and the next turns do not try at
// once.
func TestCompactionInATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := window.Presets["goose-conservative"]
		c.Trigger.TokensPercent = 99
		c.Keep.N = 2
		w, ag := compacting(t, c, 2048)
		for i := range 40 {
			w.say("1", fmt.Sprint("message ", i, strings.Repeat(" word", 60)))
			synctest.Wait()
		}
		if h := w.history("1"); ag.count() == 0 || h.Summary == nil {
			t.Fatalf("%d summaries, and the newest is %v", ag.count(), h.Summary)
		}
		if got := len(w.transcript("1")); got != 80 {
			t.Errorf("the transcript has %d messages, want all 80", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		calls := 0
		w.agent.summarize = func(context.Context, sessions.History) (sessions.Summary, error) {
			calls++
			return sessions.Summary{}, errors.New("model down")
		}
		var got []error
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			_, err := turn.Compact(ctx, nil)
			got = append(got, err)
			return echo(ctx, turn)
		}
		for i := range 3 {
			w.say("1", fmt.Sprint(i))
			synctest.Wait()
		}
		if calls != 1 || len(got) != 3 || got[0] == nil || got[2] == nil || w.seen.get("summary failed") != 1 {
			t.Errorf("case 18: %d calls, errors %v, want one call and an error for each turn", calls, got)
		}
		w.expect("1", "echo 0", "echo 1", "echo 2")
	})
}
