package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/internal/testkit"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// edges are times at the bounds of what stores keep, and beyond them.
var edges = []struct{ at, want time.Time }{
	{time.Time{}, time.Time{}},
	{time.Unix(1<<50, 0), latest},
	{time.Unix(-1<<50, 0), earliest},
	{time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)), latest},
	{time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC), earliest},
	{earliest.Add(-1), earliest},
	{earliest, earliest},
	{latest, latest},
	{latest.Add(1), latest},
	{time.Unix(0, 0), time.Unix(0, 0)},
	{time.Unix(0, 1), time.Unix(0, 1)},
	{time.Unix(0, -1), time.Unix(0, -1)},
}

var (
	earliest = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2262, 1, 1, 0, 0, 0, -1, time.UTC)
)

var textTests = map[string]func(*testing.T, *rig){
	"Text/Case44TwelveMegabytes": func(t *testing.T, r *rig) {
		huge := strings.Repeat("0123456789ä", 1<<20) // 12 MB
		r.accept(t, "x:1", "1", huge)
		h := r.claim(t)
		p, err := r.Pending(t.Context(), h.Claim, 1)
		must(t, err)
		if p.Messages[0].Inbound.Text != huge {
			t.Fatal("the inbox changed a huge message")
		}
		must(t, r.AppendStep(t.Context(), h.Claim, "t", []sessions.Answered{{Seq: 1}}, sessions.Step{Kind: sessions.StepNote, Message: &sessions.Message{Content: huge}}))
		r.commit(t, h, huge)
		got, err := r.History(t.Context(), key("x:1"), sessions.HistoryLimit{})
		must(t, err)
		if len(got.Messages) != 2 || got.Messages[0].Content != huge || got.Messages[1].Content != huge {
			t.Fatal("the transcript changed a huge message")
		}
		ds, err := r.Unsent(t.Context(), h.Claim, 1)
		must(t, err)
		if ds[0].Text != huge {
			t.Fatal("the outbox changed a huge message")
		}
	},
	"Text/EveryByteIsCleanedOrKept": func(t *testing.T, r *rig) {
		for i, test := range []struct{ in, want string }{
			{"a\xff\xfeb\xc3", "a\uFFFDb\uFFFD"},
			{"nul\x00inside", "nul\x00inside"},
			{"\x00", "\x00"},
			{"\r\n\t \u2028 \u200b", "\r\n\t \u2028 \u200b"},
			{"<b>&amp;</b> \\u0041 'x' \"y\"", "<b>&amp;</b> \\u0041 'x' \"y\""},
			{"\xed\xa0\x80", "\uFFFD"},
			{"e\u0301 🏳️‍🌈", "e\u0301 🏳️‍🌈"},
			{"", ""},
		} {
			k := number("x:", i)
			m := in(k, number("", i), test.in)
			m.Sender.Name, m.Prefix = test.in, test.in
			m.Quote = &channels.Quote{ID: test.in, Name: test.in, Text: test.in}
			m.Forwarded = &channels.Forward{Name: test.in}
			r.enter(t, sessions.Entry{Inbound: m}, sessions.Queued)
			h := r.claim(t)
			p := r.pending(t, h, 0, test.want)
			got := p.Messages[0].Inbound
			if got.Forwarded == nil || got.Forwarded.Name != test.want {
				t.Errorf("Forwarded = %+v, want it from %q", got.Forwarded, test.want)
			}
			want := in(k, number("", i), test.want)
			want.Sender.Name, want.Prefix = test.want, test.want
			want.Quote = &channels.Quote{ID: test.want, Name: test.want, Text: test.want}
			if got.Text != want.Text || got.Prefix != want.Prefix || got.Sender.Name != want.Sender.Name || !reflect.DeepEqual(got.Quote, want.Quote) || !got.At.Equal(want.At) {
				t.Errorf("inbound = %+v, want %+v", got, want)
			}
			said := sessions.Message{
				Role: sessions.RoleTool, Content: test.in, Name: test.in, ToolCallID: test.in, Model: test.in,
				ToolCalls: []sessions.ToolCall{{ID: test.in, Name: test.in, Arguments: test.in}},
			}
			must(t, r.AppendStep(t.Context(), h.Claim, "t", []sessions.Answered{{Seq: 1}}, sessions.Step{Kind: sessions.StepNote, Message: &said}))
			must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: []sessions.Answered{{Seq: 1}}, Messages: []sessions.Message{said}, Replies: []sessions.Reply{{Text: test.in, ReplyTo: test.in, Edit: test.in}}}))
			ms, err := r.Messages(t.Context(), key(k), 0, 1)
			must(t, err)
			if m := ms[0]; m.Content != test.want || m.Name != test.want || m.ToolCalls[0].Arguments != test.want || m.ToolCallID != test.want {
				t.Errorf("message = %+v, want all %q", m, test.want)
			}
			ds, err := r.Unsent(t.Context(), h.Claim, 1)
			must(t, err)
			if d := ds[0]; d.Text != test.want || d.ReplyTo != test.want || d.Edit != test.want {
				t.Errorf("delivery = %+v, want all %q", d, test.want)
			}
			r.deliver(t, h)
			h.release(nil)
		}
	},
	// A time that no store can keep becomes the nearest one that all of them keep.
	"Text/TimesThatCannotBe": func(t *testing.T, r *rig) {
		for i, test := range edges {
			m := in(number("x:", i), number("", i), "hi")
			m.At = test.at
			r.enter(t, sessions.Entry{Inbound: m}, sessions.Queued)
			h := r.claim(t)
			p := r.pending(t, h, 0, "hi")
			if got := p.Messages[0].Inbound.At; !got.Equal(test.want) {
				t.Errorf("At = %v, want %v", got, test.want)
			}
			must(t, r.AppendStep(t.Context(), h.Claim, "t", []sessions.Answered{{Seq: 1}}, sessions.Step{Kind: sessions.StepNote, At: test.at, Message: &sessions.Message{At: test.at}}))
			r.commit(t, h, "ok")
			r.deliver(t, h)
			h.release(nil)
			must(t, r.Plan(t.Context(), number("j", i), time.Time{}, test.at))
			if due, _, err := r.NextDue(t.Context(), number("j", i)); err != nil || !due.Equal(test.want) {
				t.Errorf("NextDue = %v, %v, want %v", due, err, test.want)
			}
		}
	},
	"Text/EndedContextsChangeNothing": func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Accept(ctx, sessions.Entry{Inbound: in("x:1", "1", "hi")}); !errors.Is(err, context.Canceled) {
			t.Errorf("Accept = %v, want %v", err, context.Canceled)
		}
		if err := r.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: "1"}); !errors.Is(err, context.Canceled) {
			t.Errorf("Quarantine = %v, want %v", err, context.Canceled)
		}
		r.accept(t, "x:1", "1", "hi")
	},
}

