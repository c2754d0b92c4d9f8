package gateway_test

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/sessions"
)

func TestWhoMayTalk(t *testing.T) {
	person := func(ids ...string) channels.Person { return channels.Person{IDs: ids, Name: "1"} }
	tests := []struct {
		name   string
		allow  []string
		sender channels.Person
		shared bool // in a group
		addr   bool
		groups people.Groups
		want   bool
		chat   string // "c"
	}{
		{"on the list", []string{"1"}, person("1"), false, false, "", true, ""},
		{"second identity", []string{"account:ann"}, person("mask:x!y@z", "account:ann"), false, false, "", true, ""},
		{"empty list", nil, person("1"), false, false, "", false, ""},
		{"not on the list", []string{"2"}, person("1"), false, false, "", false, ""},
		{"a name is no identity", []string{"1"}, channels.Person{Name: "1"}, false, false, "", false, ""},
		{"an empty identity matches nothing", []string{""}, person(""), false, false, "", false, ""},
		{"everybody", []string{"*"}, channels.Person{}, false, false, "", true, ""},
		{"everybody in that chat", []string{"chat:c"}, person("1"), true, true, "", true, ""},
		{"another chat", []string{"chat:d"}, person("1"), true, true, "", false, ""},
		{"group, not addressed", []string{"*"}, person("1"), true, false, "", false, ""},
		{"group, addressed, stranger", []string{"2"}, person("1"), true, true, "", false, ""},
		{"group, addressed, known", []string{"1"}, person("1"), true, true, "", true, ""},
		{"group that answers all, not addressed", []string{"1"}, person("1"), true, false, people.All, true, ""},
		{"group that answers all, stranger", []string{"2"}, person("1"), true, false, people.All, false, ""},
		{"groups off", []string{"*"}, person("1"), true, true, people.Off, false, ""},
		{"groups off, private talk", []string{"*"}, person("1"), false, false, people.Off, true, ""},
		{"a topic of an allowed chat", []string{"chat:-100"}, person("1"), true, true, "", true, "-100:7"},
		{"a topic of another chat", []string{"chat:-10"}, person("1"), true, true, "", false, "-100:7"},
		{"prefix of an id", []string{"12"}, person("1"), false, false, "", false, ""},
		{"other case", []string{"account:Ann"}, person("account:ann"), false, false, "", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(_ *world, b *gateway.Binding, _ *gateway.Options) { b.Allow, b.Groups = tt.allow, tt.groups })
				m := w.message(cmp.Or(tt.chat, "c"), "hello")
				m.Sender = tt.sender
				m.Private = !tt.shared
				m.Addressed = tt.addr
				if got := channels.Answers(t.Context(), w.in, m); got != tt.want {
					t.Errorf("Answers = %v, want %v", got, tt.want)
				}
				if err := w.in.Accept(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := len(w.net.texts(m.Key.Chat())) == 1; got != tt.want {
					t.Errorf("answered = %v, want %v", got, tt.want)
				}
				st, err := w.mem.Stats(t.Context())
				if err != nil || st.Waiting != 0 {
					t.Errorf("Stats = %+v, %v, want nothing waiting", st, err)
				}
				if tr := w.transcript(m.Key.Chat()); !tt.want && len(tr) != 0 {
					t.Errorf("a refused message was stored: %q", tr)
				}
			})
		})
	}
}

func TestPairing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, b *gateway.Binding, o *gateway.Options) {
			b.Pairing = true
			o.PairingPending = 2
		})
		w.say("stranger", "let me in, my secret is 0-0-0")
		w.say("stranger", "hello?")
		synctest.Wait()
		got := w.net.texts("stranger")
		if len(got) != 1 {
			t.Fatalf("the stranger was sent %q, want one code", got)
		}
		code := regexp.MustCompile(`\*\*([A-Z2-9]{4}-[A-Z2-9]{4}-[A-Z2-9]{5})\*\*`).FindStringSubmatch(got[0])
		if code == nil {
			t.Fatalf("no code in %q", got[0])
		}
		if tr := w.transcript("stranger"); len(tr) != 0 || w.agent.count() != 0 {
			t.Errorf("before the approval %d turns ran and %q was stored", w.agent.count(), tr)
		}
		feed, err := w.mem.Feed(t.Context(), channels.MustKey("net:stranger"), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range feed {
			if strings.Contains(it.Text, "0-0-0") {
				t.Errorf("the stranger's text was stored: %q", it.Text)
			}
		}
		w.say("stranger", "/new")
		for _, change := range []channels.Inbound{
			{Edits: "n2", Text: "hello, and why?"},
			{Edits: "n1", Text: "[gone]", Deletes: channels.DeletedBySender},
			{Edits: "n9", Text: "[gone]", Deletes: channels.DeletedBySender},
		} {
			m := w.message("stranger", change.Text)
			m.Edits, m.Deletes = change.Edits, change.Deletes
			if err := w.in.Accept(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		w.expect("stranger", got[0])
		if _, err := w.gw.ApprovePairing(t.Context(), strings.ToLower(code[1]), time.Now()); err != nil {
			t.Fatal(err)
		}
		w.expect("stranger", got[0], "You may write now.", "echo hello, and why?")
		w.say("stranger", "now")
		w.expect("stranger", got[0], "You may write now.", "echo hello, and why?", "echo now")

		// In a group a stranger gets no code.
		m := w.message("group", "hi")
		m.Private = false
		m.Addressed = true
		m.Sender = channels.Person{IDs: []string{"s5"}}
		if err := w.in.Accept(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		w.expect("group")
	})
}

// In a crowd of strangers as many get codes as may wait. The others are told
// once in the lifetime of a code that they are too many, a few of them a
// minute.
func TestTooManyStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, b *gateway.Binding, o *gateway.Options) {
			b.Pairing = true
			o.PairingPending = 2
		})
		heard := func(want string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for i := range 8 {
				line := ""
				for _, text := range w.net.texts(fmt.Sprint("s", i)) {
					switch {
					case strings.Contains(text, "give this code"):
						line += "code"
					case strings.Contains(text, "ask the person who runs me, or write again in an hour"):
						line += "full"
					default:
						line += text
					}
				}
				got = append(got, line)
			}
			if line := strings.Join(got, ","); line != want {
				t.Errorf("the strangers heard %q, want %q", line, want)
			}
		}
		crowd := func() {
			for i := range 8 {
				w.say(fmt.Sprint("s", i), "hi")
			}
		}
		crowd()
		heard("code,code,full,full,full,full,full,")
		crowd()
		heard("code,code,full,full,full,full,full,")
		time.Sleep(time.Minute)
		w.say("s7", "hi")
		heard("code,code,full,full,full,full,full,full")
		time.Sleep(time.Hour)
		w.say("s2", "hi")
		heard("code,code,fullcode,full,full,full,full,full")
	})
}

func TestAllowListCanBeReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "a")
		synctest.Wait()
		w.gw.Change("net", func(b *gateway.Binding) { b.Allow = []string{"2"} })
		w.say("1", "b")
		w.say("2", "c")
		w.expect("1", "echo a")
		w.expect("2", "echo c")
	})
}

func changeNet(f func(*gateway.Binding)) func(*world) error {
	return func(w *world) error {
		w.gw.Change("net", f)
		return nil
	}
}

// A person who is no longer allowed loses the tools of their running turn,
// however they were let in.
func TestWhoIsTurnedOutLosesTools(t *testing.T) {
	tests := []struct {
		name string
		out  func(*world) error
		want bool
	}{
		{"nobody", func(*world) error { return nil }, true},
		{"from the list", changeNet(func(b *gateway.Binding) { b.Allow = nil }), false},
		{"another", changeNet(func(b *gateway.Binding) { b.Allow = []string{"1"} }), true},
		{"the channel", changeNet(func(b *gateway.Binding) { b.Shut = true }), false},
		{"a paired one", func(w *world) error { return w.mem.Unpair(w.t.Context(), "net", "p") }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(_ *world, b *gateway.Binding, _ *gateway.Options) { b.Pairing = true })
				who := "1"
				if tt.name == "a paired one" {
					who = "p"
					now := time.Now()
					if _, _, err := w.mem.RequestPairing(t.Context(), sessions.Pairing{Channel: "net", PersonID: who, Code: "c", Expires: now.Add(time.Hour)}, now, 1); err != nil {
						t.Fatal(err)
					}
					if _, err := w.mem.ApprovePairing(t.Context(), "c", now); err != nil {
						t.Fatal(err)
					}
				}
				w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
					before, err := turn.MayUseTools(ctx)
					if err != nil {
						return "", err
					}
					if err := tt.out(w); err != nil {
						return "", err
					}
					after, err := turn.MayUseTools(ctx)
					return fmt.Sprint(before, " ", after), err
				}
				w.say(who, "go")
				w.expect(who, fmt.Sprint("true ", tt.want))
			})
		})
	}
}

// operatorsRooms is a directory in which the chats of the network are rooms of
// whoever runs Dragoman, or are not.
func operatorsRooms(are bool) *people.Directory {
	if !are {
		return nil
	}
	return people.NewDirectory(nil, people.DirectoryOptions{Rooms: []string{"net"}})
}

// The operator is the person of a room of theirs, and of a private chat that is
// known as theirs.
func TestWhoIsTheOperator(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		room, named, private bool
		sender               string
		want                 bool
	}{
		{"somebody", false, false, true, "1", false},
		{"a room of theirs", true, false, true, "owner", true},
		{"the chat that is named", false, true, true, "1", true},
		{"a group that is named", false, true, false, "1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(_ *world, b *gateway.Binding, o *gateway.Options) {
					b.Groups = people.All
					b.Allow = append(b.Allow, "owner")
					o.People = operatorsRooms(tt.room)
					if tt.named {
						o.People = people.NewDirectory(nil, people.DirectoryOptions{Operator: func() channels.Key { return channels.MustKey("net:c") }})
					}
				})
				w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) { return fmt.Sprint(turn.Operator), nil }
				m := w.message("c", "hi")
				m.Private, m.Sender = tt.private, channels.Person{IDs: []string{tt.sender}}
				if err := w.in.Accept(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				w.expect("c", fmt.Sprint(tt.want))
			})
		})
	}
}
