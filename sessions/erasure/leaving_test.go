package erasure_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
	"dragoman/sessions/sqlite/sqlitetest"
)

var (
	annsChat  = channels.MustKey("telegram:71")
	annsGroup = channels.MustKey("telegram:-100")
	annOnIRC  = channels.MustKey("irc:account:ann")
)

// farewell is a store with two chats of Ann, in one of which Bob writes, too.
type farewell struct {
	t       *testing.T
	store   *sqlitetest.Store
	leaving *erasure.Leaving
	told    []string // whoever runs it
	ids     int
}

func newFarewell(t *testing.T) *farewell {
	f := &farewell{t: t, store: sqlitetest.Open(t, nil)}
	f.says(annsChat, "71", "my secret is 4711")
	f.says(annsGroup, "71", "and here, too")
	f.says(annsGroup, "72", "what?")
	f.says(channels.MustKey("irc:ann"), "account:ann", "hello from IRC")
	_, err := f.store.Remember(t.Context(), sessions.PersonScope("telegram", "71"), sessions.NewFact{Text: "likes boats"})
	if err != nil {
		t.Fatal(err)
	}
	f.open()
	return f
}

// open makes it anew, as a restart does.
func (f *farewell) open() {
	f.leaving = erasure.NewLeaving(erasure.LeavingOptions{
		Store:  f.store,
		Eraser: erasure.New(erasure.Options{Store: f.store, People: people.NewDirectory(f.store, people.DirectoryOptions{})}),
		Announce: func(_ context.Context, _, text string, _ sessions.Erasure) error {
			f.told = append(f.told, text)
			return nil
		},
	})
}

// message is one of Ann's that begins no turn.
func (f *farewell) message(k channels.Key, id, text string) channels.Inbound {
	f.ids++
	return channels.Inbound{
		Key: k, ID: "m" + string(rune('a'+f.ids)), Text: text, Private: k != annsGroup,
		Sender: channels.Person{IDs: []string{id}, Name: "Ann"},
	}
}

func (f *farewell) says(k channels.Key, id, text string) {
	f.t.Helper()
	m := f.message(k, id, text)
	said := sessions.Message{Role: sessions.RoleUser, Content: text, Sender: id, Name: "Ann"}
	_, err := f.store.Accept(f.t.Context(), sessions.Entry{Inbound: m, Answered: true, Append: []sessions.Message{said}})
	if err != nil {
		f.t.Fatal(err)
	}
}

// asks is /forget_me with a code, or none. The message is stored as the gateway does.
func (f *farewell) asks(k channels.Key, code string, replies ...sessions.Reply) string {
	f.t.Helper()
	return f.asksBy(annsChat, f.message(k, "71", "/forget_me "+code), code, replies...)
}

func (f *farewell) asksBy(who channels.Key, m channels.Inbound, code string, replies ...sessions.Reply) string {
	f.t.Helper()
	said, err := f.leaving.Ask(f.t.Context(), who, m, code)
	if err != nil {
		f.t.Fatal(err)
	}
	_, err = f.store.Accept(f.t.Context(), sessions.Entry{Inbound: m, Answered: true, Replies: replies})
	if err != nil {
		f.t.Fatal(err)
	}
	return said
}

var shownCode = regexp.MustCompile(`/forget_me ([0-9]{4})$`)

// code is the one that an answer shows.
func (f *farewell) code(said string) string {
	f.t.Helper()
	found := shownCode.FindStringSubmatch(said)
	if found == nil {
		f.t.Fatalf("the person reads %q, want a code", said)
	}
	return found[1]
}

// runs lets it work for a while.
func (f *farewell) runs(d time.Duration) {
	ctx, end := context.WithTimeout(f.t.Context(), d)
	defer end()
	f.leaving.Run(ctx)
}

