package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// RunCopies tests that everything moves from one backend to another and back.
func RunCopies(t *testing.T, from, to func(t *testing.T) *engine.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *rig, *rig){
		"Copies/Case48ThereAndBackIsEqual":  thereAndBack,
		"Copies/Case48FieldsOfOthers":       foreignThereAndBack,
		"Copies/WhatWaitedWaitsAgain":       waitsAgain,
		"Copies/AllOrNothing":               allOrNothing,
		"Copies/AnImportGetsWhatIsMissing":  imports,
		"Copies/OneConversationOutOfMany":   onlyOne,
		"Copies/WhatNoStoreWroteIsRefused":  refuses,
		"Copies/EmitEndsTheDump":            emitEnds,
		"Copies/ATakenGenerationIsReplaced": takenGeneration,
		"Copies/TimesThatCannotBe":          copiedTimes,
		"Copies/LongConversation":           long,
		"Copies/StickersMove":               stickersMove,
	} {
		t.Run(name, func(t *testing.T) { test(t, newRig(t, from(t)), newRig(t, to(t))) })
	}
}

// dump returns every record of s as a line of JSON.
func dump(t *testing.T, s *engine.Store, keys ...channels.Key) []string {
	t.Helper()
	var lines []string
	must(t, s.Dump(t.Context(), keys, func(r sessions.Record) error {
		b, err := json.Marshal(r)
		lines = append(lines, string(b))
		return err
	}))
	return lines
}

// feed returns lines as records one by one, then end or io.EOF.
func feed(lines []string, end error) func() (sessions.Record, error) {
	return func() (r sessions.Record, err error) {
		if len(lines) == 0 {
			if end != nil {
				return r, end
			}
			return r, io.EOF
		}
		err = json.Unmarshal([]byte(lines[0]), &r)
		lines = lines[1:]
		return r, err
	}
}

// Fill puts some of everything that a store can hold into s, which must be empty. It
// calls Run and ends it.
func Fill(t *testing.T, s *engine.Store) {
	t.Helper()
	fill(t, newRig(t, s))
}

// fill puts some of everything into r.
func fill(t *testing.T, r *rig) {
	t.Helper()
	ctx := t.Context()
	r.say(t, "x:gone", "g", user("gone"))
	must(t, r.Delete(ctx, key("x:gone")))
	r.say(t, "x:1", "1", user("one"), fullMessage())
	r.enter(t, control("x:1", "2", sessions.ControlNew), sessions.Done)
	for i := range 250 {
		r.say(t, "x:1", number("m", i), user(number("message ", i)))
	}
	h, _ := r.history(t, sessions.HistoryLimit{})
	for i, covers := range []int64{10, 20} {
		must(t, r.AddSummary(ctx, key("x:1"), sessions.Summary{Text: number("s", i), CoversSeq: covers, Generation: h.Generation, Fields: raw(`{"a":1}`)}))
	}
	configure(t, r, "x:1", func(s *sessions.Settings) { s.Model, s.Metadata = "m", map[string]json.RawMessage{"a": raw(`"<1>"`)} })
	configure(t, r, "x:set", func(s *sessions.Settings) { s.Tags = []string{"t"} })
	must(t, r.Rename(ctx, key("x:1"), "Ünïcode"))
	r.say(t, "x:erased", "e", user("erased"))
	_, err := r.Erase(ctx, sessions.Erasure{Keys: []channels.Key{key("x:erased")}})
	must(t, err)
	r.accept(t, "x:withdrawn", "wd", "mistaken")
	r.enter(t, gone("x:withdrawn", "wd2", "mwd", channels.DeletedByAdmin), sessions.Withdrawn)
	must(t, r.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: "9", Raw: []byte{0, 255}, Why: "odd"}))
	due := noon
	must(t, r.Plan(ctx, "j", time.Time{}, due))
	must(t, r.Fire(ctx, "j", due, due, due.Add(time.Hour), in("x:hb", "hb", "prompt")))
	must(t, r.Skip(ctx, "j", due.Add(time.Hour), due.Add(2*time.Hour), "missed", "off"))
	for _, id := range []string{"1", "2"} {
		_, _, err := r.RequestPairing(ctx, ask(id, "111"+id), noon, 5)
		must(t, err)
	}
	_, err = r.ApprovePairing(ctx, "1111", noon)
	must(t, err)
	for _, f := range []string{"f1", "f2"} {
		_, err = r.Remember(ctx, "chat:x:s", sessions.NewFact{Text: f})
		must(t, err)
	}
	must(t, r.Forget(ctx, "chat:x:s", 1))
	fillStickers(t, r)
	queues(t, r)
}

