package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// raw is JSON as a value of metadata or an unknown field.
func raw(s string) json.RawMessage { return json.RawMessage(s) }

// fullMessage has every field of a message set but Seq and Turn.
func fullMessage() sessions.Message {
	return sessions.Message{
		Role: sessions.RoleAssistant, Content: "text", Name: "n", Sender: "s", Model: "m", Synthetic: true, Summary: true,
		At: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), Turn: "mine", ToolCallID: "9",
		ToolCalls: []sessions.ToolCall{{ID: "1", Name: "f", Arguments: `{"a": 1}`}},
		Usage:     &sessions.Usage{Input: 10, Output: 20, Cached: 5, Cost: 0.0125},
		Kind:      sessions.MessageStopped, ForModel: []sessions.Mark{{Start: 2, End: 4}},
		Attachments: []channels.Attachment{{
			Kind: channels.AttachmentVoice, Name: "../a \"b\".ogg", Type: "audio/ogg", Bytes: 1 << 40, Ref: "secret <ref>", File: "f1", Missing: "no",
			Seconds: 14, Words: "what was\nsaid",
		}, {Kind: channels.AttachmentImage}},
		Attached: attachedBy(`{"items":[{"id":"rs_1","sealed":"gAAA+/=="}]}`),
		Extra:    map[string]json.RawMessage{"x": raw(`{"a":[1,2.5,null]}`), "y": raw(`"<z>"`)},
	}
}

var catalogTests = map[string]func(*testing.T, *rig){
	"Catalog/FieldsNestedTooDeep": foreignTooDeep,
	"Catalog/EveryFieldComesBack": func(t *testing.T, r *rig) {
		full := fullMessage()
		cost := full
		cost.Extra = nil
		cost.Attachments = nil
		cost.ToolCalls = nil
		cost.Summary = false
		e := sessions.Entry{Inbound: in("x:1", "1", "look")}
		e.Inbound.Attachments = full.Attachments
		r.enter(t, e, sessions.Queued)
		w := r.pending(t, r.claim(t), 0, "look").Messages[0]
		same(t, "attachments of a waiting message", w.Inbound.Attachments, full.Attachments)
		r.say(t, "x:1", "2", full, cost)
		h, _ := r.history(t, sessions.HistoryLimit{})
		full.Seq, cost.Seq = 1, 2
		full.Extra["y"] = raw(`"\u003cz\u003e"`)
		same(t, "History", h.Messages, []sessions.Message{full, cost})
		sum := sessions.Summary{Text: "s", CoversSeq: 1, Generation: h.Generation, Model: "m", At: full.At, Fields: raw(`{"title":"t","key_points":[1]}`)}
		must(t, r.AddSummary(t.Context(), key("x:1"), sum))
		h, _ = r.history(t, sessions.HistoryLimit{})
		same(t, "summary", *h.Summary, sum)
		c, err := r.Conversation(t.Context(), key("x:1"))
		must(t, err)
		same(t, "usage", c.Usage, sessions.Usage{Input: 20, Output: 40, Cached: 10, Cost: 0.025})
	},
	"Catalog/Case45GettersReturnCopies": func(t *testing.T, r *rig) {
		mine := fullMessage()
		r.say(t, "x:1", "1", mine)
		configure(t, r, "x:1", func(s *sessions.Settings) {
			s.Tags, s.Metadata = []string{"tag"}, map[string]json.RawMessage{"a": raw(`[1]`)}
		})
		h, _ := r.history(t, sessions.HistoryLimit{})
		must(t, r.AddSummary(t.Context(), key("x:1"), sessions.Summary{Text: "s", CoversSeq: 1, Generation: h.Generation, Fields: raw(`{"a":1}`)}))
		r.say(t, "x:1", "2", mine)
		spoil := func(m sessions.Message) {
			m.ToolCalls[0].Name = "spoilt"
			m.Usage.Cost = 99
			m.Attachments[0].File = "spoilt"
			copy(m.Extra["x"], "spoilt")
			copy(m.Attached.Data, "spoilt")
			m.Attached.By.Host = "spoilt"
			m.Extra["new"] = nil
		}
		spoil(mine)
		for range 2 {
			h, _ = r.history(t, sessions.HistoryLimit{})
			page, err := r.Messages(t.Context(), key("x:1"), 0, 10)
			must(t, err)
			found, err := r.SearchAll(t.Context(), sessions.Search{Query: "text", Limit: 10})
			must(t, err)
			for _, m := range append(append(h.Messages, page...), found[0].Message) {
				if m.ToolCalls[0].Name != "f" || m.Usage.Cost != 0.0125 || m.Attachments[0].File != "f1" || len(m.Extra) != 2 || string(m.Extra["x"]) != `{"a":[1,2.5,null]}` ||
					m.Attached.By.Host != "api.example:8443" || string(m.Attached.Data) != `{"items":[{"id":"rs_1","sealed":"gAAA+/=="}]}` {
					t.Fatalf("message = %+v", m)
				}
				spoil(m)
			}
			if string(h.Summary.Fields) != `{"a":1}` || h.Settings.Tags[0] != "tag" || string(h.Settings.Metadata["a"]) != `[1]` {
				t.Fatalf("history = %+v, summary %+v", h, h.Summary)
			}
			copy(h.Summary.Fields, "spoilt!")
			h.Settings.Tags[0] = "spoilt"
			copy(h.Settings.Metadata["a"], "xxx")
		}
	},
	"Catalog/ConfigureKeepsSettings":         configures,
	"Catalog/FindChooses":                    findsByWhatTheyAre,
	"Catalog/FindsInOrder":                   findsInOrder,
	"Catalog/GenerationsAreListed":           generations,
	"Catalog/SearchAllLooksEverywhere":       searchesAll,
	"Catalog/SearchAllInPages":               searchesInPages,
	"Catalog/TopByTokens":                    tops,
	"Catalog/DaysCount":                      days,
	"Catalog/Case38And39KeysStayDistinct":    strangeKeys,
	"Catalog/AResetWaitsForAnswers":          resetWaits,
	"Catalog/PagesGoOnBehindAPlace":          pagesGoOn,
	"Catalog/AnUnknownConversationIsUnknown": unknown,
}

