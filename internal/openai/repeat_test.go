package openai_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
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

// reading reads a stream piece by piece.
type reading struct {
	t    *testing.T
	from *bufio.Reader
	got  string
}

// served serves h and returns a function that asks it and reads the answer while it comes.
// All are cut off after five seconds.
func (h *chatHouse) served(path, body string) (ask func() *reading) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.api.ServeHTTP(w, r.WithContext(people.With(r.Context(), h.caller)))
	}))
	client := server.Client()
	client.Timeout = 5 * time.Second
	h.t.Cleanup(server.Close)
	return func() *reading {
		h.t.Helper()
		r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		if err != nil {
			h.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "k")
		resp, err := client.Do(r)
		if err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() { _ = resp.Body.Close() })
		return &reading{t: h.t, from: bufio.NewReader(resp.Body)}
	}
}

// until reads up to the line with a text.
func (r *reading) until(text string) *reading {
	r.t.Helper()
	for !strings.Contains(r.got, text) {
		line, err := r.from.ReadString('\n')
		r.got += line
		if err != nil {
			r.t.Fatalf("no %q in the stream: %v\n%s", text, err, r.got)
		}
	}
	return r
}

// A repeat of a request that runs shows at once what the answer has so far, then the rest,
// and it is the same answer: its id can be named later.
func TestRepeatShowsWhatIsThere(t *testing.T) {
	for _, api := range []struct{ path, body, id string }{
		{"/v1/chat/completions", `{"model":"dragoman","stream":true,"messages":[{"role":"user","content":"hi"}]}`, `"id":"(chatcmpl-[^"]+)"`},
		{"/v1/responses", `{"model":"dragoman","stream":true,"input":"hi"}`, `"id":"(resp_[^"]+)"`},
	} {
		t.Run(api.path, func(t *testing.T) {
			hold := make(chan struct{})
			h := newChatHouse(t, agenttest.Say("The first answer of a model is shown when it is whole."))
			h.model.Add(func(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
				onDelta(agent.Delta{Text: "first half, "})
				onDelta(agent.Delta{Text: "begun "})
				return agenttest.Hold(hold, agenttest.Answer(func(r agent.Request) agent.Response {
					return agent.Response{Message: sessions.Message{Role: sessions.RoleAssistant, Content: "first half, begun and done"}, Finish: "stop"}
				}))(ctx, r, func(agent.Delta) { onDelta(agent.Delta{Text: "and done"}) })
			})
			_ = body(t, h.chat(hello))
			ask := h.served(api.path, api.body)
			one := ask().until("first half")
			two := ask().until("first half")
			close(hold)
			last := "[DONE]"
			if api.path == "/v1/responses" {
				last = "response.completed"
			}
			id := regexp.MustCompile(api.id)
			for _, r := range []*reading{one, two} {
				r.until(last)
				if strings.Count(r.got, "first half") != strings.Count(one.got, "first half") || !strings.Contains(r.got, "and done") {
					t.Errorf("a stream:\n%s", r.got)
				}
			}
			if a, b := id.FindString(one.got), id.FindString(two.got); a == "" || a != b {
				t.Errorf("the answer is %s, and in the repeat %s", a, b)
			}
		})
	}
}