// queues leaves an unfinished turn under x:q, and deliveries in many states.
func queues(t *testing.T, r *rig) {
	t.Helper()
	ctx := t.Context()
	e := sessions.Entry{Inbound: in("x:q", "q1", "look")}
	e.Inbound.Attachments, e.Inbound.Quote = fullMessage().Attachments, &channels.Quote{ID: "m0", Text: "q"}
	one := r.enter(t, e, sessions.Queued).Seq
	two := r.accept(t, "x:q", "q2", "two")
	r.enter(t, sessions.Entry{Inbound: in("x:q", "q3", "/a"), Answered: true, Replies: []sessions.Reply{
		{Text: "sent"}, {Text: "sending", ReplyTo: "m"}, {Text: "queued", Edit: "e"},
	}}, sessions.Done)
	var h *held
	for h = r.claim(t); h.Key != key("x:q"); h = r.claim(t) {
		defer h.release(nil)
	}
	message := fullMessage()
	must(t, r.AppendStep(ctx, h.Claim, "t", []sessions.Answered{{Seq: one}, {Seq: two}}, sessions.Step{Kind: sessions.StepModel, Message: &message}))
	must(t, r.AppendStep(ctx, h.Claim, "t", nil, sessions.Step{Kind: sessions.StepToolStart, CallID: "1"}))
	must(t, r.Postpone(ctx, h.Claim, []int64{one}, noon, "away"))
	ds, err := r.Unsent(ctx, h.Claim, 0)
	must(t, err)
	must(t, r.MarkSending(ctx, h.Claim, ds[0].ID))
	must(t, r.MarkSent(ctx, h.Claim, ds[0].ID, channels.Receipt{MessageID: "n"}))
	must(t, r.MarkSending(ctx, h.Claim, ds[1].ID))
	must(t, r.Reschedule(ctx, h.Claim, ds[2].ID, noon, true, "cut off"))
	r.accept(t, "x:q", "q4", "three")
	h.release(nil)
	r.stop()
	<-r.running
}

func thereAndBack(t *testing.T, a, b *rig) {
	fill(t, a)
	first := dump(t, a.Store)
	same(t, "a second dump", dump(t, a.Store), first)
	taken, err := b.Restore(t.Context(), feed(first, nil))
	must(t, err)
	same(t, "the dump of the copy", dump(t, b.Store), first)
	var others []string
	heads := 0
	for _, line := range first {
		if strings.HasPrefix(line, `{"conversation"`) {
			heads++
		} else if !strings.Contains(line, `"key":`) {
			others = append(others, line)
		}
	}
	same(t, "counts", taken, sessions.Restored{Conversations: heads, Others: len(others)})
	taken, err = b.Restore(t.Context(), feed(others, nil))
	must(t, err)
	same(t, "counts of the second Restore", taken, sessions.Restored{})
	same(t, "the dump after it", dump(t, b.Store), first)
	for name, want := range map[string]int{"message": 252, "look": 0} {
		ms, err := b.Search(t.Context(), key("x:1"), name, 1000)
		if err != nil || len(ms) != min(want, 250) {
			t.Errorf("Search(%s) finds %d, %v", name, len(ms), err)
		}
	}
	ca, err := a.Conversation(t.Context(), key("x:1"))
	must(t, err)
	cb, err := b.Conversation(t.Context(), key("x:1"))
	must(t, err)
	same(t, "conversation", cb, ca)
	// Both continue with the same numbers.
	b.enter(t, sessions.Entry{Inbound: in("x:erased", "e", "again")}, sessions.Duplicate)
	b.say(t, "x:new", "new", user("hi"))
	g, err := b.Generations(t.Context(), key("x:new"))
	must(t, err)
	if strings.Contains(strings.Join(first, ""), g[0].ID) {
		t.Errorf("generation %s was given before", g[0].ID)
	}
	f, err := b.Remember(t.Context(), "chat:x:s", sessions.NewFact{Text: "f3"})
	if err != nil || f.ID != 3 {
		t.Errorf("Remember = %+v, %v", f, err)
	}
}

