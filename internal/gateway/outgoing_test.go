package gateway_test

import (
	"context"
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

// paced is a network that needs two seconds for a line, like IRC.
type paced struct{ *network }

func (paced) Split(_ channels.Key, text string) []channels.Piece {
	return channels.Pieces(strings.Split(text, "\n"))
}

// startPaced starts a world whose answers have n lines.
func startPaced(t *testing.T, n int, changes ...change) *world {
	slow := func(w *world, b *gateway.Binding, _ *gateway.Options) {
		b.Channel = paced{w.net}
		w.net.slow = func(context.Context) error { time.Sleep(2 * time.Second); return nil }
		w.agent.run = func(_ context.Context, in agent.Turn) (string, error) {
			var lines []string
			for i := range n {
				lines = append(lines, fmt.Sprint(inputs(in), " ", i+1))
			}
			return strings.Join(lines, "\n"), nil
		}
	}
	return start(t, append([]change{slow}, changes...)...)
}

// A stop removes the rest of an answer from the outbox. The next question is
// answered completely.
func TestStopEndsALongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startPaced(t, 40)
		w.say("1", "a")
		time.Sleep(4 * time.Second)
		w.say("1", "b") // waits for the answer to be out
		time.Sleep(time.Second)
		w.say("1", "/stop")
		time.Sleep(2 * time.Minute)
		if got, want := w.net.texts("1")[:5], []string{"a 1", "a 2", "a 3", "Stopped.", "b 1"}; !slices.Equal(got, want) {
			t.Errorf("sent %q, want to begin with %q", got, want)
		}
		if n := w.seen.get("delivered net dropped"); n != 37 {
			t.Errorf("dropped %d pieces, want 37", n)
		}
		if got := w.net.texts("1"); len(got) != 44 || got[43] != "b 40" {
			t.Errorf("sent %d pieces up to %q, want all 40 of the second answer", len(got), got[len(got)-1])
		}
	})
}

// Replies to commands do not wait for the end of a long answer, and none of it
// is lost.
func TestCommandsOvertakeALongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startPaced(t, 40)
		w.say("1", "a")
		time.Sleep(5 * time.Second)
		w.say("1", "/title")
		time.Sleep(5 * time.Second)
		got := w.net.texts("1")
		if i := slices.IndexFunc(got, func(s string) bool { return strings.Contains(s, "no title") }); i != 3 {
			t.Errorf("sent %q, want the reply after the line that was on its way", got)
		}
		time.Sleep(2 * time.Minute)
		if got := w.net.texts("1"); len(got) != 41 || got[40] != "a 40" {
			t.Errorf("sent %d pieces up to %q, want all of the answer", len(got), got[len(got)-1])
		}
	})
}

// Whatever answers a command, or refuses a message, goes between the lines of a long
// answer: at once, in its own order, and the answer goes on after it, in private and where
// answers take turns.
func TestWhatIsAskedMeanwhileIsAnsweredAtOnce(t *testing.T) {
	for said, want := range map[string]string{
		"/help":                       "Write to me as you would",
		"/new":                        "A new conversation begins.",
		"/status":                     "Dragoman",
		"/model":                      "model",
		"/foo":                        "There is no /foo",
		strings.Repeat("long ", 1000): "too long for me",
	} {
		for _, room := range []bool{false, true} {
			name := said[:min(len(said), 8)]
			t.Run(fmt.Sprint(name, " room:", room), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := startPaced(t, 40, func(w *world, b *gateway.Binding, o *gateway.Options) {
						o.MaxMessageBytes = 1000
						if room {
							b.Channel = crowded{paced{w.net}}
						}
					})
					say := func(text string) {
						if room {
							w.asks("anna", text)
						} else {
							w.say("1", text)
						}
					}
					say("a")
					time.Sleep(7 * time.Second)
					say(said)
					time.Sleep(5 * time.Minute)
					got := w.net.texts("1")
					first := slices.IndexFunc(got, func(s string) bool { return !strings.HasPrefix(s, "a ") })
					last := len(got) - (40 - first)
					if first < 2 || first > 4 || last <= first || !strings.Contains(got[first], want) {
						t.Fatalf("sent %q, want %q after the line that was on its way", got, want)
					}
					answer := slices.Delete(slices.Clone(got), first, last)
					for i, line := range answer {
						if line != fmt.Sprint("a ", i+1) {
							t.Fatalf("sent %q: the answer is not whole and in order", got)
						}
					}
				})
			})
		}
	}
}