var raceTests = map[string]func(*testing.T, *rig){
	// Fifty goroutines do a thousand things each; afterwards everything
	// acknowledged is there. A slow store, as all are under the race detector, does
	// as many as it can in the time.
	"Race/Case45FiftyTimesAThousand": func(t *testing.T, r *rig) {
		const (
			workers = 50
			ops     = 1000
			least   = 150
		)
		enough := 3 * time.Second
		if testkit.Race { // which it is for
			enough = 8 * time.Second
		}
		began := time.Now()
		stop := r.serve(t, func(ctx context.Context, c sessions.Claim) error { return answerAll(ctx, r, c) })
		accepted := make([]int, 64)
		var mu sync.Mutex
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := range ops {
					if i >= least && time.Since(began) > enough {
						return
					}
					n := rand.N(len(accepted))
					k := number("x:", n)
					if err := r.anything(t.Context(), k, number(number("w", w)+"-", i), rand.N(240), func() { mu.Lock(); accepted[n]++; mu.Unlock() }); err != nil {
						t.Errorf("%v", err)
						return
					}
				}
			})
		}
		all.Wait()
		r.drained(t)
		stop()
		for n, want := range accepted {
			if got := len(r.transcript(t, number("x:", n))); got != want {
				t.Errorf("x:%d has %d messages, want %d", n, got, want)
			}
		}
	},
}

// anything does one of many things to k.
func (r *rig) anything(ctx context.Context, k, id string, what int, accepted func()) error {
	var err error
	switch {
	case what < 80:
		if _, err = r.Accept(ctx, sessions.Entry{Inbound: in(k, id, "hello "+id)}); err == nil {
			accepted()
		}
	case what < 120:
		_, err = r.History(ctx, key(k), sessions.HistoryLimit{Messages: 20})
	case what < 140:
		_, err = r.Feed(ctx, key(k), 0, 20)
	case what < 160:
		_, err = r.Messages(ctx, key(k), 0, 20)
	case what < 180:
		err = r.Plan(ctx, id, time.Time{}, time.Now())
	case what < 184:
		_, err = r.Search(ctx, key(k), "hello w1", 5)
	case what < 188:
		_, err = r.Find(ctx, sessions.Query{Limit: 10})
	case what < 192:
		_, err = r.Stats(ctx)
	case what < 196:
		_, err = r.ListQueue(ctx, 10)
	case what < 210:
		_, err = r.Remember(ctx, k, sessions.NewFact{Text: id})
	case what < 220:
		_, err = r.Recall(ctx, k, "w1", 5)
	case what < 230:
		err = r.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: id, Raw: []byte(id)})
	default:
		if err = r.Rename(ctx, key(k), id); errors.Is(err, sessions.ErrNotFound) {
			err = nil
		}
	}
	return err
}

// drained waits until nothing is open any more.
func (r *rig) drained(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		st, err := r.Stats(t.Context())
		must(t, err)
		if st.Waiting+st.Unsent == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still open: %+v", st)
		}
		pauseFor(t.Context(), 2*time.Millisecond)
	}
}

// FuzzText feeds arbitrary text through Accept, a turn and the reads, and
// checks that it comes back as valid UTF-8 and the same everywhere.
func FuzzText(f *testing.F, open func(t *testing.T) *engine.Store) {
	for _, s := range []string{"", "hello", "\xff\x00", "\"'*()", "東京", "a\u0301"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, text, query string) {
		s := open(t)
		if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "1", text), Answered: true, Append: []sessions.Message{user(text)}, Replies: []sessions.Reply{{Text: text}}}); err != nil {
			t.Fatal(err)
		}
		ms, err := s.Messages(t.Context(), key("x:1"), 0, 1)
		if err != nil || len(ms) != 1 {
			t.Fatalf("Messages = %v, %v", ms, err)
		}
		feed, err := s.Feed(t.Context(), key("x:1"), 0, 2)
		if err != nil || len(feed) != 2 {
			t.Fatalf("Feed = %v, %v", feed, err)
		}
		if got := ms[0].Content; !utf8.ValidString(got) || feed[0].Text != got || feed[1].Text != got || utf8.ValidString(text) && got != text {
			t.Fatalf("%q came back as %q, %q and %q", text, got, feed[0].Text, feed[1].Text)
		}
		if _, err := s.SearchAll(t.Context(), sessions.Search{Key: key("x:1"), Query: query, Limit: 3}); err != nil {
			t.Fatal(err)
		}
	})
}
