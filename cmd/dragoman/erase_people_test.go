package main

import (
	"context"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
)

// wrote lets a person with these ids write a message, which is in the transcript.
func (w *world) wrote(key, name, text string, private bool, ids ...string) {
	w.t.Helper()
	k := channels.MustKey(key)
	in := channels.Inbound{Key: k, ID: key + strings.Join(ids, " ") + text, Text: text, Private: private, Sender: channels.Person{IDs: ids, Name: name}}
	e := sessions.Entry{Inbound: in, Answered: true, Append: []sessions.Message{sessions.UserMessage(in)}}
	if _, err := w.daemon.store.Accept(context.Background(), e); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remembered(scope, text string) {
	w.t.Helper()
	if _, err := w.daemon.store.Remember(context.Background(), scope, sessions.NewFact{Text: text}); err != nil {
		w.t.Fatal(err)
	}
}

// left fails the test if one of words is in the store, or one of others is not.
func (w *world) left(others []string, words ...string) {
	w.t.Helper()
	var all strings.Builder
	err := w.daemon.store.Dump(context.Background(), nil, func(r sessions.Record) error {
		switch {
		case r.Messages != nil:
			for _, m := range r.Messages.Messages {
				all.WriteString(m.Content + "\n" + m.Name + "\n" + m.Sender + "\n")
			}
		case r.Inbox != nil:
			all.WriteString(r.Inbox.Inbound.Text + "\n" + strings.Join(r.Inbox.Inbound.Sender.IDs, "\n") + "\n")
		case r.Fact != nil:
			all.WriteString(r.Fact.Text + "\n")
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, word := range words {
		if strings.Contains(all.String(), word) {
			w.t.Errorf("%q is still in the store", word)
		}
	}
	for _, other := range others {
		if !strings.Contains(all.String(), other) {
			w.t.Errorf("%q is gone", other)
		}
	}
}

// What a shared chat says of somebody's ids counts as much as a private one.
func TestEraseByIdsOfARoom(t *testing.T) {
	for _, target := range []string{"whatsapp:+1555", "whatsapp:800@lid"} {
		w := newWorld(t)
		w.wrote("whatsapp:1@g.us", "Kim", "early words", false, "800@lid")
		w.wrote("whatsapp:1@g.us", "Kim", "late words", false, "+1555", "800@lid")
		w.wrote("whatsapp:1@g.us", "Bo", "other words", false, "+1666", "900@lid")
		w.wrote("whatsapp:800@lid", "Kim", "private words", true, "800@lid")
		w.remembered("person:whatsapp:800@lid", "early fact")
		w.remembered("person:whatsapp:900@lid", "other fact")
		out := w.want([]string{"all of whatsapp:800@lid: 1 message\n", "in whatsapp:1@g.us: what the person wrote, 2 messages", "memory: 1 fact"},
			"sessions", "erase", target, "--yes")
		if strings.Contains(out, "Nobody can tell") {
			t.Errorf("%s: somebody is said to be unclear:\n%s", target, out)
		}
		w.left([]string{"other words", "other fact"}, "early", "late", "private words", "800@lid", "+1555", "Kim")
	}
}

// A private chat that is gone leaves what its person wrote elsewhere.
func TestEraseAfterDelete(t *testing.T) {
	w := newWorld(t)
	w.wrote("irc:hank", "hank", "private words", true, "mask:hank!h@home")
	w.wrote("irc:#go", "hank", "public words", false, "mask:hank!h@home")
	w.wrote("irc:#go", "ann", "other words", false, "mask:ann!a@home")
	w.remembered("person:irc:mask:hank!h@home", "hanks fact")
	w.want([]string{"hanks fact  (irc:mask:hank!h@home)"}, "sessions", "facts", "irc:hank")
	w.want(nil, "sessions", "delete", "irc:hank", "--yes")
	w.want([]string{"hanks fact"}, "sessions", "facts", "irc:hank")
	w.want([]string{"in irc:#go: what the person wrote, 1 message\n", "memory: 1 fact"}, "sessions", "erase", "irc:hank", "--yes")
	w.left([]string{"other words"}, "public words", "hanks fact", "hank!")
}

// Two people who had one nick, one after the other, stay two.
func TestEraseOfANickOfTwo(t *testing.T) {
	for name, private := range map[string]bool{"both in private": true, "the chat is gone": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, who := range []string{"one", "two"} {
				if private {
					w.wrote("irc:hank", "hank", "private "+who, true, "mask:hank!"+who+"@x")
				}
				w.wrote("irc:#go", "hank", "public "+who, false, "mask:hank!"+who+"@x")
				w.remembered("person:irc:mask:hank!"+who+"@x", "fact "+who)
			}
			w.wrote("irc:#go", "ann", "other words", false, "mask:ann!a@x")
			_, out, _ := w.run("sessions", "erase", "irc:hank")
			for _, who := range []string{"one", "two"} {
				want := "  irc:mask:hank!" + who + "@x, in irc:#go"
				if command := "    dragoman sessions erase 'irc:mask:hank!" + who + "@x'"; !strings.Contains(out, want) || !strings.Contains(out, command) {
					t.Errorf("the plan lacks %q or %q:\n%s", want, command, out)
				}
			}
			if strings.Contains(out, "what the person wrote") || strings.Contains(out, "memory:") {
				t.Errorf("the plan takes what may be another's:\n%s", out)
			}
			w.want([]string{"fact one", "fact two"}, "sessions", "facts", "irc:hank")
			w.want([]string{"memory: 1 fact"}, "sessions", "erase", "irc:mask:hank!one@x", "--yes")
			w.left([]string{"public two", "fact two", "other words"}, "public one", "private one", "fact one")
		})
	}
}

// One who has the nick in private is not the one who has it in a room; a mask
// from which two accounts wrote is nobody's; and one account is one person from
// wherever they write.
func TestEraseTakesNoStranger(t *testing.T) {
	w := newWorld(t)
	w.wrote("irc:ann", "ann", "private words", true, "account:ann", "mask:ann!a@gate")
	w.wrote("irc:#go", "ann_", "away words", false, "account:ann", "mask:ann_!a@far")
	w.wrote("irc:#go", "ann_", "later words", false, "mask:ann_!a@far")
	w.wrote("irc:#go", "ann", "bobs words", false, "account:bob", "mask:ann!a@gate")
	w.wrote("irc:#go", "ann", "whose words", false, "mask:ann!a@gate")
	w.wrote("irc:#go", "ann", "strange words", false, "mask:ann!other@else")
	out := w.want([]string{
		"in irc:#go: what the person wrote, 2 messages", "  irc:account:bob, in irc:#go\n", "  irc:mask:ann!a@gate, in irc:#go, irc:ann\n",
		"  irc:mask:ann!other@else, in irc:#go\n",
	}, "sessions", "erase", "irc:ann", "--yes")
	if strings.Count(out, "dragoman sessions erase ") != 3 {
		t.Errorf("the plan lists others:\n%s", out)
	}
	w.left([]string{"bobs words", "whose words", "strange words"}, "private words", "away words", "later words", "account:ann")
}

// What tells of the person and stays is not looked for. The plan says which
// commands find it.
func TestEraseSaysWhatStays(t *testing.T) {
	w := newWorld(t)
	w.wrote("telegram:7", "Ann", "hello", true, "7")
	w.wrote("telegram:-1", "Bo", "Ann is ill", false, "8")
	w.remembered("chat:telegram:-1", "Ann lives in Rome")
	_, out, _ := w.run("sessions", "erase", "telegram:7")
	want := "\nWhat others wrote, titles, and other memories and summaries are kept. dragoman sessions search NAME and dragoman sessions facts KEY find what still mentions the person.\n"
	if !strings.Contains(out, want) || strings.Contains(out, "Rome") {
		t.Errorf("the plan lacks %q, or guesses:\n%s", want, out)
	}
	_, out, _ = w.run("sessions", "erase", "telegram:7", "--conversation")
	if strings.Contains(out, "of the person") {
		t.Errorf("the plan for a conversation speaks of a person:\n%s", out)
	}
	w.want([]string{"Ann is ill"}, "sessions", "search", "Ann")
	w.want([]string{"Ann lives in Rome"}, "sessions", "facts", "telegram:-1")
}

// Somebody whose first message still waits has a queue entry, and the plan says
// so; what others have waiting in a room keeps it from going as a whole.
func TestEraseOfWhoWaits(t *testing.T) {
	w := newWorld(t)
	wait := func(key, id string) {
		t.Helper()
		in := channels.Inbound{Key: channels.MustKey(key), ID: key + id, Text: "waiting " + id, Sender: channels.Person{IDs: []string{id}}}
		if _, err := w.daemon.store.Accept(t.Context(), sessions.Entry{Inbound: in}); err != nil {
			t.Fatal(err)
		}
	}
	wait("telegram:7", "7")
	wait("telegram:-1", "7")
	_, out, _ := w.run("sessions", "erase", "telegram:7")
	if !strings.Contains(out, "queues: 2 entries") || strings.Contains(out, "was found") {
		t.Errorf("the plan lacks the queue:\n%s", out)
	}
	w.wrote("telegram:-1", "", "words", false, "7")
	wait("telegram:-1", "8")
	w.want([]string{"in telegram:-1: what the person wrote, 1 message\n", "queues: 3 entries"}, "sessions", "erase", "telegram:7", "--yes")
	w.left([]string{"waiting 8"}, "waiting 7")
}

// The help says how far it reaches.
func TestEraseHelp(t *testing.T) {
	w := newWorld(t)
	out := strings.Join(strings.Fields(w.want(nil, "sessions", "erase", "--help")), " ")
	for _, want := range []string{"means the person in it, everywhere on that channel", "With --conversation only that chat is erased", "These are kept: "} {
		if !strings.Contains(out, want) {
			t.Errorf("the help lacks %q:\n%s", want, out)
		}
	}
}
