package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// failing makes the first n sends of a chat fail with err.
func failing(n int, err error) func(channels.Outbound) error {
	var mu sync.Mutex
	return func(channels.Outbound) error {
		mu.Lock()
		defer mu.Unlock()
		n--
		if n >= 0 {
			return err
		}
		return nil
	}
}

func TestDeliveryByClassOfError(t *testing.T) {
	tests := []struct {
		name     string
		err      error
		n        int // how often it fails
		want     []string
		repeated int
		dead     int
		least    time.Duration
	}{
		{"temporary may have arrived", errors.New("timeout"), 1, []string{"↻ echo hello"}, 1, 0, time.Second},
		{"nothing was sent", &channels.NotSent{Err: errors.New("refused")}, 3, []string{"echo hello"}, 0, 0, time.Second},
		{"retry after", fmt.Errorf("telegram: %w", &channels.Retry{After: 40 * time.Second}), 1, []string{"echo hello"}, 0, 0, 40 * time.Second},
		{"permanent", fmt.Errorf("telegram: blocked: %w", channels.ErrPermanent), 1, nil, 0, 1, 0},
		{"a pause for years", &channels.Retry{After: 1e9 * time.Second}, 1 << 30, nil, 0, 1, 24 * time.Hour},
		{"for ever", &channels.NotSent{Err: errors.New("down")}, 1 << 30, nil, 0, 1, 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.net.failWith(failing(tt.n, tt.err))
				began := time.Now()
				w.say("1", "hello")
				synctest.Wait()
				for len(w.net.texts("1")) == 0 && w.seen.get("delivered net dead") == 0 {
					time.Sleep(time.Second)
					if time.Since(began) > 48*time.Hour {
						t.Fatal("neither sent nor dead after two days")
					}
				}
				w.expect("1", tt.want...)
				if took := time.Since(began); took < tt.least {
					t.Errorf("settled after %s, want at least %s", took, tt.least)
				}
				if got := w.seen.get("repeated net"); got != tt.repeated {
					t.Errorf("repeats counted = %d, want %d", got, tt.repeated)
				}
				if st, _ := w.mem.Stats(t.Context()); st.Dead != tt.dead || st.Unsent != 0 {
					t.Errorf("Stats = %+v, want %d dead and nothing unsent", st, tt.dead)
				}
			})
		})
	}
}

func TestNothingOvertakesAnUndeliveredMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.net.failWith(failing(1, &channels.Retry{After: time.Minute}))
		w.say("1", "one")
		synctest.Wait()
		w.say("1", "two") // its turn runs, its answer waits
		synctest.Wait()
		w.expect("1")
		time.Sleep(2 * time.Minute)
		w.expect("1", "echo one", "echo two")
	})
}

func TestAPanicInSendHarmsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		first := true
		w.net.failWith(func(m channels.Outbound) error {
			if m.Key.Chat() == "1" && first {
				first = false
				panic("bug")
			}
			return nil
		})
		w.say("1", "a")
		w.say("2", "b")
		time.Sleep(time.Minute)
		w.expect("2", "echo b")
		w.expect("1", "↻ echo a")
	})
}

// streaming answers with text that grows word by word, one word a second.
func streaming(words ...string) func(context.Context, agent.Turn) (string, error) {
	return func(ctx context.Context, turn agent.Turn) (string, error) {
		text := ""
		for _, word := range words {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Second):
			}
			text += word + " "
			turn.Progress(agent.Progress{Text: text})
		}
		return text + "end", nil
	}
}

func TestPreviewBecomesTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.run = streaming("one", "two", "three")
		w.say("1", "count")
		time.Sleep(time.Minute)
		w.expect("1", "one two three end")
		w.net.mu.Lock()
		defer w.net.mu.Unlock()
		if got := w.net.sent[0].Edit; got != "p1" {
			t.Errorf("the answer edits %q, want the preview p1", got)
		}
		if len(w.net.previews) < 2 || w.net.previews[0].MessageID != "" || w.net.previews[1].MessageID != "p1" {
			t.Errorf("previews = %+v, want a first one and edits of it", w.net.previews)
		}
		if w.net.typed == 0 {
			t.Error("no typing sign was shown")
		}
	})
}

