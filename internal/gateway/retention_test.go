package gateway_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// One sweep ends all that is old: conversations, and chats in which only
// commands were said, more of both than go in one batch.
func TestRetentionOfMany(t *testing.T) {
	const chats = 250
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.RetentionDays = 30 })
		enter := func(k string, said ...sessions.Message) {
			t.Helper()
			m := channels.Inbound{Key: channels.MustKey(k), ID: k, Text: "/help"}
			if _, err := w.mem.Accept(t.Context(), sessions.Entry{Inbound: m, Answered: true, Append: said}); err != nil {
				t.Fatal(err)
			}
		}
		left := func() (talks, commands int) {
			t.Helper()
			for i := range chats {
				feed, err := w.mem.Feed(t.Context(), channels.MustKey(fmt.Sprintf("net:c%d", i)), 0, 9)
				if err != nil {
					t.Fatal(err)
				}
				commands += min(len(feed), 1)
				if _, err := w.mem.Conversation(t.Context(), channels.MustKey(fmt.Sprintf("net:t%d", i))); err == nil {
					talks++
				}
			}
			return talks, commands
		}
		for i := range chats {
			enter(fmt.Sprintf("net:t%d", i), sessions.Message{Role: sessions.RoleUser, Content: "hi"})
			enter(fmt.Sprintf("net:c%d", i))
		}
		time.Sleep(29 * 24 * time.Hour)
		synctest.Wait()
		if talks, commands := left(); talks != chats || commands != chats {
			t.Fatalf("after 29 days %d conversations and %d chats of commands are left, want %d of each", talks, commands, chats)
		}
		time.Sleep(24*time.Hour + 2*time.Minute)
		synctest.Wait()
		if talks, commands := left(); talks != 0 || commands != 0 {
			t.Errorf("after the sweep %d conversations and %d chats of commands are left, want none", talks, commands)
		}
	})
}
