package gateway_test

import (
	"context"
	"errors"
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

// plainly is an agent whose transcript differs from its answer.
type plainly struct{ *scripted }

func (a plainly) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	res, err := a.scripted.Run(ctx, t)
	if err == nil {
		res.Messages[len(res.Messages)-1].Content = "other words"
	}
	return res, err
}

// looksFirst is an agent that writes text before a tool call, and whose answer
// is cut; the transcript does not have the cut.
type looksFirst struct{ *scripted }

func (a looksFirst) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	res, err := a.scripted.Run(ctx, t)
	if err != nil || res.Text == "" {
		return res, err
	}
	res.Messages = slices.Insert(res.Messages, len(res.Messages)-1,
		sessions.Message{Role: sessions.RoleAssistant, Content: "I look.", ToolCalls: []sessions.ToolCall{{ID: "1", Name: "look"}}},
		sessions.Message{Role: sessions.RoleTool, ToolCallID: "1", Content: "found"})
	res.Text, res.Finish = "I look.\n\n"+res.Text+"\n\n(cut)", "length"
	return res, nil
}

// Ask returns exactly the messages that the chat received for the question: at
// once, when repeated, and after a restart.
func TestAskIsToldWhatTheChatIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b gateway.Binding
		var o gateway.Options
		w := start(t, func(w *world, binding *gateway.Binding, opts *gateway.Options) {
			binding.Channel, w.real = paced{w.net}, looksFirst{w.agent}
			w.agent.run = slowEcho(3 * time.Second)
			b, o = *binding, *opts
		})
		k := channels.MustKey("net:1")
		w.say("1", "first")
		time.Sleep(time.Second)
		const want = "I look.\n\necho second\n\n(cut)"
		for range 2 {
			if got, err := w.gw.Ask(t.Context(), gateway.Question{Key: k, ID: "q", Text: "second"}); got != want || err != nil {
				t.Errorf("Ask = %q, %v, want %q", got, err, want)
			}
		}
		w.say("1", "third")
		time.Sleep(time.Minute)
		if sent := strings.Join(w.net.texts("1"), "\n"); strings.Count(sent, want) != 1 {
			t.Errorf("the chat was sent %q, want %q in it", sent, want)
		}
		again, err := gateway.New(w.store, w.agent, []gateway.Binding{b}, o)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := again.Ask(t.Context(), gateway.Question{Key: k, ID: "q", Text: "second"}); got != want || err != nil {
			t.Errorf("Ask after a restart = %q, %v, want %q", got, err, want)
		}
	})
}

// If the answer cannot be delivered, or not all of it, Ask returns it from the
// transcript.
func TestAskInAChatThatTakesNothing(t *testing.T) {
	for _, refused := range []string{"", "I look."} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
				b.Channel, w.real = paced{w.net}, looksFirst{w.agent}
			})
			w.net.failWith(func(m channels.Outbound) error {
				if refused == "" || m.Text == refused {
					return channels.ErrPermanent
				}
				return nil
			})
			for range 2 {
				got, err := w.gw.Ask(t.Context(), gateway.Question{Key: channels.MustKey("net:1"), ID: "q", Text: "hello"})
				if !strings.HasPrefix(got, "I look.\n\necho hello") || err != nil {
					t.Errorf("Ask = %q, %v", got, err)
				}
				synctest.Wait()
			}
		})
	}
}

// rooms is a network whose last piece has the text that !more would show.
type rooms struct{ *network }

func (rooms) Split(_ channels.Key, text string) []channels.Piece {
	first, rest, _ := strings.Cut(text, "\n")
	bold := strings.NewReplacer("one", "\x02one\x02").Replace
	return []channels.Piece{{Text: bold(first), Form: channels.FormNative}, {Text: rest, Form: channels.FormRest}}
}

func (rooms) Plain(native string) string { return strings.ReplaceAll(native, "\x02", "") }

// Ask returns all of a long answer at once: the content of the file, and the
// rest that a room would have to ask for.
func TestAskForALongAnswer(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	for answer, channel := range map[string]func(*network) channels.Channel{
		long:          func(n *network) channels.Channel { return filing{paged{n, 4000}} },
		"one\ntwo\n3": func(n *network) channels.Channel { return rooms{n} },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
				b.Channel, w.real = channel(w.net), plainly{w.agent}
				w.agent.run = func(context.Context, agent.Turn) (string, error) { return answer, nil }
			})
			got, err := w.gw.Ask(t.Context(), gateway.Question{Key: channels.MustKey("net:1"), ID: "q", Text: "go on"})
			if got != answer || err != nil {
				t.Errorf("Ask = %d bytes, %v, want the %d of the answer", len(got), err, len(answer))
			}
			synctest.Wait()
		})
	}
}

// Whoever runs Dragoman reads the cure, once, in whichever chat they ask.
// Others read the same as the chat.
func TestAskTellsTheOwnerTheCure(t *testing.T) {
	refused := &agent.ModelError{Kind: agent.ErrorRefused, Cause: agent.CauseKey, Status: 401, Err: errors.New("the server's words")}
	for name, test := range map[string]struct {
		err  error
		said string
		cure string
	}{
		"a failure": {refused, "does not accept my key", "set model.api_key (or the variable that it names) to a valid one. The server says: `HTTP 401: the server's words`"},
		"no words":  {nil, "(The answer reached its length limit before its first word.", "Raise model.max_tokens"},
	} {
		for _, owners := range []bool{false, true} { // the chat
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
						o.People = operatorsRooms(owners)
						w.agent.run = func(context.Context, agent.Turn) (string, error) { return "", test.err }
						w.agent.ended = agent.Result{Finish: "length"}
					})
					for _, owner := range []bool{true, false, true} {
						_, err := w.gw.Ask(t.Context(), gateway.Question{Key: channels.MustKey("net:1"), ID: "q", Text: "hello", Owner: owner})
						var why *gateway.RefusedError
						if !errors.As(err, &why) || !strings.Contains(why.Why, test.said) {
							t.Fatalf("Ask: %v, want %q", err, test.said)
						}
						want := 0
						if owner || owners {
							want = 1
						}
						if n := strings.Count(why.Why, test.cure); n != want {
							t.Errorf("owner %v in a chat of the owner's %v is told %q, want the cure %d times", owner, owners, why.Why, want)
						}
					}
					synctest.Wait()
					if sent := w.net.texts("1"); len(sent) != 1 || strings.Contains(sent[0], test.cure) != owners {
						t.Errorf("the chat was sent %q", sent)
					}
				})
			})
		}
	}
}