func TestQuickAnswersShowNoTyping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "hi")
		w.expect("1", "echo hi")
		if w.net.typed != 0 || len(w.net.previews) != 0 {
			t.Errorf("typing %d, previews %d, want none for an instant answer", w.net.typed, len(w.net.previews))
		}
	})
}

func TestUncertainEditIsNotMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.run = streaming("one", "two")
		w.net.failWith(failing(1, errors.New("timeout")))
		w.say("1", "count")
		time.Sleep(time.Minute)
		w.expect("1", "one two end")
		if got := w.seen.get("repeated net"); got != 0 {
			t.Errorf("an edit was counted as %d repeats", got)
		}
	})
}

type jobs map[string]channels.Key

func (j jobs) Target(name string) (channels.Key, bool) { k, ok := j[name]; return k, ok }
func (j jobs) News(answer string) string {
	return strings.TrimSpace(strings.TrimPrefix(answer, "HEARTBEAT_OK"))
}

func (j jobs) Skipped(context.Context, string, string) (bool, error) { return false, nil }

func (j jobs) Failing(context.Context, string) (bool, error) { return false, nil }

func (j jobs) Targets(k channels.Key) bool {
	for _, target := range j {
		if target == k {
			return true
		}
	}
	return false
}

func TestCase50HeartbeatsReadAndWriteNoSession(t *testing.T) {
	tests := []struct {
		name, answer string
		err          error
		want         []string
		outcome      string
	}{
		{"news", "the disk is full", nil, []string{"echo hi", "the disk is full"}, "ran"},
		{"nothing to say", "HEARTBEAT_OK", nil, []string{"echo hi"}, "silent"},
		{"empty", " ", nil, []string{"echo hi"}, "silent"},
		{"failed", "", errors.New("bug"), []string{"echo hi", "The job watch could not run: something went wrong on my side and I could not answer this (error ID). I say so once, until it works again."}, "failed"},
		{"too long", "", &agent.ModelError{Kind: agent.ErrorContext}, []string{"echo hi", "The job watch could not run: this message is too long for the model to read (error ID). I say so once, until it works again."}, "failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
					o.Heartbeats = jobs{"watch": channels.MustKey("net:1")}
				})
				w.say("1", "hi")
				synctest.Wait()
				before, err := w.mem.Find(t.Context(), sessions.Query{Limit: 10})
				if err != nil {
					t.Fatal(err)
				}
				w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) {
					if len(turn.History.Messages) != 0 || turn.History.Summary != nil {
						t.Errorf("a heartbeat was given history: %+v", turn.History)
					}
					if !strings.Contains(turn.System, "scheduled check") {
						t.Errorf("a heartbeat was not told what it is: %q", turn.System)
					}
					return tt.answer, tt.err
				}
				due := time.Now().Add(time.Minute).Truncate(time.Second)
				if err := w.mem.Plan(t.Context(), "watch", time.Time{}, due); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Minute)
				err = w.mem.Fire(t.Context(), "watch", due, due, due.Add(time.Hour), channels.Inbound{
					Key: channels.MustKey("heartbeat:watch"), ID: fmt.Sprintf("hb:watch:%d", due.Unix()), Text: "anything new?",
				})
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				got := strings.Split(errorIDs.ReplaceAllString(strings.Join(w.net.texts("1"), "|"), "error ID"), "|")
				if !slices.Equal(got, tt.want) {
					t.Errorf("the chat reads %q, want %q", got, tt.want)
				}
				after, err := w.mem.Find(t.Context(), sessions.Query{Limit: 10})
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(before) != fmt.Sprint(after) {
					t.Errorf("conversations changed from %+v to %+v", before, after)
				}
				occ, err := w.mem.Occurrences(t.Context(), "watch", 5)
				if err != nil || len(occ) != 1 || occ[0].Outcome != tt.outcome || !occ[0].Due.Equal(due) {
					t.Errorf("Occurrences = %+v, %v, want one that %s", occ, err, tt.outcome)
				}
			})
		})
	}
}

