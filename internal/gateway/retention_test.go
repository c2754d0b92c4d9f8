package gateway_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// One sweep deletes everything old: conversations, and chats in which there
// were only commands, more of both than fit into one batch.
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

// newest is a store with one conversation.
type newest struct {
	gateway.Conversations
	updated time.Time
}

func (s newest) Find(context.Context, sessions.Query) ([]sessions.Conversation, error) {
	return []sessions.Conversation{{Updated: s.updated}}, nil
}

// A clock that is far ahead of the store's last update deletes nothing at once.
// If it is corrected within a day, nothing is lost.
func TestRetentionWithAWrongClock(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name  string
		off   []time.Duration // of the clock at the start, and after each day
		quiet time.Duration   // since the newest conversation, before the start
		swept []int           // days on which old conversations were looked for
	}{
		{"right", []time.Duration{0, 0, 0}, time.Hour, []int{0, 1, 2}},
		{"a quiet store", []time.Duration{0, 0, 0}, 3 * day, []int{1, 2}},
		{"ahead at the start, then set", []time.Duration{900 * day, 0, 0}, time.Hour, []int{1, 2}},
		{"ahead for good", []time.Duration{900 * day, 900 * day, 900 * day}, time.Hour, []int{1, 2}},
		{"jumps ahead and back", []time.Duration{0, 900 * day, 0}, time.Hour, []int{0, 2}},
		{"falls back and is set", []time.Duration{0, -9000 * day, 0}, time.Hour, []int{0, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var off atomic.Int64
				var spy *entries
				start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
					off.Store(int64(test.off[0]))
					spy = (&entries{}).spyOn(w)
					w.store.Conversations, o.RetentionDays = newest{spy, began.Add(-test.quiet)}, 30
					o.Now = func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
				})
				var swept []int
				time.Sleep(time.Hour)
				for i := range test.off {
					synctest.Wait()
					if len(spy.befores) > len(swept) {
						swept = append(swept, i)
					}
					off.Store(int64(test.off[min(i+1, len(test.off)-1)]))
					time.Sleep(day)
				}
				if diff := cmp.Diff(test.swept, swept); diff != "" {
					t.Errorf("days with a sweep (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Once a day notes go whose life is over, with and without a retention of conversations.
func TestOldNotesAreRemoved(t *testing.T) {
	for _, days := range []int{0, 30} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.RetentionDays = days })
			err := w.mem.ChangeNotes(t.Context(), "stickers", "net:1", func([]sessions.Note) ([]sessions.Note, []string, error) {
				return []sessions.Note{{Name: "lent", Due: time.Now()}, {Name: "kept"}}, nil, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			left := func(want int) {
				t.Helper()
				synctest.Wait()
				list, err := w.mem.Notes(t.Context(), sessions.NoteFilter{Kind: "stickers"})
				if err != nil || len(list) != want {
					t.Errorf("the notes are %+v, %v, want %d", list, err, want)
				}
			}
			time.Sleep(80 * 24 * time.Hour)
			left(2)
			time.Sleep(12 * 24 * time.Hour)
			left(1)
		})
	}
}
