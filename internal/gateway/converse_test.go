package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// Whoever converses sees the answer grow, and their program's instructions are part of
// the turn's prompt, not of the conversation.
func TestConverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) {
				turn.Progress(agent.Progress{Text: "half"})
				return "half and half", nil
			}
		})
		k := channels.MustKey("net:42")
		var seen []string
		got, err := w.gw.Converse(t.Context(), gateway.Question{
			Key: k, ID: "q1", Text: "hello", Instructions: "Speak French.", Show: func(p agent.Progress) { seen = append(seen, p.Text) },
		})
		if err != nil || got.Text != "half and half" || got.Turn == "" {
			t.Errorf("Converse = %+v, %v", got, err)
		}
		synctest.Wait()
		if strings.Join(seen, ",") != "half" {
			t.Errorf("seen: %q", seen)
		}
		turn := w.agent.turns[0]
		if !strings.Contains(turn.System, "Speak French.") || turn.Input[0].Content != "hello" || turn.Input[0].Via != channels.ViaAPI {
			t.Errorf("prompt %q, input %+v", turn.System, turn.Input[0])
		}
	})
}

// Whoever asks again while the turn runs sees at once what the answer has so far, and then
// how it grows.
func TestConverseAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) {
				turn.Progress(agent.Progress{Text: "half"})
				time.Sleep(10 * time.Second)
				turn.Progress(agent.Progress{Text: "half and"})
				time.Sleep(10 * time.Second)
				return "half and half", nil
			}
		})
		began := time.Now()
		var seen [2][]string
		ask := func(i int) {
			q := gateway.Question{Key: channels.MustKey("net:42"), ID: "q1", Text: "hello", Show: func(p agent.Progress) {
				seen[i] = append(seen[i], fmt.Sprint(p.Text, " after ", time.Since(began).Round(time.Second)))
			}}
			if got, err := w.gw.Converse(t.Context(), q); err != nil || got.Text != "half and half" {
				t.Errorf("Converse = %+v, %v", got, err)
			}
		}
		var asking sync.WaitGroup
		asking.Go(func() { ask(0) })
		time.Sleep(4 * time.Second)
		asking.Go(func() { ask(1) })
		asking.Wait()
		if diff := cmp.Diff([]string{"half after 4s", "half and after 10s"}, seen[1]); diff != "" {
			t.Errorf("the repeat saw (-want +got):\n%s", diff)
		}
	})
}

// looks counts what is read to find an answer.
type looks struct {
	gateway.Conversations
	feeds, all atomic.Int64
}

func (l *looks) Feed(ctx context.Context, k channels.Key, before int64, limit int) ([]sessions.FeedItem, error) {
	l.feeds.Add(1)
	return l.Conversations.Feed(ctx, k, before, limit)
}

func (l *looks) History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error) {
	if limit == (sessions.HistoryLimit{}) {
		l.all.Add(1)
	}
	return l.Conversations.History(ctx, k, limit)
}

// The turn hands its answer to whoever waits for it, who reads nothing from the store. Who
// repeats a question in a long conversation reads the end alone, and an old one is found, too.
func TestConverseReadsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &looks{}
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			l.Conversations = w.store.Conversations
			w.store.Conversations = l
		})
		k := channels.MustKey("net:42")
		first, last := "", ""
		for i := range 6 {
			time.Sleep(time.Second)
			got, err := w.gw.Converse(t.Context(), gateway.Question{Key: k, ID: fmt.Sprint("q", i), Text: fmt.Sprint("hello ", i)})
			if err != nil || !strings.Contains(got.Text, fmt.Sprint("hello ", i)) {
				t.Fatalf("Converse %d = %+v, %v", i, got, err)
			}
			last = got.Text
			if i == 0 {
				first = got.Text
			}
		}
		if n := l.feeds.Load(); n != 0 {
			t.Errorf("6 new questions took %d looks, want none", n)
		}
		got, err := w.gw.Converse(t.Context(), gateway.Question{Key: k, ID: "q5", Text: "hello 5"})
		if err != nil || got.Text != last {
			t.Errorf("the last question again: %+v, %v, want %q", got, err, last)
		}
		if feeds, all := l.feeds.Load(), l.all.Load(); feeds != 1 || all != 0 {
			t.Errorf("the last question again took %d looks and read the whole conversation %d times, want one and never", feeds, all)
		}
		got, err = w.gw.Converse(t.Context(), gateway.Question{Key: k, ID: "q0", Text: "hello 0"})
		if err != nil || got.Text != first {
			t.Errorf("the first question again: %+v, %v, want %q", got, err, first)
		}
	})
}

// A given turn takes a slot, and none begins while the gateway stops.
func TestGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.MaxTurns = 1
			w.agent.run = func(ctx context.Context, _ agent.Turn) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}
			w.agent.audit = nil
		})
		ctx, hangUp := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := w.gw.Given(ctx, agent.Turn{ID: "given"})
				ended <- err
			}()
		}
		synctest.Wait()
		if n := len(w.agent.asked()); n != 1 {
			t.Errorf("%d turns run, want the one that has the slot", n)
		}
		hangUp()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Given = %v, want its context's end", err)
			}
		}
		w.close()
		if _, err := w.gw.Given(t.Context(), agent.Turn{}); !errors.Is(err, gateway.ErrStopping) {
			t.Errorf("Given of a gateway that stops = %v", err)
		}
		if list, err := w.mem.Find(t.Context(), sessions.Query{Limit: 1}); err != nil || len(list) != 0 {
			t.Errorf("conversations %v, %v, want none", list, err)
		}
	})
}