// TestCase19SummaryInTheBackground: messages that arrive while a summary is
// made follow it, in order.
func TestCase19SummaryInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.needs = func(h sessions.History) bool { return len(h.Messages) > 6 }
		calls := 0
		w.agent.summarize = func(ctx context.Context, h sessions.History) (sessions.Summary, error) {
			calls++
			if calls == 1 {
				return sessions.Summary{}, errors.New("model down")
			}
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
				return sessions.Summary{}, ctx.Err()
			}
			return sessions.Summary{
				Text: "they counted", Generation: h.Generation, CoversSeq: h.Messages[len(h.Messages)-3].Seq,
			}, nil
		}
		for i := range 12 {
			w.say("1", fmt.Sprint(i))
			synctest.Wait()
		}
		if calls != 1 || w.seen.get("summary failed") != 1 {
			t.Fatalf("after a failure: %d calls, %d failures counted, want one of each", calls, w.seen.get("summary failed"))
		}
		time.Sleep(time.Hour)
		for i := range 4 {
			w.say("1", fmt.Sprint("later ", i))
			synctest.Wait()
		}
		if calls != 2 {
			t.Fatalf("%d calls, want the second one to run", calls)
		}
		w.say("1", "meanwhile")
		time.Sleep(time.Minute)
		h, err := w.mem.History(t.Context(), channels.MustKey("net:1"), sessions.HistoryLimit{})
		if err != nil || h.Summary == nil || h.Summary.Text != "they counted" {
			t.Fatalf("History = %+v, %v, want the summary", h, err)
		}
		last := h.Messages[len(h.Messages)-2].Content
		if last != "meanwhile" {
			t.Errorf("the message that came during the summary is not in view: %+v", h.Messages)
		}
		if got := len(w.transcript("1")); got != 34 {
			t.Errorf("transcript has %d messages, want all 34", got)
		}
	})
}

// wholeReads counts how often a whole conversation is read.
type wholeReads struct {
	gateway.Conversations
	n atomic.Int32
}

func (s *wholeReads) History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error) {
	if limit.Messages == 0 {
		s.n.Add(1)
	}
	return s.Conversations.History(ctx, k, limit)
}

// TestSummaryCheckReadsNothing: the loaded history shows whether a summary is
// needed. A check that reads would cost more with every message.
func TestSummaryCheckReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads *wholeReads
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			reads = &wholeReads{Conversations: w.mem}
			w.store.Conversations = reads
		})
		var sizes []int
		w.agent.needs = func(h sessions.History) bool {
			sizes = append(sizes, len(h.Messages))
			return len(h.Messages) > 6
		}
		w.agent.summarize = func(context.Context, sessions.History) (sessions.Summary, error) {
			return sessions.Summary{}, errors.New("model down")
		}
		for i := range 3 {
			w.say("1", fmt.Sprint(i))
			synctest.Wait()
		}
		if n := reads.n.Load(); n != 0 || !slices.Equal(sizes, []int{2, 4, 6}) {
			t.Fatalf("%d whole reads and checks of %v messages, want none and 2, 4, 6", n, sizes)
		}
		for i := range 3 {
			w.say("1", fmt.Sprint("more ", i))
			synctest.Wait()
		}
		if n := reads.n.Load(); n != 1 {
			t.Errorf("%d whole reads, want one: the summary that failed is left alone for a while", n)
		}
	})
}

// TestNoPreviewOfAnAnswerThatIsThere: an answer that comes all at once, after a
// long silence, is sent once.
func TestNoPreviewOfAnAnswerThatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			time.Sleep(3 * time.Second)
			turn.Progress(agent.Progress{Text: "all of it"})
			time.Sleep(100 * time.Millisecond)
			return echo(ctx, turn)
		}
		w.say("1", "hello")
		time.Sleep(time.Minute)
		w.net.mu.Lock()
		defer w.net.mu.Unlock()
		if len(w.net.previews) != 0 || len(w.net.sent) != 1 || w.net.sent[0].Edit != "" {
			t.Errorf("previews %+v, sent %+v, want one message", w.net.previews, w.net.sent)
		}
	})
}

