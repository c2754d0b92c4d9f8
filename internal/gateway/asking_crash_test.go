package gateway_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/actions"
)

// A crash at each step: it runs at most once, and nobody is asked again.
func TestACrashWhileSomebodyIsAsked(t *testing.T) {
	tests := []struct {
		name, crash string
		// at returns when the process should end
		say       func(a *asking)
		ran, read string
	}{
		{"proposed", "proposed", func(a *asking) { a.say("1", "/allow "+a.code("1")) }, "c1", "done"},
		{"parked", "", func(a *asking) {
			a.code("1")
			a.restart()
			a.say("1", "/allow "+a.code("1"))
		}, "c1", "done"},
		{"decided, and the turn is not due yet", "", func(a *asking) {
			code := a.code("1")
			_, err := a.book.Decide(a.t.Context(), actions.Who{Channel: "net", IDs: []string{"1"}}, actions.Ref{Text: code, Chat: channels.MustKey("net:1")}, actions.AllowOnce)
			if err != nil {
				a.t.Fatal(err)
			}
			synctest.Wait()
			if wrong := a.c.has("", ""); wrong != "" {
				a.t.Error(wrong)
			}
			a.restart()
		}, "c1", "done"},
		{"decided, and nothing starts again", "", func(a *asking) {
			code := a.code("1")
			_, err := a.book.Decide(a.t.Context(), actions.Who{Channel: "net", IDs: []string{"1"}}, actions.Ref{Text: code, Chat: channels.MustKey("net:1")}, actions.AllowOnce)
			if err != nil {
				a.t.Fatal(err)
			}
			time.Sleep(10*time.Minute + time.Second)
		}, "c1", "done"},
		{"used, before it ran", "used", func(a *asking) { a.say("1", "/allow "+a.code("1")) }, "", "interrupted: it was allowed, and may or may not have happened"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := startAsking(t, func(a *asking) { a.c.crash = tt.crash })
				run := a.c.run
				a.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
					text, err := run(ctx, turn)
					if errors.Is(err, errCrash) { // as if the process had ended: nothing is stored
						err = &agent.ModelError{Kind: agent.ErrorTemporary, Err: err}
					}
					return text, err
				}
				a.say("1", "go")
				synctest.Wait()
				time.Sleep(time.Minute)
				tt.say(a)
				time.Sleep(time.Minute)
				synctest.Wait()
				if wrong := a.c.has(tt.ran, tt.read); wrong != "" {
					t.Error(wrong)
				}
				if n := a.questions("1"); n != 1 {
					t.Errorf("%d questions were asked, want one: %q", n, a.net.texts("1"))
				}
				// The question is edited beside it, so either may come first.
				answers := 0
				for _, text := range a.net.texts("1") {
					if text == "answer go" {
						answers++
					}
				}
				if answers != 1 {
					t.Errorf("%d answers, want one: %q", answers, a.net.texts("1"))
				}
			})
		})
	}
}