func waitsAgain(t *testing.T, a, b *rig) {
	queues(t, a)
	must(t, restore(t, b, feed(dump(t, a.Store), nil)))
	h := b.claim(t)
	p := b.pending(t, h, 0, "look", "two")
	if p.Turn != "t" || len(p.Steps) != 2 || p.More != 1 || p.Messages[0].Attempts != 1 || len(p.Messages[0].Inbound.Attachments) != 2 {
		t.Errorf("Pending = %+v", p)
	}
	b.commit(t, h, "both")
	b.pending(t, h, 0, "three")
	b.commit(t, h, "third")
	ds, err := b.Unsent(t.Context(), h.Claim, 0)
	must(t, err)
	ids := map[string]bool{}
	for _, d := range ds {
		ids[d.ID] = true
	}
	if len(ids) != 4 || ds[0].State != sessions.DeliverySending || ds[1].State != sessions.DeliveryUnknown {
		t.Errorf("Unsent = %+v", ds)
	}
	same(t, "deliveries", b.deliver(t, h), []string{"sending", "queued", "both", "third"})
	b.enter(t, sessions.Entry{Inbound: in("x:q", "q2", "two")}, sessions.Duplicate)
}

func allOrNothing(t *testing.T, a, b *rig) {
	fill(t, a)
	lines := dump(t, a.Store)
	empty := dump(t, b.Store)
	broken := errors.New("broken")
	for _, n := range []int{0, 1, len(lines) / 2, len(lines)} {
		is(t, "Restore", restore(t, b, feed(lines[:n], broken)), broken)
	}
	same(t, "the store", dump(t, b.Store), empty)
	b.say(t, "x:1", "other", user("hi"))
	before := dump(t, b.Store)
	err := restore(t, b, feed(lines, nil))
	is(t, "Restore over a conversation", err, sessions.ErrConflict)
	if err == nil || !strings.Contains(err.Error(), "x:1") {
		t.Errorf("Restore = %v, want it to name the key", err)
	}
	same(t, "the store", dump(t, b.Store), before)
	if st, err := b.Stats(t.Context()); err != nil || st.Waiting+st.Unsent != 0 {
		t.Errorf("Stats = %+v, %v", st, err)
	}
}

func imports(t *testing.T, _, b *rig) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	lines := []string{
		`{"messages":{"key":"x:1","messages":[{"seq":0,"role":"user","content":"hi","at":"2026-02-03T04:05:06Z","extra":{"id":7}},{"role":"assistant","content":"yes","at":"2026-02-03T05:00:00Z","usage":{"input":1,"output":2}}]}}`,
		`{"conversation":{"key":"x:2","title":"t","settings":{"tags":["b","a"]},"generations":null,"summaries":[{"text":"s","covers_seq":1,"generation":"","at":"2026-01-01T00:00:00Z"}]}}`,
		`{"messages":{"key":"x:2","messages":[{"role":"user","content":"1"},{"role":"user","content":"2"}]}}`,
	}
	must(t, restore(t, b, feed(lines, nil)))
	h, texts := b.history(t, sessions.HistoryLimit{})
	same(t, "History", texts, []string{"hi", "yes"})
	c, err := b.Conversation(t.Context(), key("x:1"))
	must(t, err)
	if h.Generation != "20260203_001" || string(h.Messages[0].Extra["id"]) != "7" || !c.Created.Equal(at) || c.Usage.Output != 2 || c.Messages != 2 {
		t.Errorf("History = %+v of %+v", h, c)
	}
	h, err = b.History(t.Context(), key("x:2"), sessions.HistoryLimit{})
	must(t, err)
	if h.Summary == nil || h.Summary.Generation != h.Generation || len(h.Messages) != 1 || len(h.Settings.Tags) != 2 {
		t.Errorf("History = %+v", h)
	}
	b.say(t, "x:1", "1", user("next"))
	same(t, "transcript", b.transcript(t, "x:1"), []string{"user: hi", "assistant: yes", "user: next"})
}

func onlyOne(t *testing.T, a, b *rig) {
	r := a
	r.say(t, "x:1", "1", user("one"))
	r.say(t, "x:2", "2", user("two"))
	_, err := r.Remember(t.Context(), "chat:x:s", sessions.NewFact{Text: "f"})
	must(t, err)
	lines := dump(t, a.Store, key("x:2"), key("x:9"), key("x:2"))
	if len(lines) != 3 || strings.Contains(strings.Join(lines, ""), "x:1") {
		t.Errorf("Dump = %v", lines)
	}
	b.say(t, "x:3", "3", user("three"))
	must(t, restore(t, b, feed(lines, nil)))
	same(t, "transcript", b.transcript(t, "x:2"), []string{"user: two"})
	b.say(t, "x:4", "4", user("four")) // in another generation
	is(t, "Restore again", restore(t, b, feed(lines, nil)), sessions.ErrConflict)
	_, err = b.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("x:2")}})
	must(t, err)
	must(t, restore(t, b, feed(lines, nil)))
	same(t, "transcript", b.transcript(t, "x:2"), []string{"user: two"})
}