func configure(t *testing.T, r *rig, k string, change func(*sessions.Settings)) {
	t.Helper()
	must(t, r.Configure(t.Context(), key(k), func(s *sessions.Settings) error { change(s); return nil }))
}

func unknown(t *testing.T, r *rig) {
	_, err := r.Conversation(t.Context(), key("x:1"))
	is(t, "Conversation", err, sessions.ErrNotFound)
	_, err = r.Generations(t.Context(), key("x:1"))
	is(t, "Generations", err, sessions.ErrNotFound)
	r.accept(t, "x:1", "1", "waits")
	_, err = r.Conversation(t.Context(), key("x:1"))
	is(t, "Conversation without a transcript", err, sessions.ErrNotFound)
	if list, err := r.Find(t.Context(), sessions.Query{}); err != nil || len(list) != 0 {
		t.Errorf("Find = %+v, %v", list, err)
	}
}

func configures(t *testing.T, r *rig) {
	ctx := t.Context()
	configure(t, r, "x:1", func(s *sessions.Settings) {
		if s.Model != "" || s.Tags != nil || s.Metadata != nil {
			t.Errorf("settings of a new conversation: %+v", s)
		}
		s.Model = "big"
		s.System = "Be brief."
		s.Agent = "pirate"
		s.Reasoning = "low"
		s.Tags = []string{"b", "a", "b", " "}
		s.Metadata = map[string]json.RawMessage{"user": raw(` "alice" `), "limit": raw(`{ "a" : 1 }`)}
	})
	want := sessions.Settings{
		Model: "big", System: "Be brief.", Agent: "pirate", Reasoning: "low", Tags: []string{"a", "b"},
		Metadata: map[string]json.RawMessage{"user": raw(`"alice"`), "limit": raw(`{"a":1}`)},
	}
	c, err := r.Conversation(ctx, key("x:1"))
	must(t, err)
	same(t, "settings", c.Settings, want)
	if c.Generation != "" || c.Messages != 0 || c.Created.IsZero() || c.Updated.IsZero() {
		t.Errorf("conversation %+v", c)
	}
	r.enter(t, control("x:1", "new", sessions.ControlNew), sessions.Done)
	if g, err := r.Generations(ctx, key("x:1")); err != nil || len(g) != 0 {
		t.Errorf("generations %+v, %v: nothing was said", g, err)
	}
	r.say(t, "x:1", "1", user("hi"))
	r.say(t, "x:2", "2", user("hi"))
	before, err := r.Conversation(ctx, key("x:1"))
	must(t, err)
	configure(t, r, "x:1", func(s *sessions.Settings) {
		same(t, "settings", *s, want)
		s.Model = ""
	})
	want.Model = ""
	if r.Configure(ctx, key("x:1"), func(s *sessions.Settings) error { s.Metadata["bad"] = raw(`{`); return nil }) == nil {
		t.Error("metadata that is no JSON was taken")
	}
	refused := errors.New("refused")
	refuse := func(s *sessions.Settings) error { s.Model = "refused"; return refused }
	for _, k := range []string{"x:1", "x:none"} {
		is(t, "a refused change of "+k, r.Configure(ctx, key(k), refuse), refused)
	}
	_, err = r.Conversation(ctx, key("x:none"))
	is(t, "Conversation after a refused change", err, sessions.ErrNotFound)
	r.enter(t, control("x:1", "3", sessions.ControlNew), sessions.Done)
	h, _ := r.history(t, sessions.HistoryLimit{})
	same(t, "settings after /new", h.Settings, want)
	after, err := r.Conversation(ctx, key("x:1"))
	must(t, err)
	if before.Generation == "" || after.Messages != 1 {
		t.Errorf("conversation %+v, then %+v", before, after)
	}
	configure(t, r, "x:2", func(s *sessions.Settings) { s.Model = "m" })
	if list, err := r.Find(ctx, sessions.Query{Limit: 9}); err != nil || list[0].Key != key("x:1") {
		t.Errorf("Find = %+v, %v: Configure counted as an update", list, err)
	}
	must(t, r.Delete(ctx, key("x:1")))
	if h, _ := r.history(t, sessions.HistoryLimit{}); h.Settings.System != "" {
		t.Errorf("settings after Delete: %+v", h.Settings)
	}
}

