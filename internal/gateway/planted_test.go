package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// However many messages wait, the model is shown each of them, once.
func TestEachWaitingMessageIsShownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			w.agent.run, o.MaxWaiting = slowEcho(time.Minute), 1000
		})
		const many = 120 // more than two turns take
		for i := range many {
			w.say("1", fmt.Sprint("message ", i))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Hour)
		shown := map[string]int{}
		turns := w.agent.asked()
		for _, turn := range turns {
			for _, m := range turn.Input {
				shown[m.Content]++
			}
		}
		for i := range many {
			if n := shown[fmt.Sprint("message ", i)]; n != 1 {
				t.Errorf("message %d was shown %d times", i, n)
			}
		}
		if got := len(w.transcript("1")); got != many+len(turns) {
			t.Errorf("the transcript has %d messages", got)
		}
	})
}

// markings is a store that knows which deliveries were marked, and can pretend
// that an earlier process died during one.
type markings struct {
	gateway.Outbox
	mu     sync.Mutex
	marked map[string]bool
	cutOff bool
}

func (s *markings) MarkSending(ctx context.Context, c sessions.Claim, id string) error {
	err := s.Outbox.MarkSending(ctx, c, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marked[id] = err == nil
	return err
}

func (s *markings) Unsent(ctx context.Context, c sessions.Claim, most int) ([]sessions.Delivery, error) {
	list, err := s.Outbox.Unsent(ctx, c, most)
	for i := range list {
		if s.cutOff {
			list[i].State = sessions.DeliverySending
		}
	}
	return list, err
}

// Before the network gets an answer the store knows that it is being sent. If a
// crash came then, the answer may have arrived, and the channel is told so.
func TestDeliveriesAreMarkedBeforeTheyAreSent(t *testing.T) {
	for _, cutOff := range []bool{false, true} {
		t.Run(fmt.Sprint("cut off ", cutOff), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *markings
				w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
					s = &markings{Outbox: w.mem, marked: map[string]bool{}, cutOff: cutOff}
					w.store.Outbox = s
				})
				w.net.failWith(func(m channels.Outbound) error {
					s.mu.Lock()
					defer s.mu.Unlock()
					if !s.marked[m.ID] {
						t.Errorf("%s is sent, and the store does not know", m.ID)
					}
					if m.Uncertain != cutOff {
						t.Errorf("%s is uncertain: %t, want %t", m.ID, m.Uncertain, cutOff)
					}
					return nil
				})
				w.say("1", "hello")
				want, repeats := "echo hello", 0
				if cutOff {
					want, repeats = "↻ "+want, 1
				}
				w.expect("1", want)
				if n := w.seen.get("repeated net"); n != repeats {
					t.Errorf("%d repeats were counted, want %d", n, repeats)
				}
			})
		})
	}
}

// A growing answer is not shown while an earlier one of its chat waits to be
// sent: the chat would show them in the wrong order.
func TestPreviewWaitsForEarlierAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		count := streaming("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if inputs(turn) == "count" {
				return count(ctx, turn)
			}
			return echo(ctx, turn)
		}
		w.net.failWith(func(channels.Outbound) error { return errors.New("the network is out") })
		w.say("1", "hello")
		synctest.Wait()
		w.say("1", "count")
		time.Sleep(6 * time.Second)
		if n := len(w.net.previews); n > 0 {
			t.Errorf("%d previews are shown before the answer that waits", n)
		}
		w.net.failWith(nil)
		time.Sleep(time.Hour)
		w.expect("1", "↻ echo hello", "one two three four five six seven eight nine ten end")
	})
}
