package gateway_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// An operator's question is answered to the caller and in the chat, once,
// however often it comes. Its turn may use tools.
func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.agent.run = slowEcho(3 * time.Second) })
		k := channels.MustKey("net:42") // of nobody on the allow list
		began := time.Now()
		for range 2 {
			if got, err := w.gw.Ask(t.Context(), gateway.Question{Key: k, ID: "q1", Text: " how are you? "}); got != "echo how are you?" || err != nil {
				t.Fatalf("Ask = %q, %v", got, err)
			}
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("Ask took %s, want that it returns with the turn's end", took)
		}
		synctest.Wait()
		w.expect("42", "echo how are you?")
		turn := w.agent.turns[0]
		if may, err := turn.MayUseTools(t.Context()); !may || err != nil || !turn.Operator {
			t.Errorf("the turn may use tools: %t, %v; operator: %t", may, err, turn.Operator)
		}
	})
}

// lagging is a store whose transcript has a message a moment after its row says that it
// is answered.
type lagging struct {
	gateway.Conversations
	mu    sync.Mutex
	looks int
}

func (s *lagging) History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error) {
	h, err := s.Conversations.History(ctx, k, limit)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	if s.looks == 2 { // the turn itself was the first
		h.Messages = nil
	}
	return h, err
}

// An answer that the transcript does not show yet is waited for by whoever looks for it
// there, as somebody does who repeats a question.
func TestAskWhileTheTranscriptLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			w.store.Conversations = &lagging{Conversations: w.mem}
		})
		for range 2 {
			if got, err := w.gw.Ask(t.Context(), gateway.Question{Key: channels.MustKey("net:1"), ID: "q", Text: "hello"}); got != "echo hello" || err != nil {
				t.Errorf("Ask = %q, %v", got, err)
			}
		}
	})
}

// Programs may choose the same id for questions in two conversations: each is asked.
func TestAskInTwoConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for _, q := range []gateway.Question{{Key: channels.MustKey("net:1"), Text: "one"}, {Key: channels.MustKey("net:2"), Text: "two"}} {
			q.ID = "same"
			if got, err := w.gw.Ask(t.Context(), q); got != "echo "+q.Text || err != nil {
				t.Errorf("Ask in %s = %q, %v", q.Key, got, err)
			}
		}
	})
}

// A question during another answer gets its own answer.
func TestAskDuringATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.agent.run = slowEcho(3 * time.Second) })
		w.say("1", "first")
		time.Sleep(time.Second)
		k := channels.MustKey("net:1")
		for range 2 { // live, and out of the store
			if got, err := w.gw.Ask(t.Context(), gateway.Question{Key: k, ID: "q", Text: "second"}); got != "echo second" || err != nil {
				t.Errorf("Ask = %q, %v", got, err)
			}
		}
		w.say("1", "third")
		time.Sleep(time.Minute)
		if got, err := w.gw.Ask(t.Context(), gateway.Question{Key: k, ID: "q", Text: "second"}); got != "echo second" || err != nil {
			t.Errorf("Ask later = %q, %v", got, err)
		}
		w.expect("1", "echo first", "echo second", "echo third")
	})
}

// No caller waits for ever: a stop, a deadline, a failing model.
func TestAskWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.agent.run = slowEcho(time.Hour) })
		k := channels.MustKey("net:1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := w.gw.Ask(ctx, gateway.Question{Key: k, ID: "q1", Text: "hello"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Ask with a deadline: %v", err)
		}
		began := time.Now()
		const pause = 12 * time.Second
		go func() { time.Sleep(pause); w.say("1", "/stop") }()
		if _, err := w.gw.Ask(t.Context(), gateway.Question{Key: k, ID: "q1", Text: "hello"}); !errors.Is(err, gateway.ErrUnanswered) {
			t.Errorf("Ask of what is stopped: %v", err)
		}
		if took := time.Since(began); took != pause {
			t.Errorf("Ask took %s, want that it returns with the /stop, after %s", took, pause)
		}
		w.agent.mu.Lock()
		w.agent.run = func(context.Context, agent.Turn) (string, error) { return "", errors.New("broken") }
		w.agent.mu.Unlock()
		var refused *gateway.RefusedError
		if _, err := w.gw.Ask(t.Context(), gateway.Question{Key: k, ID: "q2", Text: "again"}); !errors.As(err, &refused) || !strings.Contains(refused.Why, "Sorry") {
			t.Errorf("Ask of a model that fails: %v", err)
		}
		for _, q := range []struct{ key, text string }{{"gone:1", "hello"}, {"net:1", " \n"}, {"net:1", strings.Repeat("x", 1<<20)}} {
			if _, err := w.gw.Ask(t.Context(), gateway.Question{Key: channels.MustKey(q.key), ID: "q3", Text: q.text}); !errors.As(err, &refused) {
				t.Errorf("Ask(%s, %d bytes): %v", q.key, len(q.text), err)
			}
		}
		if n := gateway.Watchers(w.gw); n != 0 {
			t.Errorf("%d watchers are left, want that each Ask ends its own", n)
		}
	})
}

// A command is no question: the model would guess what it does. Every door says so.
func TestAskCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for text, want := range map[string]string{
			"/foo":          "there is no command /foo",
			" /Newx now":    "there is no command /newx. Did you mean /new?",
			"/help":         "/help is a command, and this takes questions only; write it in the chat",
			"/new ":         "/new is a command, and this takes questions only; write it in the chat",
			"/usr/bin?":     "",
			"what is /foo?": "",
		} {
			q := gateway.Question{Key: channels.MustKey("net:1"), ID: text, Text: text}
			_, asked := w.gw.Ask(t.Context(), q)
			_, said := w.gw.Say(t.Context(), q, "")
			for name, err := range map[string]error{"Ask": asked, "Say": said} {
				var refused *gateway.RefusedError
				if errors.As(err, &refused) != (want != "") || refused != nil && refused.Why != want {
					t.Errorf("%s %q = %v, want %q", name, text, err, want)
				}
			}
		}
	})
}
