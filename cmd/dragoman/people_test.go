package main

import (
	"context"
	"strings"
	"testing"

	"dragoman/sessions"
)

// TestPeople: two identities are joined after a question, listed, and parted.
func TestPeople(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"Nobody's identities were joined", "people join"}, "people")
	w.want([]string{"telegram:42 and irc:account:ann are one person now."}, "people", "join", "telegram:42", "irc:account:ann", "--yes")
	w.want([]string{"IDENTITY", "irc:account:ann", "telegram:42", "joined by whoever runs Dragoman"}, "people", "list")
	w.want([]string{`"identities": [`, `"telegram:42"`}, "people", "list", "--json")
	w.fail(1, `a person is "operator" or an identity`, "people", "join", "ann", "telegram:42", "--yes")
	w.want([]string{"telegram:42 is a person of its own again."}, "people", "part", "telegram:42")
	w.fail(1, "telegram:42 was joined with nothing", "people", "part", "telegram:42")
}

// TestEraseJoinedPeople: one person over several networks is erased as one, from whichever
// identity one begins, and the plan says so.
func TestEraseJoinedPeople(t *testing.T) {
	for _, target := range []string{"telegram:42", "irc:ann"} {
		w := newWorld(t)
		w.wrote("telegram:42", "Ann", "private words", true, "42")
		w.wrote("telegram:-5", "Ann", "group words", false, "42")
		w.wrote("telegram:-5", "Bob", "other words", false, "7")
		w.wrote("irc:ann", "ann", "irc words", true, "mask:ann!a@home", "account:ann")
		w.wrote("irc:#go", "ann", "public words", false, "mask:ann!a@work", "account:ann")
		w.wrote("irc:#go", "bob", "bobs words", false, "account:bob")
		w.remembered("person:telegram:42", "telegram fact")
		w.remembered("person:irc:account:ann", "irc fact")
		w.remembered("person:irc:account:bob", "bobs fact")
		w.want(nil, "people", "join", "telegram:42", "irc:account:ann", "--yes")
		code, _, errs := w.run("token", "create", "phone", "--scope", "chat", "--person", "irc:account:ann")
		if code != exitOK {
			t.Fatal(errs)
		}
		joined := "telegram:42"
		if target == "telegram:42" {
			joined = "irc:account:ann"
		}
		w.want([]string{"the same person also as " + joined, "all of telegram:42", "all of irc:ann", "memory: 2 facts"}, "sessions", "erase", target, "--yes")
		w.left([]string{"other words", "bobs words", "bobs fact"},
			"private words", "group words", "irc words", "public words", "telegram fact", "irc fact", "account:ann", "ann!a", "Ann")
		notes, err := w.daemon.store.Notes(context.Background(), sessions.NoteFilter{Kind: "token"})
		if err != nil || len(notes) > 0 {
			t.Errorf("%s: the tokens left are %+v, %v", target, notes, err)
		}
		links, err := w.daemon.store.Notes(context.Background(), sessions.NoteFilter{Kind: "link"})
		if err != nil || len(links) > 0 {
			t.Errorf("%s: the links left are %+v, %v", target, links, err)
		}
		if out := w.want(nil, "people"); !strings.Contains(out, "Nobody's identities") {
			t.Errorf("%s: still joined: %s", target, out)
		}
	}
}