// left is all that the store has of Ann.
func (f *farewell) left() (all []string) {
	f.t.Helper()
	err := f.store.Dump(f.t.Context(), nil, func(r sessions.Record) error {
		switch {
		case r.Conversation != nil && r.Conversation.Key != annsGroup:
			all = append(all, "conversation "+r.Conversation.Key.String())
		case r.Note != nil && r.Note.Owner != "telegram:72": // Bob's
			all = append(all, "note "+r.Note.Kind+" of "+r.Note.Owner)
		case r.Fact != nil:
			all = append(all, "fact "+r.Fact.Text)
		case r.Inbox != nil && r.Inbox.Inbound.Sender.ID() != "72":
			all = append(all, "message "+r.Inbox.Inbound.Text)
		case r.Messages != nil:
			for _, m := range r.Messages.Messages {
				if m.Sender != "72" && m.Content != "[erased]" {
					all = append(all, "said "+m.Content)
				}
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

func TestLeaving(t *testing.T) {
	const (
		nothing = "There is nothing to confirm."
		gone    = "I erase all of it now."
	)
	tests := []struct {
		name string
		do   func(f *farewell) (said string)
		want string
		// erased: nothing of Ann is left
		erased bool
	}{
		{name: "asked alone", do: func(f *farewell) string { return f.asks(annsChat, "") }, want: "This I would erase for good:"},
		{name: "confirmed", do: func(f *farewell) string { return f.asks(annsChat, f.code(f.asks(annsChat, ""))) }, want: gone, erased: true},
		{name: "confirmed twice", do: func(f *farewell) string {
			code := f.code(f.asks(annsChat, ""))
			f.asks(annsChat, code)
			return f.asks(annsChat, code)
		}, want: gone, erased: true},
		{name: "asked again after it was confirmed", do: func(f *farewell) string {
			f.asks(annsChat, f.code(f.asks(annsChat, "")))
			return f.asks(annsChat, "")
		}, want: gone, erased: true},
		{name: "the network repeats what asked", do: func(f *farewell) string {
			m := f.message(annsChat, "71", "/forget_me")
			code := f.code(f.asksBy(annsChat, m, ""))
			if again := f.code(f.asksBy(annsChat, m, "")); again != code {
				f.t.Errorf("the repeat has the code %s, want %s", again, code)
			}
			return f.asks(annsChat, code)
		}, want: gone, erased: true},
		{name: "nobody asked", do: func(f *farewell) string { return f.asks(annsChat, "1234") }, want: nothing},
		{name: "another code", do: func(f *farewell) string {
			code := f.code(f.asks(annsChat, ""))
			return f.asks(annsChat, map[bool]string{true: "1112", false: "1111"}[code == "1111"])
		}, want: "That is another code, so I have erased nothing."},
		{name: "an older code", do: func(f *farewell) string {
			code := f.code(f.asks(annsChat, ""))
			for f.code(f.asks(annsChat, "")) == code { // one in ten thousand
				continue
			}
			return f.asks(annsChat, code)
		}, want: "That is another code, so I have erased nothing."},
		{name: "at the last second", do: func(f *farewell) string {
			code := f.code(f.asks(annsChat, ""))
			time.Sleep(10 * time.Minute)
			return f.asks(annsChat, code)
		}, want: gone, erased: true},
		{name: "too late", do: func(f *farewell) string {
			code := f.code(f.asks(annsChat, ""))
			time.Sleep(10*time.Minute + time.Second)
			return f.asks(annsChat, code)
		}, want: nothing},
		{name: "in another chat of hers", do: func(f *farewell) string {
			return f.asks(channels.MustKey("telegram:71:2"), f.code(f.asks(annsChat, "")))
		}, want: nothing},
		{name: "by somebody else", do: func(f *farewell) string {
			return f.asksBy(channels.MustKey("telegram:72"), f.message(annsChat, "72", ""), f.code(f.asks(annsChat, "")))
		}, want: nothing},
		{name: "a restart between", do: func(f *farewell) string {
			code := f.code(f.asks(annsChat, ""))
			f.open()
			return f.asks(annsChat, code)
		}, want: gone, erased: true},
		{name: "a restart after it was confirmed", do: func(f *farewell) string {
			said := f.asks(annsChat, f.code(f.asks(annsChat, "")))
			f.open()
			return said
		}, want: gone, erased: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFarewell(t)
				if said := tt.do(f); !strings.HasPrefix(said, tt.want) {
					t.Errorf("the person reads %q, want %q", said, tt.want)
				}
				f.runs(time.Hour)
				left := f.left()
				onIRC := []string{"conversation irc:ann", "message hello from IRC", "note talk of irc:account:ann", "said hello from IRC"}
				if gone := len(left) <= len(onIRC) && len(left) > 0; gone != tt.erased {
					t.Errorf("left are %q, want that Ann is erased: %t", left, tt.erased)
				}
				if len(f.told) > 0 != tt.erased {
					t.Errorf("whoever runs it reads %q", f.told)
				}
			})
		})
	}
}

// What is said before names what goes and what stays, with what was joined, and erased is
// just that.
func TestLeavingWithAnotherNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarewell(t)
		if err := people.NewDirectory(f.store, people.DirectoryOptions{}).Join(t.Context(), "telegram:71", "irc:account:ann"); err != nil {
			t.Fatal(err)
		}
		said := f.asks(annsChat, "")
		for _, want := range []string{
			"- 2 conversations with you: 2 messages", "- 1 message of yours in 1 shared chat: there they become “[erased]”",
			"- what I remember about you: 1 thing", "elsewhere: irc:account:ann", "This stays:", "within 10 minutes: /forget_me ",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("the person reads %q, want %q in it", said, want)
			}
		}
		f.asks(annsChat, f.code(said))
		f.runs(time.Minute)
		if left := f.left(); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
		if want := "Somebody on telegram has asked me to forget them, and I erase all that I have of them: 2 conversations with 2 messages, and 1 message in 1 shared chat."; len(f.told) != 1 || f.told[0] != want {
			t.Errorf("whoever runs it reads %q, want %q", f.told, want)
		}
		if said := f.asksBy(annOnIRC, f.message(channels.MustKey("irc:new"), "account:ann", ""), ""); said != "I have nothing of you that I could erase." {
			t.Errorf("on the other network the person reads %q", said)
		}
	})
}

// The last message is delivered before all is erased, unless it cannot be.
func TestLeavingWaitsForTheLastMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarewell(t)
		f.asks(annsChat, f.code(f.asks(annsChat, "")), sessions.Reply{Text: "bye"})
		f.runs(9 * time.Minute)
		if len(f.told) > 0 {
			t.Error("all is erased before the person was told")
		}
		f.runs(2 * time.Minute)
		if left := f.left(); len(f.told) != 1 || len(left) > 4 {
			t.Errorf("left are %q, and whoever runs it reads %q", left, f.told)
		}
	})
}
