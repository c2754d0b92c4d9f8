package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
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
		Attachments: []channels.Attachment{{
			Kind: channels.AttachmentVoice, Name: "../a \"b\".ogg", Type: "audio/ogg", Bytes: 1 << 40, Ref: "secret <ref>", File: "f1", Missing: "no",
		}, {Kind: channels.AttachmentImage}},
		Extra: map[string]json.RawMessage{"x": raw(`{"a":[1,2.5,null]}`), "y": raw(`"<z>"`)},
	}
}

var catalogTests = map[string]func(*testing.T, *rig){
	"Catalog/FieldsNestedTooDeep": foreignTooDeep,
	"Catalog/EveryFieldComesBack": func(t *testing.T, r *rig) {
		full := fullMessage()
		cost := full
		cost.Extra, cost.Attachments, cost.ToolCalls, cost.Summary = nil, nil, nil, false
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
			m.ToolCalls[0].Name, m.Usage.Cost, m.Attachments[0].File = "spoilt", 99, "spoilt"
			copy(m.Extra["x"], "spoilt")
			m.Extra["new"] = nil
		}
		spoil(mine)
		for range 2 {
			h, _ = r.history(t, sessions.HistoryLimit{})
			page, err := r.Messages(t.Context(), key("x:1"), 0, 10)
			must(t, err)
			found, err := r.SearchAll(t.Context(), "text", 10)
			must(t, err)
			for _, m := range append(append(h.Messages, page...), found[0].Message) {
				if m.ToolCalls[0].Name != "f" || m.Usage.Cost != 0.0125 || m.Attachments[0].File != "f1" || len(m.Extra) != 2 || string(m.Extra["x"]) != `{"a":[1,2.5,null]}` {
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
	"Catalog/FindChooses":                    finds,
	"Catalog/GenerationsAreListed":           generations,
	"Catalog/SearchAllLooksEverywhere":       searchesAll,
	"Catalog/TopByTokens":                    tops,
	"Catalog/DaysCount":                      days,
	"Catalog/Case38And39KeysStayDistinct":    strangeKeys,
	"Catalog/AResetWaitsForAnswers":          resetWaits,
	"Catalog/PagesGoOnBehindAPlace":          pagesGoOn,
	"Catalog/AnUnknownConversationIsUnknown": unknown,
}

func configure(t *testing.T, r *rig, k string, change func(*sessions.Settings)) {
	t.Helper()
	must(t, r.Configure(t.Context(), key(k), change))
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
		s.Model, s.System, s.Tags = "big", "Be brief.", []string{"b", "a", "b", " "}
		s.Metadata = map[string]json.RawMessage{"user": raw(` "alice" `), "limit": raw(`{ "a" : 1 }`)}
	})
	want := sessions.Settings{
		Model: "big", System: "Be brief.", Tags: []string{"a", "b"},
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
	if r.Configure(ctx, key("x:1"), func(s *sessions.Settings) { s.Metadata["bad"] = raw(`{`) }) == nil {
		t.Error("metadata that is no JSON was taken")
	}
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

func finds(t *testing.T, r *rig) {
	for i, k := range []string{"x:1", "y:2", "x:Three", "y:4"} {
		r.say(t, k, number("", i), user("hi"))
	}
	configure(t, r, "x:1", func(s *sessions.Settings) {
		s.Tags = []string{"vip", "de"}
		s.Metadata = map[string]json.RawMessage{"n": raw(`42`), "ok": raw(`true`), "none": raw(`null`), "name": raw(`"<Al>"`), "o": raw(`{"a":"<b>"}`)}
	})
	configure(t, r, "y:2", func(s *sessions.Settings) {
		s.Tags, s.Metadata = []string{"vip"}, map[string]json.RawMessage{"n": raw(`"42"`)}
	})
	must(t, r.Rename(t.Context(), key("y:4"), "Die Größe der Welt"))
	place := func(k string) *sessions.Place {
		c, err := r.Conversation(t.Context(), key(k))
		must(t, err)
		p := c.Place()
		return &p
	}
	for name, tt := range map[string]struct {
		q    sessions.Query
		want string
	}{
		"all":             {sessions.Query{}, "y:4 x:Three y:2 x:1"},
		"a page":          {sessions.Query{After: place("y:4"), Limit: 2}, "x:Three y:2"},
		"past the end":    {sessions.Query{After: place("x:1")}, ""},
		"nobody's place":  {sessions.Query{After: &sessions.Place{Updated: time.Unix(1, 0), Key: key("z:1")}}, ""},
		"in a time":       {sessions.Query{After: place("y:4"), UpdatedAfter: time.Unix(1, 0), Limit: 1}, "x:Three"},
		"less than one":   {sessions.Query{Limit: -1}, "y:4"},
		"a channel":       {sessions.Query{Channel: "x"}, "x:Three x:1"},
		"no such channel": {sessions.Query{Channel: "X"}, ""},
		"a tag":           {sessions.Query{Tag: "vip"}, "y:2 x:1"},
		"a tag, paged":    {sessions.Query{Tag: "vip", After: place("y:2")}, "x:1"},
		"a part of a tag": {sessions.Query{Tag: "vi"}, ""},
		"a number":        {sessions.Query{Metadata: map[string]string{"n": "42"}}, "y:2 x:1"},
		"two values":      {sessions.Query{Metadata: map[string]string{"n": "42", "ok": "true"}}, "x:1"},
		"null":            {sessions.Query{Metadata: map[string]string{"none": "null"}}, "x:1"},
		"no value":        {sessions.Query{Metadata: map[string]string{"nothing": ""}}, ""},
		"a string":        {sessions.Query{Metadata: map[string]string{"name": "<Al>"}}, "x:1"},
		"an object":       {sessions.Query{Metadata: map[string]string{"o": `{"a":"<b>"}`}}, "x:1"},
		"a key":           {sessions.Query{Text: "X:thr"}, "x:Three"},
		"a title":         {sessions.Query{Text: "GRÖSSE"}, ""},
		"a title's case":  {sessions.Query{Text: "GRÖßE D"}, "y:4"},
		"both":            {sessions.Query{Text: "4", Channel: "y"}, "y:4"},
		"like's jokers":   {sessions.Query{Text: "%"}, ""},
		"too early":       {sessions.Query{UpdatedBefore: time.Unix(1, 0)}, ""},
		"late enough":     {sessions.Query{UpdatedAfter: time.Unix(1, 0), Limit: 1}, "y:4"},
		"too late":        {sessions.Query{UpdatedAfter: time.Now().Add(time.Hour)}, ""},
	} {
		list, err := r.Find(t.Context(), tt.q)
		if err != nil {
			t.Fatalf("Find %s: %v", name, err)
		}
		var got []string
		for _, c := range list {
			got = append(got, c.Key.String())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("Find %s = %v, want %s", name, got, tt.want)
		}
	}
}

// pagesGoOn walks through the list while its conversations get messages and
// go, and one more comes: nothing comes twice, and nothing that nobody touched
// is left out. Those that are said all at once are equally old.
func pagesGoOn(t *testing.T, r *rig) {
	const old, equal = 4, 8
	for i := range old {
		r.say(t, fmt.Sprintf("x:%d", i), number("", i), user("hi"))
	}
	var together sync.WaitGroup
	for i := range equal {
		together.Go(func() {
			configure(t, r, fmt.Sprintf("y:%d", i), func(s *sessions.Settings) { s.Model = "m" })
		})
	}
	together.Wait()
	var seen []string
	q := sessions.Query{Limit: 3}
	for pages := 0; pages < old+equal; pages++ {
		list, err := r.Find(t.Context(), q)
		must(t, err)
		if len(list) == 0 {
			break
		}
		for _, c := range list {
			seen = append(seen, c.Key.String())
		}
		last := list[len(list)-1]
		p, err := sessions.ParsePlace(last.Place().String())
		must(t, err)
		q.After = &p
		switch pages {
		case 0: // the one behind which the list goes on moves to the top
			r.say(t, last.Key.String(), "again", user("more"))
		case 1:
			must(t, r.Delete(t.Context(), last.Key))
		case 2:
			r.say(t, "z:new", "new", user("hi"))
		}
	}
	var want []string
	for i := range old {
		want = append(want, fmt.Sprintf("x:%d", i))
	}
	for i := range equal {
		want = append(want, fmt.Sprintf("y:%d", i))
	}
	slices.Sort(seen)
	same(t, "all pages", seen, want)
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

func searchesAll(t *testing.T, r *rig) {
	at := func(text string, day int) sessions.Message {
		m := user(text)
		m.At = time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
		return m
	}
	r.say(t, "x:2", "1", at("the red fox", 3))
	r.say(t, "x:1", "2", at("a red brown fox", 1), at("nothing", 2), at("a fox", 2))
	r.say(t, "y:1", "3", at("fox and red", 4))
	for q, want := range map[string]string{"fox red": "y:1 1, x:2 1, x:1 1, x:1 3", "brown fox": "x:1 1, y:1 1, x:2 1, x:1 3", "nix": "", "": ""} {
		found, err := r.SearchAll(t.Context(), q, 10)
		must(t, err)
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s %d", f.Key, f.Message.Seq))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("SearchAll(%q) = %v, want %s", q, got, want)
		}
	}
	if found, err := r.SearchAll(t.Context(), "fox", 2); err != nil || len(found) != 2 || found[0].Key != key("y:1") {
		t.Errorf("SearchAll = %+v, %v", found, err)
	}
}

// spent is a message that took so many tokens on a day.
func spent(tokens, day, hour int) sessions.Message {
	m := assistant("a")
	m.At = time.Date(2026, 3, day, hour, 0, 0, 0, time.FixedZone("", -3600))
	m.Usage = &sessions.Usage{Input: tokens, Output: 1, Cost: 0.5}
	return m
}

func tops(t *testing.T, r *rig) {
	r.say(t, "x:1", "1", spent(10, 1, 1), spent(15, 1, 1))
	r.say(t, "x:2", "2", spent(30, 1, 1))
	r.say(t, "x:3", "3", spent(5, 1, 1))
	r.enter(t, control("x:1", "4", sessions.ControlNew), sessions.Done)
	r.say(t, "x:1", "5", spent(6, 1, 1))
	for limit, want := range map[int]string{9: "x:1 x:2 x:3 ", 2: "x:1 x:2 ", 0: ""} {
		list, err := r.Top(t.Context(), limit)
		must(t, err)
		got := ""
		for _, c := range list {
			got += c.Key.String() + " "
		}
		if got != want {
			t.Errorf("Top(%d) = %s, want %s", limit, got, want)
		}
	}
}

func days(t *testing.T, r *rig) {
	r.say(t, "x:1", "1", spent(1, 1, 12), spent(2, 1, 22), spent(4, 1, 23), spent(8, 3, 1))
	r.say(t, "x:2", "2", spent(16, 1, 1))
	day := func(n int) time.Time { return time.Date(2026, 3, n, 15, 0, 0, 0, time.UTC) }
	got, err := r.Days(t.Context(), day(1), day(3))
	must(t, err)
	want := []sessions.DayCount{
		{Day: "2026-03-01", Conversations: 2, Messages: 3, Usage: sessions.Usage{Input: 19, Output: 3, Cost: 1.5}},
		{Day: "2026-03-02", Conversations: 1, Messages: 1, Usage: sessions.Usage{Input: 4, Output: 1, Cost: 0.5}},
	}
	same(t, "Days", got, want)
	got, err = r.Days(t.Context(), day(2), day(4))
	must(t, err)
	same(t, "Days", got, append(want[1:], sessions.DayCount{Day: "2026-03-03", Conversations: 1, Messages: 1, Usage: sessions.Usage{Input: 8, Output: 1, Cost: 0.5}}))
	if got, err := r.Days(t.Context(), day(5), day(9)); err != nil || len(got) != 0 {
		t.Errorf("Days = %+v, %v", got, err)
	}
}

// strangeKeys: names that file systems and databases confuse are different
// conversations, and what is no key is refused before a store sees it.
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