func refuses(t *testing.T, _, b *rig) {
	before := dump(t, b.Store)
	for name, line := range map[string]string{
		"nothing":              `{}`,
		"no key":               `{"conversation":{"key":""}}`,
		"a gap":                `{"messages":{"key":"x:1","messages":[{"seq":1,"role":"user"},{"seq":3,"role":"user"}]}}`,
		"a wrong end":          `{"conversation":{"key":"x:1","message_seq":5,"generations":[{"id":"20260101_001","first_seq":1}]}}`,
		"a generation beyond":  `{"conversation":{"key":"x:1","generations":[{"id":"20260101_001","first_seq":7},{"id":"20260101_002","first_seq":9}]}}`,
		"a generation before":  `{"conversation":{"key":"x:1","generations":[{"id":"20260101_001","first_seq":0}]}}`,
		"a summary of nothing": `{"conversation":{"key":"x:1","generations":[{"id":"20260101_001","first_seq":1}],"summaries":[{"covers_seq":1}]}}`,
		"a summary alone":      `{"conversation":{"key":"x:1","title":"t","summaries":[{"covers_seq":8589934593,"text":"s"}]}}`,
		"metadata":             `{"inbox":{"seq":1,"inbound":{"key":"x:1","id":"1"},"state":"odd"}}`,
		"an inbox without id":  `{"inbox":{"seq":1,"inbound":{"key":"x:1"},"state":"done"}}`,
		"an inbox without seq": `{"inbox":{"inbound":{"key":"x:1","id":"1"},"state":"done"}}`,
		"a huge seq":           `{"outbox":{"id":"a","key":"x:1","seq":4294967296,"state":"sent"}}`,
		"an outbox's state":    `{"outbox":{"id":"a","key":"x:1","seq":1,"state":"odd"}}`,
		"a note without owner": `{"note":{"kind":"k","name":"n"}}`,
		"a note's kind":        `{"note":{"kind":"A kind","owner":"o","name":"n"}}`,
		"a note's data":        `{"note":{"kind":"k","owner":"o","name":"n","data":"` + strings.Repeat("x", sessions.MaxNoteData) + `"}}`,
		"a count's day":        `{"count":{"kind":"k","owner":"o","day":"May","n":1}}`,
	} {
		if _, err := b.Restore(t.Context(), feed([]string{line}, nil)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	twice := `{"outbox":{"id":"a","key":"x:1","seq":1,"state":"sent"}}`
	if _, err := b.Restore(t.Context(), feed([]string{twice, twice}, nil)); err == nil {
		t.Error("a delivery was taken twice")
	}
	same(t, "the store", dump(t, b.Store), before)
}

func emitEnds(t *testing.T, a, _ *rig) {
	a.say(t, "x:1", "1", user("one"))
	mine := errors.New("mine")
	n := 0
	err := a.Dump(t.Context(), nil, func(sessions.Record) error {
		n++
		if n == 2 {
			return mine
		}
		return nil
	})
	if err != mine || n != 2 {
		t.Errorf("Dump = %v after %d records", err, n)
	}
	// emit may use the store.
	must(t, a.Dump(t.Context(), nil, func(sessions.Record) error {
		_, err := a.Accept(t.Context(), sessions.Entry{Inbound: in("x:2", fmt.Sprint("n", n), "hi")})
		n++
		return err
	}))
}

func takenGeneration(t *testing.T, a, b *rig) {
	a.say(t, "x:1", "1", user("one"), user("two"))
	h, _ := a.history(t, sessions.HistoryLimit{})
	must(t, a.AddSummary(t.Context(), key("x:1"), sessions.Summary{Text: "s", CoversSeq: 1, Generation: h.Generation}))
	b.say(t, "x:2", "2", user("two"))
	must(t, restore(t, b, feed(dump(t, a.Store, key("x:1")), nil)))
	got, _ := b.history(t, sessions.HistoryLimit{})
	other, err := b.History(t.Context(), key("x:2"), sessions.HistoryLimit{})
	must(t, err)
	if got.Generation == other.Generation || got.Summary == nil || got.Summary.Generation != got.Generation || len(got.Messages) != 1 {
		t.Errorf("History = %+v, %+v", got, got.Summary)
	}
}

// copiedTimes: whatever the times of a copy are, the next copy is equal to it.
func copiedTimes(t *testing.T, a, b *rig) {
	var lines []string
	for i, e := range edges[1:] {
		at := e.at
		if !inJSON(at) {
			continue
		}
		k, n := key(number("x:", i)), number("n", i)
		for _, r := range []sessions.Record{
			{Conversation: &sessions.ConversationRecord{
				Key: k, Title: n, Created: at, Updated: at, MessageSeq: 1, Generations: []sessions.Generation{{FirstSeq: 1, Began: at}},
				Summaries: []sessions.Summary{{Text: n, CoversSeq: 1, At: at}},
			}},
			{Messages: &sessions.MessagesRecord{Key: k, Messages: []sessions.Message{{Role: sessions.RoleUser, Content: n, At: at}}}},
			{Inbox: &sessions.InboxRecord{
				Seq: 1, Inbound: withTime(in(k.String(), n, n), at), Source: sessions.SourceChat, State: "waiting", Accepted: at, Due: at, Turn: n,
				Steps: []sessions.Step{{Kind: sessions.StepNote, At: at, Message: &sessions.Message{Role: sessions.RoleUser, At: at}}},
			}},
			{Outbox: &sessions.OutboxRecord{Delivery: sessions.Delivery{ID: n, Key: k, Seq: 2, State: sessions.DeliverySent, Created: at, NotBefore: at}}},
			{Quarantined: &sessions.QuarantineRecord{Quarantined: sessions.Quarantined{Channel: "x", ID: n}, At: at}},
			{Fact: &sessions.FactRecord{Scope: "chat:x:s", Fact: sessions.Fact{ID: int64(i) + 1, Text: n, At: at}}},
			{Pairing: &sessions.Pairing{Channel: "x", PersonID: n, Code: n, Expires: at, Approved: at}},
			{Job: &sessions.JobRecord{Job: n, Due: at}},
			{Occurrence: &sessions.Occurrence{Job: n, Due: at, Outcome: "missed", At: at}},
			{Note: &sessions.Note{Kind: "k", Owner: "o", Name: n, Due: at, At: at}},
		} {
			line, err := json.Marshal(r)
			must(t, err)
			lines = append(lines, string(line))
		}
	}
	must(t, restore(t, a, feed(lines, nil)))
	first := dump(t, a.Store)
	must(t, restore(t, b, feed(first, nil)))
	same(t, "the dump of the copy", dump(t, b.Store), first)
	for i, e := range edges[1:] {
		if !inJSON(e.at) {
			continue
		}
		c, err := a.Conversation(t.Context(), key(number("x:", i)))
		must(t, err)
		if !c.Created.Equal(e.want) || !c.Updated.Equal(e.want) {
			t.Errorf("created %v, updated %v, want %v", c.Created, c.Updated, e.want)
		}
	}
}

// inJSON reports whether JSON can encode at.
func inJSON(at time.Time) bool { return at.UTC().Year() >= 0 && at.UTC().Year() <= 9999 }

func withTime(m channels.Inbound, at time.Time) channels.Inbound {
	m.At = at
	return m
}

// long: a conversation that does not fit into memory is restored whole or not at all.
func long(t *testing.T, a, b *rig) {
	text := strings.Repeat("<-\u2028>", 4_000)
	var lines []string
	for i := range 60 {
		m := fullMessage()
		m.Seq = 0
		m.Content = number(text, i)
		m.At = noon.Add(time.Duration(i) * time.Second)
		line, err := json.Marshal(sessions.Record{Messages: &sessions.MessagesRecord{Key: key(number("x:", i%2)), Messages: []sessions.Message{m, user(number("short ", i))}}})
		must(t, err)
		lines = append(lines, string(line))
	}
	broken := errors.New("broken")
	is(t, "Restore", restore(t, b, feed(lines, broken)), broken)
	is(t, "a half restored conversation", errOf(b.Conversation(t.Context(), key("x:0"))), sessions.ErrNotFound)
	must(t, restore(t, a, feed(lines, nil)))
	must(t, restore(t, b, feed(dump(t, a.Store), nil)))
	same(t, "the dump of the copy", dump(t, b.Store), dump(t, a.Store))
	ms, err := b.Messages(t.Context(), key("x:1"), 0, 100)
	must(t, err)
	if len(ms) != 60 || ms[58].Content != number(text, 59) || ms[59].Content != "short 59" || ms[59].Seq != 60 {
		t.Errorf("there are %d messages", len(ms))
	}
	want := fullMessage()
	want.Seq = 59
	want.Content = ms[58].Content
	want.At = ms[58].At
	want.Extra = ms[58].Extra // the lines of this test have other values
	same(t, "the last long message", ms[58], want)
}

func errOf[T any](_ T, err error) error { return err }

// restore restores the records that next returns into s.
func restore(t *testing.T, s *rig, next func() (sessions.Record, error)) error {
	_, err := s.Restore(t.Context(), next)
	return err
}
