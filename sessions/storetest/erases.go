package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
)

// erasesWhileSummarised: a summary that was begun before an erasure may repeat erased
// messages.
func erasesWhileSummarised(t *testing.T, r *rig) {
	said := user("a secret")
	said.Sender = "7"
	r.say(t, "x:1", "1", said, user("two"))
	h, _ := r.history(t, sessions.HistoryLimit{})
	_, err := r.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
	must(t, err)
	sum := sessions.Summary{Text: "they have a secret", CoversSeq: 1, Generation: h.Generation}
	is(t, "a summary that was begun before the erasure", r.AddSummary(t.Context(), key("x:1"), sum), sessions.ErrConflict)
	h, _ = r.history(t, sessions.HistoryLimit{})
	sum.Text, sum.Erasures = "they talked", h.Erasures
	must(t, r.AddSummary(t.Context(), key("x:1"), sum))
	h, _ = r.history(t, sessions.HistoryLimit{})
	if h.Summary == nil || h.Summary.Text != "they talked" || h.Summary.Erasures != 0 {
		t.Errorf("History = %+v, want the later summary", h.Summary)
	}
}

func withFile(m sessions.Message, file string) sessions.Message {
	m.Attachments = []channels.Attachment{{Kind: channels.AttachmentImage, File: file}}
	return m
}

func erases(t *testing.T, r *rig) {
	ctx := t.Context()
	r.say(t, "x:1", "1", withFile(user("needle"), "f2"), user("two"))
	h, _ := r.history(t, sessions.HistoryLimit{})
	must(t, r.AddSummary(ctx, key("x:1"), sessions.Summary{Text: "s", CoversSeq: 1, Generation: h.Generation}))
	r.say(t, "x:2", "2", user("needle"))
	e := sessions.Entry{Inbound: in("x:1", "3", "waits")}
	e.Inbound.Attachments = []channels.Attachment{{File: "f1"}, {Ref: "r"}}
	r.enter(t, e, sessions.Queued)
	r.enter(t, sessions.Entry{Inbound: in("x:1", "4", "/x"), Answered: true, Replies: []sessions.Reply{{Text: "a"}}}, sessions.Done)
	_, err := r.Remember(ctx, "me", sessions.NewFact{Text: "fact"})
	must(t, err)
	_, err = r.Remember(ctx, "you", sessions.NewFact{Text: "fact"})
	must(t, err)
	live := r.claim(t)
	got, err := r.Erase(ctx, sessions.Erasure{Keys: []channels.Key{key("x:1"), key("x:9"), key("x:1")}, Scopes: []string{"me", "nobody"}})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{Conversations: 1, Messages: 2, Queued: 4, Facts: 1, Summaries: 1, Files: []string{"f1", "f2"}})
	wait(t, live.ctx.Done(), "the handler goes on")
	same(t, "transcript", r.transcript(t, "x:1"), nil)
	if found, err := r.SearchAll(ctx, sessions.Search{Query: "needle", Limit: 9}); err != nil || len(found) != 1 || found[0].Key != key("x:2") {
		t.Errorf("SearchAll = %+v, %v", found, err)
	}
	if st, err := r.Stats(ctx); err != nil || st.Waiting+st.Unsent != 0 {
		t.Errorf("Stats = %+v, %v", st, err)
	}
	if feed, err := r.Feed(ctx, key("x:1"), 0, 9); err != nil || len(feed) != 0 {
		t.Errorf("Feed = %+v, %v", feed, err)
	}
	if f, err := r.Recall(ctx, "me", "", 9); err != nil || len(f) != 0 {
		t.Errorf("Recall = %+v, %v", f, err)
	}
	live.release(nil)
	r.say(t, "x:1", "5", user("anew"))
	if _, texts := r.history(t, sessions.HistoryLimit{}); len(texts) != 1 {
		t.Errorf("History = %v", texts)
	}
}

func by(id, text string) sessions.Message {
	m := user(text)
	m.Sender, m.Name = id, "name of "+id
	return m
}