// A command that ends the claim while an answer is being sent must not make
// that answer come twice: the call is not cut off, and the next claim knows its
// outcome.
func TestACommandWhileAnAnswerIsBeingSent(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error // of the sending, which ends after the command
		wait  time.Duration
		first string
	}{
		{"it arrives", nil, 0, "echo hello"},
		{"it was not sent", &channels.NotSent{Err: errors.New("refused")}, 10 * time.Second, "echo hello"},
		{"nobody knows", errors.New("timeout"), 10 * time.Second, "↻ echo hello"},
		{"never", fmt.Errorf("blocked: %w", channels.ErrPermanent), 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				var once sync.Once
				w.net.slow = func(ctx context.Context) (err error) {
					once.Do(func() {
						select {
						case <-time.After(2 * time.Second):
							err = tt.err
						case <-ctx.Done():
							err = ctx.Err()
						}
					})
					return err
				}
				w.say("1", "hello")
				time.Sleep(time.Second)
				w.say("1", "/new")
				time.Sleep(2*time.Second + tt.wait)
				want := []string{tt.first, "A new conversation begins. The old one is kept."}
				if tt.first == "" {
					want = want[1:]
				}
				w.expect("1", want...)
				if got := w.seen.get("repeated net"); (got == 1) != strings.HasPrefix(tt.first, "↻") {
					t.Errorf("repeats counted = %d", got)
				}
				if st, _ := w.mem.Stats(t.Context()); st.Unsent != 0 {
					t.Errorf("Stats = %+v, want nothing unsent", st)
				}
			})
		})
	}
}

// A send that hangs cannot hold a command up for ever.
func TestACommandBehindASendingThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		var once sync.Once
		w.net.slow = func(ctx context.Context) (err error) {
			once.Do(func() {
				<-ctx.Done()
				err = ctx.Err()
			})
			return err
		}
		w.say("1", "hello")
		time.Sleep(time.Second)
		w.say("1", "/stop")
		time.Sleep(30 * time.Second)
		w.expect("1", "↻ echo hello", "Nothing is running now.")
	})
}

// A /stop while the first preview is being sent edits that preview.
func TestStopWaitsForThePreviewInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.net.previewTakes = time.Second
		w.agent.run = streaming("one", "two", "three", "four", "five")
		w.say("1", "count")
		time.Sleep(1500 * time.Millisecond) // the first word stands, its preview is being sent
		w.say("1", "/stop")
		time.Sleep(time.Minute)
		w.expect("1", "one two \n\n*(stopped)*") // the answer grew while the command waited
		if got := w.net.sent[0].Edit; got != "p1" {
			t.Errorf("the stopped answer edits %q, want the preview p1", got)
		}
	})
}

// Every message that people are sent says what it is, which turn wrote it, and which
// part of its answer it is.
func TestRepliesAreLabelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, b *gateway.Binding, o *gateway.Options) {
			b.Channel = paged{w.net, 30}
			b.Pairing = true
			o.SilentFor = time.Minute
			o.Heartbeats = jobs{"watch": channels.MustKey("net:1")}
			w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
				switch asked := inputs(turn); {
				case strings.Contains(asked, "fail"):
					return "", errors.New("broken")
				case strings.Contains(asked, "slow"):
					return slowEcho(10*time.Minute)(ctx, turn)
				case turn.Key.Channel() == gateway.HeartbeatChannel:
					return "the disk is full", nil
				}
				return "this answer takes two messages.", nil
			}
		})
		newest := func(chat string) sessions.Label {
			synctest.Wait()
			feed, err := w.mem.Feed(t.Context(), channels.MustKey("net:"+chat), 0, 1)
			if err != nil || len(feed) != 1 {
				t.Fatalf("Feed of %s = %+v, %v", chat, feed, err)
			}
			return feed[0].Label
		}
		for _, one := range []struct {
			name string
			do   func()
			want sessions.Label
		}{
			{"answer", func() { w.say("1", "hello") }, sessions.Label{Kind: channels.KindAnswer, Turn: "net:1#1", Part: 2, Parts: 2}},
			{"command", func() { w.say("1", "/title") }, sessions.Label{Kind: channels.KindCommand, Part: 3, Parts: 3}},
			{"apology", func() { w.say("1", "fail") }, sessions.Label{Kind: channels.KindApology, Turn: "net:1#8", Part: 3, Parts: 3}},
			{"job", func() { w.fire("watch", "look") }, sessions.Label{Kind: channels.KindJob, Turn: "heartbeat:watch#1", Job: "watch", Part: 1, Parts: 1}},
			{"notice", func() { w.say("1", "slow"); time.Sleep(2 * time.Minute) }, sessions.Label{Kind: channels.KindNotice, Turn: "net:1#13", Part: 4, Parts: 4}},
			{"stop", func() { w.say("1", "/stop") }, sessions.Label{Kind: channels.KindCommand, Turn: "net:1#13", Part: 1, Parts: 1}},
		} {
			one.do()
			if got := newest("1"); got != one.want {
				t.Errorf("the %s has the label %+v, want %+v", one.name, got, one.want)
			}
		}
		w.say("stranger", "hello")
		if got := newest("stranger"); got.Kind != channels.KindNotice || got.Turn != "" {
			t.Errorf("a stranger is sent %+v, want a notice", got)
		}
	})
}

