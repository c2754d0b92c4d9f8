package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// heard lets a person write a message in a chat and be answered, with usage.
func (w *world) heard(key, sender, text string, private bool) {
	w.t.Helper()
	k := channels.MustKey(key)
	_, err := w.daemon.store.Accept(context.Background(), sessions.Entry{
		Inbound: channels.Inbound{
			Key: k, ID: key + sender + text, Text: text, Private: private, Sender: channels.Person{IDs: []string{sender}, Name: "P" + sender},
		},
		Answered: true,
		Append: []sessions.Message{
			{Role: sessions.RoleUser, Content: text, Sender: sender, Name: "P" + sender, At: clock},
			{Role: sessions.RoleAssistant, Content: "re: " + text, At: clock, Usage: &sessions.Usage{Input: 1000, Output: 234, Cost: 0.25}},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestFilters(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "Trip to Rome", "hello")
	w.say("irc:#go", "", "hello")
	w.want([]string{"telegram:1 has now:", "tags     old, rome, trip"}, "sessions", "tag", "telegram:1", "+trip", "rome", "+old")
	w.want([]string{"tags     rome, trip"}, "sessions", "tag", "telegram:1", "--remove", "old")
	w.want([]string{"meta     days = 3", `meta     who = "Ann"`, "model    small-1", "system   Be brief."},
		"sessions", "set", "telegram:1", "model=small-1", "system=Be brief.", "meta.days=3", "meta.who=Ann")
	for _, args := range [][]string{{"--tag", "trip"}, {"--channel", "telegram"}, {"--text", "rOME"}, {"--meta", "days=3"}, {"--meta", "who=Ann", "--meta", "days=3"}} {
		out := w.want([]string{"telegram:1", "#rome #trip"}, append([]string{"sessions", "list"}, args...)...)
		if strings.Contains(out, "irc:") {
			t.Errorf("%v lists all:\n%s", args, out)
		}
	}
	w.want([]string{
		"telegram:1  “Trip to Rome”\n  since    20260301_001\n  said     2 messages\n  model    small-1\n  system   Be brief.\n  tags     rome, trip\n  meta     days = 3\n", "hello",
	}, "sessions", "show", "telegram:1")
	for _, args := range [][]string{{"set", "telegram:typo", "model=x"}, {"unset", "telegram:typo", "model"}, {"tag", "telegram:typo", "+a", "--remove", "b"}} {
		w.fail(1, "there is no conversation telegram:typo; dragoman sessions list shows all; to set something before its first message, use sessions set or tag with --new", append([]string{"sessions"}, args...)...)
	}
	if out := w.want(nil, "sessions", "list"); strings.Contains(out, "typo") {
		t.Errorf("a mistyped key made a conversation:\n%s", out)
	}
	w.want([]string{"tags     a\n"}, "sessions", "tag", "telegram:tagged", "+a", "--new")
	w.want([]string{"telegram:tagged has no settings of its own.\nIt has no messages either; dragoman sessions delete telegram:tagged removes it from"}, "sessions", "tag", "telegram:tagged", "--remove=a")
	w.want(nil, "sessions", "delete", "telegram:tagged", "--yes")
	if out := w.want(nil, "sessions", "list"); strings.Contains(out, "tagged") {
		t.Errorf("an empty conversation stays after its deletion:\n%s", out)
	}
	w.want([]string{"telegram:new has now:"}, "sessions", "set", "telegram:new", "model=small-1", "--new")
	w.want([]string{"telegram:new\n  model    small-1\n\nNothing was said yet."}, "sessions", "show", "telegram:new")
	w.want([]string{`"model": "small-1"`, `"messages": []`, `"generations": []`, `"summary": null`}, "sessions", "show", "telegram:new", "--json")
	w.want([]string{"thinking high"}, "sessions", "set", "telegram:new", "reasoning=high")
	w.want([]string{"agent    cook"}, "sessions", "set", "telegram:new", "agent=cook")
	w.want([]string{"model    small-1"}, "sessions", "unset", "telegram:new", "agent")
	w.fail(1, "a persona's name has 1 to 32 characters", "sessions", "set", "telegram:new", "agent=Big Cook")
	w.fail(1, "reasoning is one of auto, none, minimal, low, medium, high, xhigh, max", "sessions", "set", "telegram:new", "reasoning=hard")
	if out := w.want([]string{"model    small-1"}, "sessions", "unset", "telegram:new", "reasoning"); strings.Contains(out, "thinking") {
		t.Errorf("a level that was unset stays:\n%s", out)
	}
	w.want([]string{"No conversation matches."}, "sessions", "list", "--tag", "nothing")
	w.want([]string{"telegram:1 has now:\n  tags     rome, trip"}, "sessions", "unset", "telegram:1", "model", "system", "meta.days", "meta.who")
	if out := w.want([]string{"telegram:1 has no settings of its own."}, "sessions", "tag", "telegram:1", "--remove", "rome,trip"); strings.Contains(out, "delete") {
		t.Errorf("it is advised to delete what was said:\n%s", out)
	}
	w.fail(exitUsage, "sets nothing", "sessions", "set", "telegram:1", "model=")
	w.fail(exitUsage, "there is no setting", "sessions", "set", "telegram:1", "colour=red")
	w.fail(exitUsage, "there is no setting", "sessions", "unset", "telegram:1", "colour")
	w.fail(1, "a tag has", "sessions", "tag", "telegram:1", "two words")
	w.fail(1, "a name of metadata", "sessions", "set", "telegram:1", "meta.a b=1")
	w.fail(1, "at most 4096 bytes", "sessions", "set", "telegram:1", "meta.a="+strings.Repeat("x", 5000))
}

// Tags are added and removed in one command.
func TestTags(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"tags     cat, work\n"}, "sessions", "tag", "telegram:1", "work", "cat", "--new")
	w.want([]string{"tags     a, cat\n"}, "sessions", "tag", "telegram:1", "+a", "--remove", "work", "-c", "sq.yaml")
	if w.daemon.config != "sq.yaml" {
		t.Errorf("the configuration is %q, want sq.yaml", w.daemon.config)
	}
	w.want([]string{"tags     cat, dog\n"}, "sessions", "tag", "--remove", "a", "--remove", "b", "telegram:1", "dog")
	w.fail(exitUsage, "name tags to add, or --remove TAG", "sessions", "tag", "telegram:1")
	w.fail(exitUsage, "unknown flag -w", "sessions", "tag", "telegram:1", "-work")
}

func TestSearchEverything(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"No message contains price."}, "sessions", "search", "price")
	w.want([]string{"[]"}, "sessions", "search", "price", "--json")
	w.fail(exitUsage, "write the words to look for", "sessions", "search", "")
	w.fail(exitUsage, "write the words to look for", "sessions", "search", " ", "")
	w.heard("telegram:1", "1", strings.Repeat("word ", 100)+"the price is 129 dollars", true)
	w.heard("irc:#go", "2", "a price", false)
	out := w.want([]string{"telegram:1  2026-03-01", "P1", "the price is 129", "irc:#go"}, "sessions", "search", "price")
	narrow(t, out)
	if out := w.want([]string{"irc:#go"}, "sessions", "search", "price", "--key", "irc:#go"); strings.Contains(out, "telegram") {
		t.Errorf("--key finds in others:\n%s", out)
	}
}