// After a restart within a long answer, the reply to a command is still first, and the rest
// follows. What is not the rest of an answer keeps its place.
func TestCommandsOvertakeAfterARestart(t *testing.T) {
	for first, want := range map[int][]string{2: {"help", "a 2", "a 3"}, 1: {"a 1", "a 2", "a 3", "help"}} {
		synctest.Test(t, func(t *testing.T) {
			var answer []sessions.Reply
			for i := first; i <= 3; i++ {
				answer = append(answer, sessions.Reply{Label: sessions.Label{Kind: channels.KindAnswer, Part: i, Parts: 3}, Text: fmt.Sprint("a ", i)})
			}
			w := startPaced(t, 1, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
				for _, replies := range [][]sessions.Reply{answer, {{Label: sessions.Label{Kind: channels.KindCommand, Part: 1, Parts: 1}, Text: "help"}}} {
					for i := range replies {
						replies[i].Key = channels.MustKey("net:1")
					}
					if _, err := w.mem.Accept(t.Context(), sessions.Entry{Inbound: w.message("1", "x"), Answered: true, Replies: replies}); err != nil {
						t.Fatal(err)
					}
				}
			})
			time.Sleep(time.Minute)
			w.expect("1", want...)
		})
	}
}

// After a restart within a long answer, replies to commands of before it and of now go out in
// their order, each once, before the rest: the chat is not read again and again.
func TestCommandsOfBeforeAndAfterARestart(t *testing.T) {
	hung := time.AfterFunc(30*time.Second, func() { panic("the chat is read again and again") }) // outside of the bubble: real time
	defer hung.Stop()
	synctest.Test(t, func(t *testing.T) {
		part := func(kind channels.Kind, i, of int) sessions.Label {
			return sessions.Label{Kind: kind, Part: i, Parts: of}
		}
		w := startPaced(t, 1, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			for _, replies := range [][]sessions.Reply{
				{{Label: part(channels.KindAnswer, 2, 3), Text: "a 2"}, {Label: part(channels.KindAnswer, 3, 3), Text: "a 3"}},
				{{Label: part(channels.KindCommand, 1, 1), Text: "first"}},
				{{Label: part(channels.KindCommand, 1, 1), Text: "second"}},
			} {
				for i := range replies {
					replies[i].Key = channels.MustKey("net:1")
				}
				if _, err := w.mem.Accept(t.Context(), sessions.Entry{Inbound: w.message("1", "x"), Answered: true, Replies: replies}); err != nil {
					t.Fatal(err)
				}
			}
		})
		time.Sleep(100 * time.Millisecond) // the first one is on its way
		w.say("1", "/help")
		time.Sleep(time.Minute)
		got := w.net.texts("1")
		if n := len(got); n < 5 || !slices.Equal(got[:2], []string{"first", "second"}) || !slices.Equal(got[n-2:], []string{"a 2", "a 3"}) {
			t.Errorf("sent %q, want the replies to commands first", got)
		}
	})
}

// If the bot is removed from a chat during an answer, it does not finish that
// answer when it comes back. An answer that had not begun is sent then.
func TestKickEndsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startPaced(t, 10)
		out := false
		w.net.failWith(func(channels.Outbound) error {
			if out {
				return &channels.NotSent{Err: fmt.Errorf("kicked: %w", channels.ErrRemoved)}
			}
			return nil
		})
		kick := func(on bool) {
			w.net.mu.Lock()
			defer w.net.mu.Unlock()
			out = on
		}
		w.say("1", "a")
		time.Sleep(5 * time.Second)
		kick(true)
		time.Sleep(10 * time.Second)
		w.say("1", "b")
		time.Sleep(10 * time.Second)
		kick(false)
		time.Sleep(5 * time.Minute)
		got := w.net.texts("1")
		if len(got) != 12 || got[1] != "a 2" || got[2] != "b 1" || got[11] != "b 10" {
			t.Errorf("sent %q, want two lines of the first answer and all of the second", got)
		}
		if n := w.seen.get("delivered net dead"); n != 0 {
			t.Errorf("%d pieces are dead, want none", n)
		}
	})
}
