package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
)

// leaves answers whoever asks to be erased with who they are.
type leaves struct{ err error }

func (l leaves) Ask(_ context.Context, who channels.Key, _ channels.Inbound, code string) (string, error) {
	return strings.TrimSpace("goodbye " + who.String() + " " + code), l.err
}

// Who asks to be erased is who the network says, and nobody else is. /help lists the command
// for those for whom it is.
func TestForgetMe(t *testing.T) {
	const private = "What I have of you concerns only you"
	tests := []struct {
		name   string
		ids    []string
		text   string // "": the command alone
		shared bool
		err    error
		want   string
		listed bool
	}{
		{name: "in private", ids: []string{"1"}, want: "goodbye net:1", listed: true},
		{name: "with a code", ids: []string{"1"}, text: "/forget_me 1234", want: "goodbye net:1 1234", listed: true},
		{name: "in a group", ids: []string{"1"}, shared: true, want: private},
		{name: "in a group, with a code", ids: []string{"1"}, text: "/forget_me 1234", shared: true, want: private},
		{name: "with an account", ids: []string{"mask:ann!a@host", "account:ann"}, want: "goodbye net:account:ann", listed: true},
		{name: "without an account", ids: []string{"mask:ann!a@host"}, want: "I cannot be sure here"},
		{name: "through a bridge", ids: []string{"bridge:relay/ann"}, want: "I cannot be sure here"},
		{name: "without an identity", ids: []string{""}, want: "I cannot be sure here"},
		{name: "a store that fails", ids: []string{"1"}, err: errors.New("the disk is full"), want: "Sorry, I could not look up", listed: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(_ *world, b *gateway.Binding, o *gateway.Options) {
					o.Leaving = leaves{tt.err}
					b.Allow = []string{"*"}
				})
				for _, text := range []string{tt.text, "/help"} {
					m := w.message("1", text)
					if text == "" {
						m.Text = "/forget_me"
					}
					m.Sender.IDs = tt.ids
					m.Private = !tt.shared
					m.Addressed = true
					w.accept(m)
					synctest.Wait()
				}
				got := w.net.texts("1")
				if len(got) != 2 || !strings.HasPrefix(got[0], tt.want) {
					t.Fatalf("the person reads %q, want %q first", got, tt.want)
				}
				if listed := strings.Contains(got[1], "/forget_me"); listed != tt.listed {
					t.Errorf("/help lists the command: %t, want %t", listed, tt.listed)
				}
			})
		})
	}
}

// In a room, the person is whom the page let in. In the operator's, it is no person.
func TestForgetMeInARoom(t *testing.T) {
	for id, want := range map[string]string{"telegram:71": "goodbye telegram:71", people.OperatorID: "You run me: ", "owner": "You run me: "} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, func(_ *world, b *gateway.Binding, o *gateway.Options) {
				o.Leaving = leaves{}
				b.Allow = []string{"*"}
				o.People = people.NewDirectory(nil, people.DirectoryOptions{Rooms: []string{"net"}})
			})
			m := w.message("1", "/forget_me")
			m.Sender.IDs = []string{id}
			m.Key = channels.MustKey("net:1")
			if id == "telegram:71" {
				m.Key = channels.MustKey("net:telegram:71/1")
			}
			w.accept(m)
			synctest.Wait()
			if got := w.lastText(m.Key.Chat()); !strings.HasPrefix(got, want) {
				t.Errorf("%s reads %q, want %q", id, got, want)
			}
		})
	}
}

// By the page's verb, a program could have asked.
func TestForgetMeByTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, b *gateway.Binding, o *gateway.Options) {
			o.Leaving = leaves{}
			b.Allow = []string{"*"}
			o.People = people.NewDirectory(nil, people.DirectoryOptions{Rooms: []string{"net"}})
		})
		k := channels.MustKey("net:telegram:71/1")
		q := gateway.Question{Key: k, ID: "a", Text: "/forget_me", Sender: channels.Person{IDs: []string{"telegram:71"}}}
		if _, err := w.gw.Say(t.Context(), q, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := w.lastText(k.Chat()); !strings.HasPrefix(got, "Write /forget_me to me in a private chat on your own network") {
			t.Errorf("the person reads %q", got)
		}
	})
}

// Without the option there is no such command.
func TestNobodyCanLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "/forget_me")
		synctest.Wait()
		if got := w.lastText("1"); !strings.HasPrefix(got, "There is no /forget_me.") {
			t.Errorf("the person reads %q", got)
		}
	})
}
