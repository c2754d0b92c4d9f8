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
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// crowded is a paced network on which answers take turns in the chat 1.
type crowded struct{ paced }

func (crowded) Interleaves(k channels.Key) bool { return k.Chat() == "1" }
func (crowded) Asker(replyTo string) string     { return strings.TrimRight(replyTo, "0123456789") }

func (crowded) Continues(before, piece string) bool {
	return strings.HasPrefix(piece, "code ") || strings.HasSuffix(before, "…")
}
func (crowded) Pause(channels.Inbound) time.Duration { return time.Second }

// startRoom starts a world with a room whose answers have n lines each.
func startRoom(t *testing.T, n int) *world {
	w := startPaced(t, n, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = crowded{paced{w.net}} })
	return w
}

// asks sends text to the room 1 as who.
func (w *world) asks(who, text string) channels.Inbound {
	w.t.Helper()
	m := w.message("1", text)
	m.Private, m.Addressed = false, true
	m.MessageID = who + m.MessageID[1:]
	m.Sender.Name = who
	if err := w.in.Accept(w.t.Context(), m); err != nil {
		w.t.Fatalf("Accept(%q) = %v", text, err)
	}
	return m
}

// shown are the lines that the room 1 received; "+" continues the line before
// it.
func (w *world) shown() (all []string) {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	for _, m := range w.net.sent {
		text := m.Text
		if m.GoesOn {
			text = "+" + text
		}
		all = append(all, text)
	}
	return all
}

func (w *world) wantShown(want ...string) {
	w.t.Helper()
	synctest.Wait()
	if got := w.shown(); !slices.Equal(got, want) {
		w.t.Errorf("the room was shown %q, want %q", got, want)
	}
}

// A person who asks while a long answer is being sent is answered in between.
// The answers to one person follow one another, and every piece names its
// person.
func TestAnswersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startRoom(t, 7)
		w.asks("anna", "a")
		time.Sleep(3 * time.Second)
		w.asks("bob", "b")
		time.Sleep(2 * time.Second)
		w.asks("anna", "c")
		time.Sleep(2 * time.Minute)
		w.wantShown("a 1", "+a 2", "+a 3", "b 1", "+b 2", "+b 3", "a 4", "+a 5", "+a 6", "b 4", "+b 5", "+b 6", "+b 7", "a 7", "c 1", "+c 2", "+c 3", "+c 4", "+c 5", "+c 6", "+c 7")
	})
}

// After a restart only the deliveries that were uncertain or begun tell whose
// turn it was.
func TestRoundsAfterARestart(t *testing.T) {
	queued := func(texts ...string) (all []sessions.Delivery) {
		for _, text := range texts {
			d := sessions.Delivery{Text: text, ReplyTo: text[len(text)-1:], State: sessions.DeliveryQueued}
			if rest, unknown := strings.CutPrefix(text, "?"); unknown {
				d.Text, d.State = rest, sessions.DeliveryUnknown
			}
			all = append(all, d)
		}
		return all
	}
	for _, tt := range []struct{ name, list, want string }{
		{"one answer", "1a 2a 3a 4a 5a", "1a 2a 3a 4a 5a"},
		{"the older one first", "4a 5a 6a 7a 8a 1b 2b", "4a 5a 6a 1b 2b 7a 8a"},
		{"but for what was on its way", "4a 5a ?1b 2b", "1b 2b 4a 5a"},
		{"or in the middle of code", "4a 5a code_b 2b", "code_b 2b 4a 5a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range gateway.Rounds(queued(strings.Fields(tt.list)...), byLetter{}, gateway.Streak{}) {
				got = append(got, d.Text)
			}
			if want := strings.Fields(tt.want); !slices.Equal(got, want) {
				t.Errorf("rounds(%s) = %q, want %q", tt.list, got, want)
			}
		})
	}
}

// byLetter is a network whose messages name who wrote them.
type byLetter struct{ crowded }

func (byLetter) Asker(replyTo string) string    { return replyTo }
func (byLetter) Continues(_, piece string) bool { return strings.HasPrefix(piece, "code") }

// lines answers with the question and a number, n times.
func lines(question string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(question, " ", i+1))
	}
	return all
}

// Waiting messages are answered together, but not those of different people
// whose answers take turns.
func TestEveryAskerGetsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startRoom(t, 1)
		quick := w.agent.run
		w.agent.run = func(ctx context.Context, in agent.Turn) (string, error) {
			time.Sleep(10 * time.Second)
			return quick(ctx, in)
		}
		w.asks("anna", "a")
		time.Sleep(time.Second)
		w.asks("bob", "b")
		w.asks("anna", "c")
		w.asks("bob", "d")
		time.Sleep(2 * time.Minute)
		w.wantShown("a 1", "b | d 1", "c 1")
	})
}

