package provider_test

import (
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/provider"
)

// Each fault of a server becomes an error of the right kind that does not show
// the key.
func TestFaults(t *testing.T) {
	want := map[string]agent.ErrorKind{
		"quota": agent.ErrorRefused, "unauthorized": agent.ErrorRefused, "leaky-key": agent.ErrorRefused,
		"no-model": agent.ErrorRefused, "html": agent.ErrorRefused,
		"huge-body": agent.ErrorRefused, "huge-line": agent.ErrorRefused, "huge-whole": agent.ErrorRefused,
		"context-length": agent.ErrorContext, "bad-request": agent.ErrorInvalid,
	}
	s := agenttest.Serve(t, agenttest.Options{})
	// Only the faults that are silence get a short timeout, so that a slow machine
	// does not look silent in the others.
	m := model(t, s.URL(), func(o *provider.Options) { o.FirstByteTimeout, o.IdleTimeout = time.Minute, time.Minute })
	hasty := model(t, s.URL(), func(o *provider.Options) {
		o.FirstByteTimeout, o.IdleTimeout = 300*time.Millisecond, 300*time.Millisecond
	})
	for _, name := range slices.Sorted(maps.Keys(agenttest.Faults)) {
		t.Run(name, func(t *testing.T) {
			s.Next(agenttest.Faults[name])
			asked := m
			if want[name] == "" {
				asked = hasty
			}
			resp, _, _, err := complete(t, asked, ask("hi"))
			var me *agent.ModelError
			if !errors.As(err, &me) {
				t.Fatalf("Complete = %+v, %v, want a ModelError", resp, err)
			}
			kind := want[name]
			if kind == "" {
				kind = agent.ErrorTemporary
			}
			if me.Kind != kind {
				t.Errorf("kind = %s, want %s: %v", me.Kind, kind, err)
			}
			for i := 0; i+8 <= len(key); i++ {
				if strings.Contains(err.Error(), key[i:i+8]) {
					t.Fatalf("the error shows a piece of the key: %v", err)
				}
			}
			if len(err.Error()) > 400 || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %d bytes long or has line breaks: %q", len(err.Error()), err)
			}
			t.Log(err)
		})
	}
	if resp, _, _, err := complete(t, m, ask("still there?")); err != nil || resp.Message.Content != "echo: still there?" {
		t.Errorf("after all faults: %+v, %v", resp, err)
	}
}

func TestErrorText(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for name, want := range map[string]string{
		"event-error": "it broke", "event-error-text": "it broke", "error-frame": "it broke",
		"error-frame-space": "it broke", "error-late-key": "it broke", "error-line": "it broke", "comments-error": "it broke",
		"error-in-200": "overloaded", "string-in-200": "overloaded", "error-string": "unexpectedly stopped",
		"leaky-key": "[key]", "bad-gateway": "HTTP 502", "cut": "before the answer was complete",
	} {
		s.Next(agenttest.Faults[name])
		if _, _, _, err := complete(t, m, ask("hi")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", name, err, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for _, tc := range []struct {
		header     map[string]string
		least, max time.Duration
	}{
		{map[string]string{"Retry-After": "7"}, 7 * time.Second, 7 * time.Second},
		{map[string]string{"Retry-After": "0.5"}, time.Second / 2, time.Second / 2},
		{map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, 250 * time.Millisecond, 250 * time.Millisecond},
		{map[string]string{"Retry-After": time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}, 50 * time.Second, time.Minute},
		{map[string]string{"Retry-After": time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat)}, 0, 0},
		{map[string]string{"Retry-After": "-3"}, 0, 0},
		{map[string]string{"Retry-After": "1e300"}, 24 * time.Hour, 24 * time.Hour},
		{map[string]string{"Retry-After": "NaN"}, 0, 0},
		{map[string]string{"Retry-After": "soon"}, 0, 0},
		{nil, 0, 0},
	} {
		s.Next(agenttest.StatusReply(429, tc.header, `{"error":{"message":"slow down"}}`))
		_, _, _, err := complete(t, m, ask("hi"))
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Status != 429 || me.After < tc.least || me.After > tc.max {
			t.Errorf("%v: %+v, want After in [%s, %s]", tc.header, me, tc.least, tc.max)
		}
	}
}

// The words of a refusal are the content, and Refused is set.
func TestRefusal(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for _, tc := range []struct {
		delta string
		want  bool
	}{
		{`{"content":"I can't help with that.","refusal":null}`, false},
		{`{"content":"I can't help with that.","refusal":""}`, false},
		{`{"content":"I can't help with that.","reasoning":"I would rather not.","refusal":" "}`, false},
		{`{"content":null,"refusal":"I can't help with that."}`, true},
		{`{"refusal":"I can't help with that."}`, true},
		{`{"content":"I can't help ","refusal":"with that."}`, true},
	} {
		s.Next(agenttest.RawReply(`data: {"choices":[{"delta":` + tc.delta + `}]}` + "\n\n" +
			`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"))
		resp, _, _, err := complete(t, m, ask("hi"))
		if err != nil || resp.Refused != tc.want || strings.TrimSpace(resp.Message.Content) != "I can't help with that." {
			t.Errorf("%s: %q, Refused = %v, %v; want %v", tc.delta, resp.Message.Content, resp.Refused, err, tc.want)
		}
	}
}

func TestUnreachable(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	_, _, _, err := complete(t, model(t, dead.URL), ask("hi"))
	var me *agent.ModelError
	if !errors.As(err, &me) || me.Kind != agent.ErrorTemporary || me.Status != 0 {
		t.Errorf("no listener: %v, want temporary", err)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	if _, _, _, err := complete(t, model(t, secure.URL), ask("hi")); !errors.As(err, &me) || me.Kind != agent.ErrorRefused {
		t.Errorf("unknown certificate: %v, want refused", err)
	}
}

// A content filter that quotes the text it refuses must not bring chat text
// into errors and logs.
func TestErrorsHoldNoChatText(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for _, quote := range []string{"my diagnosis is CANARYTEXT", "CANARYTEXT", `my\n  diagnosis is CANARYTEXT and more`} {
		s.Next(agenttest.StatusReply(400, nil, `{"error":{"message":"Content filter: your prompt '`+quote+`' is not allowed","code":"content_filter"}}`))
		_, _, _, err := complete(t, m, ask("Hello, my diagnosis is CANARYTEXT, what now?"))
		if err == nil || strings.Contains(err.Error(), "CANARY") || !strings.Contains(err.Error(), "Content filter: your prompt") {
			t.Errorf("error = %v, want the server's words without the person's", err)
		}
	}
}

// A summary holds people's words, wherever it is in the request.
func TestErrorsHoldNoSummary(t *testing.T) {
	const summary = "Anna's diagnosis is CANARYTEXT, and she asks for a second opinion."
	for name, r := range map[string]agent.Request{
		"in the system prompt": {System: "You help.\n\n<conversation_summary>\n" + summary + "\n</conversation_summary>"},
	} {
		t.Run(name, func(t *testing.T) {
			s := agenttest.Serve(t, agenttest.Options{})
			m := model(t, s.URL())
			s.Next(agenttest.StatusReply(400, nil, `{"error":{"message":"Content filter: 's diagnosis is CANARYTEXT, and' is not allowed"}}`))
			r.Messages = ask("What now?").Messages
			_, _, _, err := complete(t, m, r)
			if err == nil || strings.Contains(err.Error(), "CANARY") || !strings.Contains(err.Error(), "Content filter: ") {
				t.Errorf("error = %v, want the server's words without the summary's", err)
			}
		})
	}
}
