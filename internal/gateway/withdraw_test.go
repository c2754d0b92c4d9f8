package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// edit is m with another text.
func (w *world) edit(m channels.Inbound, text string) channels.Inbound {
	e := w.message(m.Key.Chat(), text)
	e.Edits = m.MessageID
	return e
}

// takeBack deletes m for everybody.
func (w *world) takeBack(m channels.Inbound, by channels.Deletion) {
	w.t.Helper()
	gone := w.message(m.Key.Chat(), "[this message was deleted]")
	gone.Edits, gone.Deletes = m.MessageID, by
	w.accept(gone)
}

// A message that is deleted while it waits is never read, in any mode.
func TestDeletedWhileWaiting(t *testing.T) {
	for _, mode := range []gateway.Mode{gateway.Collect, gateway.Each, gateway.Steer} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, withQueue(mode))
				w.agent.run = slowEcho(time.Minute)
				w.say("1", "first")
				synctest.Wait()
				gone := w.say("1", "gone")
				w.say("1", "second")
				w.takeBack(gone, channels.DeletedBySender)
				time.Sleep(10 * time.Minute)
				w.expect("1", "echo first", "echo second")
				want := []string{"user: first", "assistant: echo first", "user: second", "assistant: echo second"}
				if got := w.transcript("1"); !slices.Equal(got, want) {
					t.Errorf("transcript %q, want %q", got, want)
				}
				if n := w.seen.get("accepted net withdrawn"); n != 1 {
					t.Errorf("%d withdrawn messages counted, want 1", n)
				}
			})
		})
	}
}

// A turn that reads a deleted message ends at once and runs again without it,
// unless nothing is left.
func TestDeletedWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.run = slowEcho(time.Hour)
		gone := w.say("1", "gone")
		synctest.Wait()
		began := time.Now()
		w.takeBack(gone, channels.DeletedByAdmin)
		w.expect("1")
		if n := w.seen.get("turn interrupted"); n != 1 || w.agent.count() != 1 {
			t.Errorf("%d turns interrupted of %d, want 1 of 1", n, w.agent.count())
		}
		a, b := w.part("a", 1), w.part("a", 2)
		w.accept(a)
		w.accept(b)
		time.Sleep(albumQuiet)
		synctest.Wait()
		w.takeBack(a, channels.DeletedBySender)
		time.Sleep(2 * time.Hour)
		w.expect("1", "echo part 2")
		if took := time.Since(began); took > 3*time.Hour {
			t.Errorf("it took %s", took)
		}
		if got := w.transcript("1"); len(got) != 2 {
			t.Errorf("transcript %q, want only what was answered", got)
		}
	})
}

// The deletion of a message that was answered is noted, and not answered. The
// next turn sees it.
func TestDeletedAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.RatePerMinute = 1 })
		var history []string
		w.agent.run = func(ctx context.Context, in agent.Turn) (string, error) {
			history = nil
			for _, m := range in.History.Messages {
				history = append(history, m.Content)
			}
			return echo(ctx, in)
		}
		said := w.say("1", "hello")
		synctest.Wait()
		w.takeBack(said, channels.DeletedBySender)
		w.takeBack(said, channels.DeletedByAdmin)
		w.takeBack(channels.Inbound{Key: said.Key, MessageID: "unknown"}, channels.DeletedBySender)
		w.expect("1", "echo hello")
		if w.agent.count() != 1 {
			t.Errorf("%d turns, want none for a deletion", w.agent.count())
		}
		time.Sleep(2 * time.Minute)
		w.say("1", "next")
		w.expect("1", "echo hello", "echo next")
		want := []string{"hello", "echo hello", "[P1 deleted an earlier message]", "[an admin deleted an earlier message of P1]"}
		if !slices.Equal(history, want) {
			t.Errorf("the next turn had %q, want %q", history, want)
		}
	})
}

// Strangers get no code for deleting something.
func TestStrangersDeleteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, b *gateway.Binding, _ *gateway.Options) { b.Pairing = true })
		w.takeBack(w.message("stranger", "x"), channels.DeletedBySender)
		w.expect("stranger")
	})
}

// A preview is removed if all messages that it answers were deleted or edited
// while it was being sent, because no answer will replace it.
func TestPreviewOfWhatIsGone(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *world, said channels.Inbound)
		want   []string
	}{
		{"deleted", func(w *world, said channels.Inbound) { w.takeBack(said, channels.DeletedBySender) }, nil},
		{"edited", func(w *world, said channels.Inbound) {
			w.accept(w.edit(said, "changed"))
		}, []string{"echo changed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.net.previewTakes = 5 * time.Second
				w.agent.run = func(ctx context.Context, in agent.Turn) (string, error) {
					in.Progress(agent.Progress{Text: "half of it"})
					return slowEcho(10*time.Second)(ctx, in)
				}
				said := w.say("1", "hello")
				time.Sleep(4 * time.Second) // the preview is on its way
				test.change(w, said)
				time.Sleep(time.Hour)
				w.expect("1", test.want...)
				w.net.mu.Lock()
				defer w.net.mu.Unlock()
				if !slices.Equal(w.net.retracted, []string{"p1"}) {
					t.Errorf("%q was taken back of %d previews, want p1 once", w.net.retracted, len(w.net.previews))
				}
				for _, m := range w.net.sent {
					if m.Edit == "p1" && test.want == nil {
						t.Error("an answer ends the preview that was taken back")
					}
				}
			})
		})
	}
}

// After its preview was removed, a turn does not edit that message.
func TestNothingChangesAPreviewThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.net.previewTakes = 5 * time.Second
		w.agent.run = func(ctx context.Context, in agent.Turn) (string, error) {
			in.Progress(agent.Progress{Text: "half of it"})
			return slowEcho(8*time.Second)(ctx, in)
		}
		said := w.say("1", "hello")
		time.Sleep(4 * time.Second) // the preview is on its way
		// As another node does, whose notice is on its way.
		if _, err := w.store.Accept(t.Context(), sessions.Entry{Inbound: w.edit(said, "changed")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // it was taken back, and the turn still runs
		w.say("1", "/stop")
		time.Sleep(time.Hour)
		w.net.mu.Lock()
		defer w.net.mu.Unlock()
		if !slices.Equal(w.net.retracted, []string{"p1"}) {
			t.Errorf("%q was taken back, want p1 once", w.net.retracted)
		}
		for _, m := range w.net.sent {
			if m.Edit != "" {
				t.Errorf("%q changes the message %q, which was taken back", m.Text, m.Edit)
			}
		}
		if len(w.net.sent) == 0 || !strings.Contains(w.net.sent[0].Text, "stopped") {
			t.Errorf("sent %v, want what /stop ended", w.net.sent)
		}
	})
}