// marking is a network that puts the mark of a repeat in its own place.
type marking struct{ *network }

func (marking) MarksRepeats() {}

// repeatMarks are what a repeat looks like on each sort of network.
var repeatMarks = map[string]struct {
	of   func(*network) channels.Channel
	want channels.Outbound
}{
	"a plain one":           {func(n *network) channels.Channel { return n }, channels.Outbound{Text: "↻ echo hello"}},
	"one that marks itself": {func(n *network) channels.Channel { return marking{n} }, channels.Outbound{Text: "echo hello", Repeats: true}},
}

// wantRepeat checks the only message that a network was sent.
func wantRepeat(t *testing.T, n *network, want channels.Outbound) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.sent) != 1 || n.sent[0].Text != want.Text || n.sent[0].Repeats != want.Repeats {
		t.Errorf("sent %+v, want one message %q, to be marked there: %t", n.sent, want.Text, want.Repeats)
	}
}

// A repeat has one mark: in its text, unless its network has a place for it.
func TestARepeatHasOneMark(t *testing.T) {
	for name, test := range repeatMarks {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = test.of(w.net) })
				w.net.failWith(failing(1, errors.New("timeout")))
				w.say("1", "hello")
				time.Sleep(time.Hour)
				wantRepeat(t, w.net, test.want)
			})
		})
	}
}

// It also has one if another node has the channel.
func TestARepeatThroughAnotherNodeHasOneMark(t *testing.T) {
	for name, test := range repeatMarks {
		t.Run(name, func(t *testing.T) {
			p := startPair(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = test.of(w.net) })
			p.front.net.failWith(failing(1, errors.New("timeout")))
			p.front.arrives("1", "hello")
			p.eventually("an answer", func(sent []string) bool { return len(sent) > 0 })
			wantRepeat(t, p.front.net, test.want)
		})
	}
}

// The words in place of a file that cannot be sent have the mark, too: only they are shown.
func TestTheWordsInPlaceOfAFileHaveTheMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = filing{paged{w.net, 4000}} })
		w.agent.run = func(context.Context, agent.Turn) (string, error) { return strings.Repeat("long ", 100_000), nil }
		fails := failing(1, errors.New("timeout"))
		w.net.failWith(func(m channels.Outbound) error {
			if m.File == nil {
				return nil
			}
			return fails(m)
		})
		w.say("1", "hello")
		time.Sleep(time.Hour)
		w.net.mu.Lock()
		defer w.net.mu.Unlock()
		last := w.net.sent[len(w.net.sent)-1]
		if last.File == nil || !strings.HasPrefix(last.Text, "↻ This") || !strings.HasPrefix(last.File.Instead, "↻ (This") {
			t.Errorf("the last message is %.60q with the file %+.80v, want marks in its text and in what is said in its place", last.Text, last.File)
		}
	})
}