func generations(t *testing.T, r *rig) {
	r.say(t, "x:1", "1", user("1"), user("2"))
	must(t, r.Delete(t.Context(), key("x:1")))
	r.say(t, "x:1", "2", user("3"), user("4"))
	r.enter(t, control("x:1", "3", sessions.ControlNew, assistant("5")), sessions.Done)
	r.enter(t, control("x:1", "4", sessions.ControlNew), sessions.Done)
	r.say(t, "x:1", "5", user("6"))
	r.enter(t, control("x:1", "6", sessions.ControlNew), sessions.Done)
	list, err := r.Generations(t.Context(), key("x:1"))
	must(t, err)
	ids := map[string]bool{}
	var got []string
	for _, g := range list {
		ids[g.ID] = true
		got = append(got, fmt.Sprintf("%d-%d", g.FirstSeq, g.LastSeq))
		if time.Since(g.Began) > time.Hour {
			t.Errorf("began %s", g.Began)
		}
	}
	same(t, "Generations", got, []string{"3-5", "6-5", "6-6", "7-6"})
	h, _ := r.history(t, sessions.HistoryLimit{})
	if len(ids) != 4 || list[3].ID != h.Generation {
		t.Errorf("ids %v, current %s", ids, h.Generation)
	}
}

// strangeKeys: names that file systems and databases confuse are different
// conversations, and invalid keys are refused before a store sees them.
func strangeKeys(t *testing.T, r *rig) {
	keys := []string{
		"telegram:1_2", "telegram_1:2", "irc:#a", "irc:##a", "irc:#A", "x:/1", "x:_1", "x:../../etc/x", "x:a/../../b", "x:.", "x:..",
		"x:CON", "x:con", "x:%2e", "x:a b", "x:" + strings.Repeat("é", 128), "x:é", "x:e\u0301", "x:*", "x:'; DROP TABLE keys; --",
	}
	for i, k := range keys {
		r.say(t, k, number("", i), user(k))
	}
	for _, k := range keys {
		same(t, k, r.transcript(t, k), []string{"user: " + k})
		if c, err := r.Conversation(t.Context(), key(k)); err != nil || c.Key.String() != k {
			t.Errorf("Conversation(%s) = %+v, %v", k, c, err)
		}
	}
	for _, bad := range []string{"", ".", "x:", "x:a\x00b", "x:a\r\nb", "x:" + strings.Repeat("a", 4096), "../x:1", "x/1"} {
		if _, err := channels.ParseKey(bad); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
}

func resetWaits(t *testing.T, r *rig) {
	later := time.Now().Add(time.Hour)
	ask := func(k, id string) sessions.Entry {
		return sessions.Entry{Inbound: in(k, id, "good morning"), ResetBefore: later}
	}
	count := func(want int) {
		t.Helper()
		g, err := r.Generations(t.Context(), key("x:1"))
		must(t, err)
		if len(g) != want {
			t.Errorf("%d generations, want %d", len(g), want)
		}
	}
	r.enter(t, ask("x:1", "0"), sessions.Queued) // nothing to reset
	h := r.claim(t)
	r.commit(t, h, "ok")
	count(1)
	r.accept(t, "x:1", "1", "waits")
	r.enter(t, ask("x:1", "2"), sessions.Queued)
	count(1)
	r.commit(t, h, "ok")
	edit := ask("x:1", "3")
	edit.Inbound.Edits = "m1"
	r.enter(t, edit, sessions.Noted)
	count(1)
	early := ask("x:1", "4")
	early.ResetBefore = time.Now().Add(-time.Hour)
	r.enter(t, early, sessions.Queued)
	r.commit(t, h, "ok")
	count(1)
	r.enter(t, ask("x:1", "5"), sessions.Queued)
	count(2)
	r.enter(t, ask("x:1", "5"), sessions.Duplicate)
	hist, err := r.History(t.Context(), key("x:1"), sessions.HistoryLimit{})
	must(t, err)
	if len(hist.Messages) != 0 {
		t.Errorf("History = %+v", hist)
	}
	r.commit(t, h, "ok")
	hist, _ = r.history(t, sessions.HistoryLimit{})
	if len(hist.Messages) != 2 {
		t.Errorf("History = %+v", hist)
	}
}