// In a room that asks faster than it can be answered, delays do not keep
// growing: while many deliveries wait, the next turn waits, too.
func TestTurnsWaitForALongOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startRoom(t, 30)
		for _, who := range []string{"anna", "bob", "carol"} {
			w.asks(who, who)
			time.Sleep(3 * time.Second)
		}
		time.Sleep(3 * time.Second)
		if n := w.agent.count(); n != 2 {
			t.Errorf("%d turns ran while two long answers go out, want 2", n)
		}
		time.Sleep(5 * time.Minute)
		if got := w.shown(); len(got) != 90 || w.agent.count() != 3 {
			t.Errorf("%d lines of %d answers went out, want 90 of 3", len(got), w.agent.count())
		}
	})
}

// The rest of an answer is sent while the model thinks about the next question.
// Replies to commands still overtake it.
func TestAnAnswerLeavesBesideATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startRoom(t, 5)
		quick := w.agent.run
		w.agent.run = func(ctx context.Context, in agent.Turn) (string, error) {
			if inputs(in) == "b" {
				time.Sleep(time.Minute)
			}
			return quick(ctx, in)
		}
		w.asks("anna", "a")
		time.Sleep(3 * time.Second)
		w.asks("bob", "b")
		time.Sleep(2 * time.Second)
		w.asks("bob", "/title")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got := w.shown(); len(got) != 6 || !strings.Contains(got[3], "no title") || got[4] != "a 4" || got[5] != "+a 5" {
			t.Errorf("the room was shown %q, want all of the answer and a command's in between", got)
		}
		time.Sleep(2 * time.Minute)
		if got := w.shown(); len(got) != 11 || got[6] != "b 1" || got[10] != "+b 5" {
			t.Errorf("the room was shown %q, want the second answer after it", got)
		}
	})
}

// Code is not torn apart, and a failure loses nothing and keeps the order
// within an answer.
func TestTurnsKeepCodeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startRoom(t, 0)
		w.agent.run = func(_ context.Context, in agent.Turn) (string, error) {
			if inputs(in) == "b" {
				return strings.Join(lines("b", 5), "\n"), nil
			}
			return "a 1\na 2\na…\na 3\ncode 1\ncode 2\na 4\na 5", nil
		}
		fail := failing(1, &channels.NotSent{Err: errors.New("refused")})
		w.net.failWith(func(m channels.Outbound) error {
			if m.Text == "b 2" {
				return fail(m)
			}
			return nil
		})
		w.asks("anna", "a")
		time.Sleep(5 * time.Second) // in the middle of the line that was cut
		w.asks("bob", "b")
		time.Sleep(2 * time.Minute)
		w.wantShown("a 1", "+a 2", "+a…", "+a 3", "+code 1", "+code 2", "b 1", "a 4", "+a 5", "b 2", "+b 3", "+b 4", "+b 5")
	})
}

// In a room /stop ends the answer to its author, and other people's answers
// continue. From a person without a question it ends everything.
func TestStopEndsWhatIsYours(t *testing.T) {
	for who, want := range map[string][]string{
		"anna":  {"a 1", "+a 2", "Stopped.", "b 1", "+b 2", "+b 3", "+b 4", "+b 5"},
		"bob":   {"a 1", "+a 2", "Stopped.", "a 3", "+a 4", "+a 5"},
		"carol": {"a 1", "+a 2", "Stopped."},
	} {
		t.Run(who, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := startRoom(t, 5)
				quick := w.agent.run
				w.agent.run = func(ctx context.Context, in agent.Turn) (string, error) {
					if inputs(in) == "b" {
						if !sleep(ctx, 3*time.Second) {
							return "", ctx.Err()
						}
					}
					return quick(ctx, in)
				}
				w.asks("anna", "a")
				time.Sleep(time.Second)
				w.asks("bob", "b") // its turn begins after the first line
				time.Sleep(2 * time.Second)
				w.asks(who, "/stop")
				time.Sleep(2 * time.Minute)
				w.wantShown(want...)
			})
		})
	}
}

// sleep waits for d and reports true, or false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// talker is a network that sends text itself until it is stopped.
type talker struct {
	*network
	talks *bool
}

func (n talker) Stop(channels.Key) bool {
	was := *n.talks
	*n.talks = false
	return was
}

// /stop also ends what a channel itself sends.
func TestStopEndsWhatTheChannelSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		talks := true
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = talker{w.net, &talks} })
		w.say("1", "/stop")
		synctest.Wait()
		w.say("1", "/stop")
		w.expect("1", "Stopped.", "Nothing is running now.")
	})
}