func TestNumbers(t *testing.T) {
	w := newWorld(t)
	w.width = 80
	w.want([]string{"Nothing to count yet."}, "sessions", "stats")
	w.heard("telegram:1", "1", "hello", true)
	w.heard("irc:#go", "2", "a rather long beginning of a conversation that has no title at all", false)
	w.heard("irc:#go", "2", "more", false)
	out := w.want([]string{
		"2026-02-23", "2026-03-01      2         6  ████████████████████████   3 702  0.7500", "irc:#go     a rather long", "2 468",
	}, "sessions", "stats")
	narrow(t, out)
	if strings.Index(out, "irc:#go") > strings.Index(out, "telegram:1") {
		t.Errorf("the most tokens do not stand first:\n%s", out)
	}
	w.want([]string{`"day": "2026-02-23"`}, "sessions", "stats", "--json")
}

func TestGenerations(t *testing.T) {
	w := newWorld(t)
	w.fail(1, "there is no conversation telegram:1;", "sessions", "generations", "telegram:1")
	w.say("telegram:1", "", "one")
	_, err := w.daemon.store.Accept(context.Background(), sessions.Entry{
		Inbound: channels.Inbound{Key: channels.MustKey("telegram:1"), ID: "new", Text: "/new"}, Answered: true, Control: sessions.ControlNew,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.say("telegram:1", "", "two")
	w.want([]string{"20260301_001", "20260301_002"}, "sessions", "generations", "telegram:1")
}

func TestJoinTwo(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "", "one")
	w.say("telegram:2", "", "two")
	w.fail(exitUsage, "add --yes", "sessions", "join", "telegram:1", "telegram:2")
	w.fail(exitUsage, "telegram:1 cannot be joined to itself", "sessions", "join", "telegram:1", "telegram:1")
	w.fail(exitUsage, "telegram:1 and irc:#go are on different channels;", "sessions", "join", "telegram:1", "irc:#go")
	w.fail(1, "there is no conversation telegram:9;", "sessions", "join", "telegram:9", "telegram:2")
	w.fail(1, "there is no conversation telegram:9;", "sessions", "join", "telegram:9", "telegram:2", "--yes")
	w.want([]string{"telegram:1 is part of telegram:2 now."}, "sessions", "join", "telegram:1", "telegram:2", "--yes")
	out := w.want([]string{"one", "two"}, "sessions", "show", "telegram:2")
	if strings.Index(out, "one") > strings.Index(out, "two") {
		t.Errorf("what was joined does not stand first:\n%s", out)
	}
	w.fail(1, "there is no conversation telegram:1;", "sessions", "show", "telegram:1")
}

func TestErase(t *testing.T) {
	w := newWorld(t)
	w.daemon.audit = filepath.Join(t.TempDir(), "audit.log")
	ctx := context.Background()
	w.heard("telegram:7", "7", "my private canary", true)
	w.heard("telegram:-100", "7", "a public canary", false)
	w.heard("telegram:-100", "8", "somebody else", false)
	w.heard("telegram:8", "8", "another person", true)
	if _, err := w.daemon.store.Remember(ctx, "person:telegram:7", sessions.NewFact{Text: "likes the canary"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.daemon.store.RequestPairing(ctx, sessions.Pairing{
		Channel: "telegram", PersonID: "7", Name: "Ann", Code: "ABCD", Expires: clock.Add(time.Hour),
	}, clock, 3); err != nil {
		t.Fatal(err)
	}
	w.fail(1, "neither a conversation's key", "sessions", "erase", "Bob", "--yes")
	w.fail(exitUsage, "add --yes", "sessions", "erase", "telegram:7")
	w.want([]string{"my private canary"}, "sessions", "show", "telegram:7")

	w.interactive, w.in = true, "yes\n"
	w.want([]string{
		"all of telegram:7: 2 messages", "in telegram:-100: what the person wrote, 1 message\n", "memory: 1 fact", "1 pairing",
		"Erase this for good?", "Erased: 1 conversation, ", "1 fact, 1 pairing",
	}, "sessions", "erase", "ann")
	w.fail(1, "there is no conversation telegram:7;", "sessions", "show", "telegram:7")
	out := w.want([]string{"[erased]", "somebody else"}, "sessions", "show", "telegram:-100")
	if strings.Contains(out, "P7") {
		t.Errorf("the person's name stays:\n%s", out)
	}
	w.want([]string{"another person"}, "sessions", "show", "telegram:8")
	w.want([]string{"Nobody is paired"}, "pair", "list")
	if found := w.want(nil, "sessions", "search", "private", "canary"); strings.Contains(found, "telegram:7") {
		t.Errorf("the search still finds it:\n%s", found)
	}
	data, err := os.ReadFile(w.daemon.audit)
	if err != nil {
		t.Fatal(err)
	}
	line := string(data)
	if strings.Count(line, "\n") != 2 || !strings.Contains(line, `"state":"begun"`) || !strings.Contains(line, `"state":"done"`) || !strings.Contains(line, `"action":"erase"`) || strings.Contains(line, "canary") || strings.Contains(line, "telegram:7") {
		t.Errorf("the audit log says %q", line)
	}
	if info, _ := os.Stat(w.daemon.audit); info.Mode().Perm() != 0o600 {
		t.Errorf("the audit log has mode %v", info.Mode())
	}
	// Nothing is left. The log has two lines for each of these requests, too.
	w.fail(exitUsage, "Dragoman has nothing of telegram:7;", "sessions", "erase", "telegram:7", "--yes")
	w.fail(exitUsage, "Dragoman has nothing of telegram:404;", "sessions", "erase", "telegram:404", "--yes", "--json")
	if again, err := os.ReadFile(w.daemon.audit); err != nil || !strings.HasPrefix(string(again), line) || strings.Count(string(again), `"state":"done"`) != 3 {
		t.Errorf("the audit log says %q, %v", again, err)
	}
}

// A key of a private chat means the person in it, whatever the network calls
// them; a key of a shared one means nobody.
func TestErasePersonByChat(t *testing.T) {
	w := newWorld(t)
	w.heard("irc:alice", "account:alice7", "private", true)
	w.heard("irc:#go", "account:alice7", "public", false)
	w.heard("irc:#go", "account:bob", "other", false)
	w.heard("irc:#quiet", "account:bob", "only bob", false)
	if _, err := w.daemon.store.Remember(context.Background(), "person:irc:account:bob", sessions.NewFact{Text: "a fact"}); err != nil {
		t.Fatal(err)
	}
	out := w.want([]string{"all of irc:alice: 2 messages", "in irc:#go: what the person wrote, 1 message\n", "Files in the workspace are not touched."}, "sessions", "erase", "irc:alice", "--yes")
	if strings.Contains(out, "quiet") {
		t.Errorf("another person's chat is erased:\n%s", out)
	}
	out = w.want([]string{"all of irc:#quiet: 2 messages", "Erased: 1 conversation, "}, "sessions", "erase", "irc:#quiet", "--yes")
	if strings.Contains(out, "memory:") {
		t.Errorf("the memory of somebody in a shared chat is erased:\n%s", out)
	}
	w.want([]string{"other"}, "sessions", "show", "irc:#go")
}

// The memory of a shared chat stays, and the plan says so.
func TestEraseNamesWhatMayRemain(t *testing.T) {
	w := newWorld(t)
	for _, chat := range []string{"irc:#go", "irc:#silent", "irc:#bobs"} {
		w.heard(chat, "bob", "other", false)
	}
	w.heard("irc:#go", "alice", "public", false)
	w.heard("irc:#silent", "alice", "public", false)
	for _, chat := range []string{"irc:#go", "irc:#bobs"} {
		if _, err := w.daemon.store.Remember(context.Background(), "chat:"+chat, sessions.NewFact{Text: "alice likes canaries"}); err != nil {
			t.Fatal(err)
		}
	}
	want := "\nThe memory of irc:#go is kept and may mention the person. dragoman sessions facts irc:#go lists it; to erase that chat too: dragoman sessions erase irc:#go\n"
	_, out, _ := w.run("sessions", "erase", "irc:alice")
	if !strings.Contains(out, want) {
		t.Errorf("the plan lacks %q:\n%s", want, out)
	}
	w.want([]string{"\"may_remain\": [\n    \"irc:#go\"\n  ]"}, "sessions", "erase", "irc:alice", "--yes", "--json")
	out = w.want([]string{"memory: 1 fact"}, "sessions", "erase", "irc:#go", "--yes")
	if strings.Contains(out, "is kept and") {
		t.Errorf("what is erased is said to stay:\n%s", out)
	}
}

// What is not known is not said to be erased.
func TestEraseOfNothing(t *testing.T) {
	w := newWorld(t)
	code, out, errs := w.run("sessions", "erase", "telegram:404", "--yes")
	if code != exitUsage || !strings.Contains(errs, "Dragoman has nothing of telegram:404") || strings.Contains(out, "is erased") {
		t.Errorf("erase = %d, %q, %q", code, out, errs)
	}
}

// An empty title is none.
func TestRenameToNothing(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "A title", "hello")
	w.want([]string{"telegram:1 is now called Two words.\n"}, "sessions", "rename", "telegram:1", "Two", "words")
	w.want([]string{"telegram:1 no longer has a title.\n"}, "sessions", "rename", "telegram:1", "")
	if out := w.want([]string{"hello"}, "sessions", "list"); strings.Contains(out, "words") {
		t.Errorf("the title stays:\n%s", out)
	}
}

// A conversation alone can be erased, and what a person said elsewhere stays.
func TestEraseConversation(t *testing.T) {
	w := newWorld(t)
	w.heard("telegram:7", "7", "private", true)
	w.heard("telegram:-100", "7", "public", false)
	w.heard("telegram:-100", "8", "other", false)
	w.want([]string{"Erased: 1 conversation, "}, "sessions", "erase", "telegram:7", "--conversation", "--yes")
	w.want([]string{"public"}, "sessions", "show", "telegram:-100")
}

// A fact is forgotten by its number.
func TestForget(t *testing.T) {
	w := newWorld(t)
	f, err := w.daemon.store.Remember(context.Background(), "chat:telegram:-100", sessions.NewFact{Text: "p7 likes tea"})
	if err != nil {
		t.Fatal(err)
	}
	w.remembered("chat:telegram:-100", "everybody meets on Monday")
	forget := []string{"sessions", "facts", "telegram:-100", "--forget", fmt.Sprint(f.ID)}
	w.want([]string{"Forgotten."}, forget...)
	w.fail(exitUsage, "there is no fact number", forget...)
	if out := w.want([]string{"Monday"}, "sessions", "facts", "telegram:-100"); strings.Contains(out, "tea") {
		t.Errorf("it is still remembered:\n%s", out)
	}
	w.want([]string{"Dragoman remembers nothing"}, "sessions", "facts", "telegram:7")
}