func erasesPerson(t *testing.T, r *rig) {
	ctx := t.Context()
	r.say(t, "x:1", "1", by("7", "old needle"))
	r.enter(t, control("x:1", "2", sessions.ControlNew), sessions.Done)
	r.say(t, "x:1", "3", by("8", "one"), withFile(by("7", "my needle"), "f"), assistant("reply"), by("8", "four"))
	r.say(t, "y:1", "4", by("7", "another 7's needle"))
	h, _ := r.history(t, sessions.HistoryLimit{})
	for _, covers := range []int64{2, 3, 4} {
		must(t, r.AddSummary(ctx, key("x:1"), sessions.Summary{Text: "s", CoversSeq: covers, Generation: h.Generation}))
	}
	for _, id := range []string{"7", "8"} {
		_, _, err := r.RequestPairing(ctx, ask(id, "111"+id), noon, 5)
		must(t, err)
	}
	got, err := r.Erase(ctx, sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}, {Channel: "x", ID: "77"}}})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{Messages: 2, Summaries: 2, Pairings: 1, Files: []string{"f"}})
	same(t, "transcript", r.transcript(t, "x:1"), []string{"user: [erased]", "user: one", "user: [erased]", "assistant: reply", "user: four"})
	h, texts := r.history(t, sessions.HistoryLimit{})
	same(t, "History", texts, []string{"[erased]", "reply", "four"})
	if m := h.Messages[0]; h.Summary == nil || h.Summary.CoversSeq != 2 || m.Name+m.Sender != "" || m.Attachments != nil || m.At.IsZero() {
		t.Errorf("History = %+v, %+v", h, h.Summary)
	}
	found, err := r.SearchAll(ctx, sessions.Search{Query: "needle", Limit: 9})
	if err != nil || len(found) != 1 || found[0].Key != key("y:1") {
		t.Errorf("SearchAll = %+v, %v", found, err)
	}
	if list, err := r.Pairings(ctx, noon); err != nil || len(list) != 1 {
		t.Errorf("Pairings = %+v, %v", list, err)
	}
}

// erasesOnTwoNetworks: one erasure names the ids of one person on two channels, and
// nothing of either is left.
func erasesOnTwoNetworks(t *testing.T, r *rig) {
	ctx := t.Context()
	r.say(t, "x:7", "1", by("7", "a needle on x"))
	r.say(t, "y:ann", "2", by("ann", "a needle on y"))
	r.say(t, "y:#all", "3", by("ann", "a needle for all"), by("bob", "a straw"))
	for owner, scope := range map[string]string{"x:7": "person:x:7", "y:ann": "person:y:ann", "y:bob": "person:y:bob"} {
		must(t, r.ChangeNotes(ctx, "needles", owner, func([]sessions.Note) ([]sessions.Note, []string, error) {
			return []sessions.Note{{Name: "one"}}, nil, nil
		}))
		_, err := r.Remember(ctx, scope, sessions.NewFact{Text: "a needle of " + owner})
		must(t, err)
	}
	_, err := r.Erase(ctx, sessions.Erasure{
		Keys: []channels.Key{key("x:7"), key("y:ann")}, Scopes: []string{"person:x:7", "person:y:ann"},
		Senders: []sessions.Sender{{Channel: "x", ID: "7"}, {Channel: "y", ID: "ann"}},
	})
	must(t, err)
	left := ""
	must(t, r.Dump(ctx, nil, func(rec sessions.Record) error {
		line, err := json.Marshal(rec)
		left += string(line) + "\n"
		return err
	}))
	for _, gone := range []string{"x:7", "y:ann", "needle on", "needle for", `"ann"`} {
		if strings.Contains(left, gone) {
			t.Errorf("%q is left:\n%s", gone, left)
		}
	}
	for _, kept := range []string{"a straw", "a needle of y:bob"} {
		if !strings.Contains(left, kept) {
			t.Errorf("%q is gone", kept)
		}
	}
}

// erasesCopies: results of searching and reading are copies of messages, even of
// messages in an earlier generation.
func erasesCopies(t *testing.T, r *rig) {
	copies(t, r, map[string][]sessions.Origin{
		"find": {sessions.OriginHistory, sessions.OriginOthers}, "read": {sessions.OriginSent, sessions.OriginFile}, "time": {sessions.OriginModel},
	}, "find", "read")
}

// erasesFormerCopies: the same where only the names of the tools say so.
func erasesFormerCopies(t *testing.T, r *rig) {
	copies(t, r, nil, "search_history", "read_attachment")
}

