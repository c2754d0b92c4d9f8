package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Cleanup depends on the last update. A conversation with waiting messages
// stays, however old it is.
func TestCase49CleanupGoesByUpdateAndSparesTheBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.RetentionDays, o.GiveUpAfter = 3, 1000*24*time.Hour
		})
		w.say("1", "old")
		w.say("2", "old, but in use")
		w.say("3", "old and waiting")
		synctest.Wait()
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Key == channels.MustKey("net:3") {
				return "", &agent.ModelError{Kind: agent.ErrorTemporary, After: time.Hour}
			}
			return echo(ctx, turn)
		}
		w.say("3", "this one waits for its answer")
		time.Sleep(2 * 24 * time.Hour) // a failing turn wakes each hour, so more days take long
		w.say("2", "still here")
		time.Sleep(30 * time.Hour)
		synctest.Wait()
		for chat, want := range map[string]int{"1": 0, "2": 4, "3": 2} {
			if got := len(w.transcript(chat)); got != want {
				t.Errorf("chat %s has %d messages after three days, want %d", chat, got, want)
			}
		}
	})
}

// A job for a chat with a running turn does not wait and writes nothing into
// that conversation.
func TestCase51HeartbeatBesideATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.Heartbeats = jobs{"watch": channels.MustKey("net:1")}
		})
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Key.Channel() == gateway.HeartbeatChannel {
				return "the disk is full", nil
			}
			return slowEcho(time.Hour)(ctx, turn)
		}
		w.say("1", "think about it")
		synctest.Wait()
		due := time.Now().Add(time.Minute).Truncate(time.Second)
		if err := w.mem.Plan(t.Context(), "watch", time.Time{}, due); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		err := w.mem.Fire(t.Context(), "watch", due, due, due.Add(24*time.Hour), channels.Inbound{
			Key: channels.MustKey("heartbeat:watch"), ID: fmt.Sprintf("hb:watch:%d", due.Unix()), Text: "anything new?",
		})
		if err != nil {
			t.Fatal(err)
		}
		w.expect("1", "the disk is full")
		time.Sleep(2 * time.Hour)
		w.expect("1", "the disk is full", "echo think about it")
		want := []string{"user: think about it", "assistant: echo think about it"}
		if got := w.transcript("1"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the transcript is %q, want %q", got, want)
		}
	})
}

// After a restart the network hands in the same update again: it is answered
// once.
func TestCase52DuplicateAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		m := w.say("1", "hello")
		w.expect("1", "echo hello")
		b := gateway.Binding{Channel: newNetwork("net"), Policy: people.Policy{Allow: []string{"1"}}}
		w.close()
		w.store.Work = restarted{w.store.Work}
		again, err := gateway.New(w.store, w.agent, []gateway.Binding{b}, gateway.Options{Observer: w.seen})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := again.Run(ctx); err != nil {
				t.Errorf("Run = %v", err)
			}
		})
		in := <-b.Channel.(*network).intake
		if err := in.Accept(t.Context(), m); err != nil {
			t.Errorf("Accept of a repeated message = %v, want nil: it is on disk", err)
		}
		synctest.Wait()
		stop()
		wg.Wait()
		if got := w.seen.get("accepted net duplicate"); got != 1 {
			t.Errorf("%d duplicates were counted, want 1", got)
		}
		if got := w.transcript("1"); len(got) != 2 || w.agent.count() != 1 {
			t.Errorf("the transcript is %q after %d turns, want the message once", got, w.agent.count())
		}
	})
}

// restarted is a store whose dispatcher has ended once already; a store's Run
// is called once in its life.
type restarted struct{ gateway.Work }

func (restarted) Run(ctx context.Context, _ sessions.Handler) error {
	<-ctx.Done()
	return nil
}

// Messages that come fast while a turn runs are answered or, past the limit,
// refused in a sentence. None is dropped, and the order stays.
func TestCase54RapidMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.MaxWaiting = 20 })
		w.agent.run = slowEcho(time.Minute)
		w.say("1", "first")
		synctest.Wait()
		for i := range 5 {
			w.say("1", fmt.Sprint("m", i))
		}
		time.Sleep(5 * time.Minute)
		w.expect("1", "echo first", "echo m0 | m1 | m2 | m3 | m4")

		w.say("1", "second")
		synctest.Wait()
		var accepted []string
		for i := range 25 { // the running one counts: 19 more fit
			w.say("1", fmt.Sprint("n", i))
			if i < 19 {
				accepted = append(accepted, fmt.Sprint("n", i))
			}
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		got := w.net.texts("1")[2:]
		if len(got) != 3 || !strings.Contains(got[0], "did not take this one") || got[1] != "echo second" || got[2] != "echo "+strings.Join(accepted, " | ") {
			t.Errorf("sent %q, want one refusal, the running answer, and one for the 19 that fit", got)
		}
		if n := w.seen.get("accepted net over_limit"); n != 6 {
			t.Errorf("%d messages were refused, want 6", n)
		}
	})
}
