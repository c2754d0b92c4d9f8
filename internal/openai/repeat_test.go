package openai_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels"
	"dragoman/internal/openai"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// oneRoom is the only conversation there is. It answers slowly enough for a sign of life.
type oneRoom struct{ openai.Rooms }

func (oneRoom) Room(context.Context, people.Principal, string) (openai.Room, error) {
	return openai.Room{Key: channels.MustKey("web:room")}, nil
}

func (oneRoom) Say(context.Context, people.Principal, openai.Message) (openai.Reply, error) {
	time.Sleep(50 * time.Millisecond)
	return openai.Reply{Text: "done"}, nil
}

// A repeat is marked as one, also if its stream begins before its answer is there.
func TestRepeatStreams(t *testing.T) {
	streamed := strings.Replace(hello, "{", `{"stream":true,`, 1)
	t.Run("of a request that runs", func(t *testing.T) {
		h := newChatHouse(t, agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: `{}`}), agenttest.Say("done"))
		h.deed.hold = make(chan struct{})
		h.opts.Beat = 10 * time.Millisecond
		h.restart()
		first := make(chan string)
		go func() { first <- h.chat(streamed, "Idempotency-Key", "k").Header.Get("Idempotency-Replayed") }()
		for h.deed.times() == 0 {
			time.Sleep(time.Millisecond)
		}
		time.AfterFunc(100*time.Millisecond, func() { close(h.deed.hold) })
		repeat := h.chat(streamed, "Idempotency-Key", "k").Header.Get("Idempotency-Replayed")
		if one := <-first; one != "" || repeat != "true" {
			t.Errorf("the request is marked %q and its repeat %q", one, repeat)
		}
	})
	t.Run("in a conversation", func(t *testing.T) {
		h := newChatHouse(t)
		h.opts.Rooms = oneRoom{}
		h.opts.Beat = 10 * time.Millisecond
		h.restart()
		for _, want := range []string{"", "true"} {
			resp := h.chat(streamed, "Idempotency-Key", "k", "X-Session-Key", "web:room")
			if got := resp.Header.Get("Idempotency-Replayed"); got != want {
				t.Errorf("marked %q, want %q, in %s", got, want, body(t, resp))
			}
		}
	})
}