// copies is erasesCopies for tools that find and read, with their origins.
func copies(t *testing.T, r *rig, origins map[string][]sessions.Origin, finds, reads string) {
	t.Helper()
	result := func(tool, call, text string) sessions.Message {
		return sessions.Message{Role: sessions.RoleTool, Name: tool, ToolCallID: call, Content: text, Origins: origins[tool]}
	}
	calls := assistant("")
	for i, tool := range []string{finds, reads, "time"} {
		calls.ToolCalls = append(calls.ToolCalls, sessions.ToolCall{ID: fmt.Sprint("c", i), Name: tool, Arguments: "{}"})
	}
	group := []sessions.Message{
		calls, result(finds, "c0", "[message 1] my needle"),
		result(reads, "c1", "all of the needle"), result("time", "c2", "noon"),
	}
	for _, k := range []string{"x:1", "x:2"} {
		if k == "x:1" {
			r.say(t, k, "1", by("7", "my needle"))
			r.enter(t, control(k, "2", sessions.ControlNew), sessions.Done)
		}
		r.say(t, k, "3 "+k, append([]sessions.Message{by("8", "who said it?")}, group...)...)
	}
	h, _ := r.history(t, sessions.HistoryLimit{})
	must(t, r.AddSummary(t.Context(), key("x:1"), sessions.Summary{Text: "a needle", CoversSeq: 4, Generation: h.Generation}))
	got, err := r.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{Messages: 1, Summaries: 1})
	same(t, "transcript", r.transcript(t, "x:1"), []string{
		"user: [erased]", "user: who said it?", "assistant: ", "tool: [erased]", "tool: [erased]", "tool: noon",
	})
	if n := len(r.transcript(t, "x:2")); n != 5 || r.transcript(t, "x:2")[2] != "tool: [message 1] my needle" {
		t.Errorf("the transcript of another chat = %q, want it as it was", r.transcript(t, "x:2"))
	}
	ms, err := r.Messages(t.Context(), key("x:1"), 3, 9)
	if err != nil || len(ms) != 3 || ms[0].Name != finds || ms[0].ToolCallID != "c0" {
		t.Errorf("Messages = %+v, %v, want results that still answer their calls", ms, err)
	}
}

func erasedOnce(t *testing.T, r *rig) {
	r.accept(t, "x:1", "1", "hi")
	for range 2 {
		r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "hi")}, sessions.Duplicate)
		_, err := r.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("x:1")}})
		must(t, err)
	}
	r.enter(t, sessions.Entry{Inbound: in("x:2", "1", "hi")}, sessions.Duplicate)
	r.enter(t, sessions.Entry{Inbound: in("y:1", "1", "hi")}, sessions.Queued)
}

func erasesWaiting(t *testing.T, r *rig) {
	other := in("x:1", "1", "from bob")
	other.Sender = channels.Person{IDs: []string{"b", "bob"}}
	bob := r.enter(t, sessions.Entry{Inbound: other}, sessions.Queued).Seq
	alice := r.accept(t, "x:1", "2", "from alice")
	h := r.claim(t)
	answers := []sessions.Answered{{Seq: bob}, {Seq: alice}}
	must(t, r.AppendStep(t.Context(), h.Claim, "t", answers, sessions.Step{Kind: sessions.StepNote}))
	got, err := r.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "bob"}}})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{Queued: 1})
	is(t, "CommitTurn", r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: answers}), sessions.ErrFenced)
	h.release(nil)
	h = r.claim(t)
	if p := r.pending(t, h, 0, "from alice"); p.Turn != "" || len(p.Steps) != 0 {
		t.Errorf("Pending = %+v", p)
	}
}

// erasesQuarantined: a quarantined message is erased if it names the person or the
// chat.
func erasesQuarantined(t *testing.T, r *rig) {
	for id, raw := range map[string]string{
		"gone-1": `{"from": {"id": 5550001, "name": "NEEDLE"`, "gone-2": `NEEDLE +5550001@lid`, "gone-3/5550001": "NEEDLE",
		"gone-4": `"chat":-100777,"text":"NEEDLE`, "kept-1": "155500011 5550001x x5550001 55500011", "kept-2": "1234",
	} {
		must(t, r.Quarantine(t.Context(), sessions.Quarantined{Channel: "x", ID: id, Raw: []byte(raw), Why: "cut"}))
	}
	must(t, r.Quarantine(t.Context(), sessions.Quarantined{Channel: "y", ID: "kept-3", Raw: []byte("5550001"), Why: "cut"}))
	got, err := r.Erase(t.Context(), sessions.Erasure{
		Keys:    []channels.Key{key("x:-100777")},
		Senders: []sessions.Sender{{Channel: "x", ID: "+5550001"}, {Channel: "x", ID: "1234"}},
	})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{Queued: 4})
	var left []string
	must(t, r.Dump(t.Context(), nil, func(rec sessions.Record) error {
		if rec.Quarantined != nil {
			left = append(left, rec.Quarantined.ID)
		}
		if strings.Contains(fmt.Sprint(rec), "NEEDLE") {
			t.Errorf("a record has erased text: %v", rec)
		}
		return nil
	}))
	slices.Sort(left)
	same(t, "quarantined", left, []string{"kept-1", "kept-2", "kept-3"})
	items, err := r.ListQueue(t.Context(), 10)
	must(t, err)
	if len(items) != 3 {
		t.Errorf("ListQueue = %+v", items)
	}
}

func erasesNothing(t *testing.T, r *rig) {
	r.say(t, "x:1", "1", user("hi"))
	got, err := r.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("z:1")}, Senders: []sessions.Sender{{Channel: "x"}, {}}})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Erase(ctx, sessions.Erasure{Keys: []channels.Key{key("x:1")}}); err == nil || strings.Contains(err.Error(), "traces") {
		t.Errorf("Erase after the end = %v", err)
	}
	same(t, "transcript", r.transcript(t, "x:1"), []string{"user: hi"})
}

// erasesEmptied: a key in which only the erased person wrote, and which has no
// message, delivery, title or setting, is deleted.
func erasesEmptied(t *testing.T, r *rig) {
	ctx := t.Context()
	alone := func(k string) { // alice sent a command, and nothing was answered
		t.Helper()
		e := control(k, "of "+k, sessions.ControlNew)
		e.Replies = nil
		r.enter(t, e, sessions.Done)
	}
	for _, k := range []string{"x:gone", "x:settings", "x:title", "x:bob", "x:sent"} {
		alone(k)
	}
	r.accept(t, "x:waits", "waits", "hi") // is deleted as well
	said := user("hi")
	said.Sender = "42"
	r.say(t, "x:said", "said", said)
	configure(t, r, "x:settings", func(s *sessions.Settings) { s.Model = "m" })
	configure(t, r, "x:title", func(s *sessions.Settings) { s.Model = "m" })
	must(t, r.Rename(ctx, key("x:title"), "a title"))
	configure(t, r, "x:title", func(s *sessions.Settings) { s.Model = "" })
	configure(t, r, "x:bare", func(s *sessions.Settings) { s.Model = "m" })
	configure(t, r, "x:bare", func(s *sessions.Settings) { s.Model = "" })
	alone("x:bare") // an empty conversation and a queue
	bob := in("x:bob", "from bob", "hi")
	bob.Sender = channels.Person{IDs: []string{"bob"}}
	r.enter(t, sessions.Entry{Inbound: bob}, sessions.Queued)
	r.enter(t, control("x:sent", "sent", sessions.ControlStop), sessions.Done) // its reply stays
	live := r.claim(t)
	got, err := r.Erase(ctx, sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "42"}}})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{Conversations: 1, Messages: 1, Queued: 9})
	live.release(nil)
	var left []string
	must(t, r.Dump(ctx, nil, func(rec sessions.Record) error {
		if rec.Conversation != nil {
			left = append(left, rec.Conversation.Key.String())
		}
		return nil
	}))
	same(t, "remaining keys", left, []string{"x:bob", "x:said", "x:sent", "x:settings", "x:title"})
	r.enter(t, sessions.Entry{Inbound: in("x:gone", "of x:gone", "/new")}, sessions.Duplicate)
	r.say(t, "x:gone", "anew", user("anew"))
	same(t, "transcript", r.transcript(t, "x:gone"), []string{"user: anew"})
}
