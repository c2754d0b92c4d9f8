package storetest

import (
	"strings"
	"testing"

	"dragoman/sessions"
)

var archiveTests = map[string]func(*testing.T, *rig){
	"Archive/ListsTheNewestFirst": func(t *testing.T, r *rig) {
		for i, k := range []string{"x:1", "x:2", "x:3", "x:1"} {
			m := assistant("hi")
			m.Usage = &sessions.Usage{Input: 3, Output: 2, Cached: 1}
			r.say(t, k, number("", i), user("hi"), m)
		}
		list, err := r.Find(t.Context(), sessions.Query{Limit: 10})
		must(t, err)
		var keys []string
		for _, c := range list {
			keys = append(keys, c.Key.String())
		}
		same(t, "Find", keys, []string{"x:1", "x:3", "x:2"})
		if c := list[0]; c.Messages != 4 || c.Usage != (sessions.Usage{Input: 6, Output: 4, Cached: 2}) || c.Generation == "" || c.Created.IsZero() || c.Updated.Before(c.Created) {
			t.Errorf("conversation %+v", c)
		}
	},
	"Archive/MessagesInPages": func(t *testing.T, r *rig) {
		r.say(t, "x:1", "1", user("1"), user("2"), user("3"))
		r.enter(t, control("x:1", "2", sessions.ControlNew), sessions.Done)
		r.say(t, "x:1", "3", user("4"), user("5"))
		var all []string
		for after := int64(0); ; {
			page, err := r.Messages(t.Context(), key("x:1"), after, 2)
			must(t, err)
			if len(page) == 0 {
				break
			}
			for _, m := range page {
				all, after = append(all, m.Content), m.Seq
			}
		}
		same(t, "Messages", all, []string{"1", "2", "3", "4", "5"})
	},
	"Archive/RenameAndDelete": func(t *testing.T, r *rig) {
		ctx := t.Context()
		is(t, "Rename of nothing", r.Rename(ctx, key("x:1"), "t"), sessions.ErrNotFound)
		is(t, "Delete of nothing", r.Delete(ctx, key("x:1")), sessions.ErrNotFound)
		r.accept(t, "x:1", "0", "waits")
		is(t, "Delete of a chat without a transcript", r.Delete(ctx, key("x:1")), sessions.ErrNotFound)
		r.say(t, "x:1", "1", user("needle one"))
		must(t, r.Rename(ctx, key("x:1"), "Ünïcode \"title\""))
		list, err := r.Find(ctx, sessions.Query{Limit: 1})
		must(t, err)
		if list[0].Title != "Ünïcode \"title\"" {
			t.Errorf("title %q", list[0].Title)
		}
		h, err := r.History(ctx, key("x:1"), sessions.HistoryLimit{})
		must(t, err)
		must(t, r.AddSummary(ctx, key("x:1"), sessions.Summary{Text: "s", CoversSeq: h.Messages[0].Seq, Generation: h.Generation}))
		must(t, r.Delete(ctx, key("x:1")))
		same(t, "transcript", r.transcript(t, "x:1"), nil)
		if found, err := r.Search(ctx, key("x:1"), "needle", 5); err != nil || len(found) != 0 {
			t.Errorf("Search after Delete = %v, %v", found, err)
		}
		is(t, "AddSummary after Delete", r.AddSummary(ctx, key("x:1"), sessions.Summary{Text: "s", CoversSeq: 1, Generation: h.Generation}), sessions.ErrConflict)
		r.say(t, "x:1", "2", user("new"))
		again, err := r.History(ctx, key("x:1"), sessions.HistoryLimit{})
		must(t, err)
		if again.Summary != nil || len(again.Messages) != 1 {
			t.Errorf("History = %+v", again)
		}
		// The queues are kept, and so are the ids of accepted messages.
		r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "x")}, sessions.Duplicate)
		r.pending(t, r.claim(t), 0, "waits")
	},
	"Archive/SearchFindsWords": func(t *testing.T, r *rig) {
		r.say(t, "x:1", "1",
			user("The quick brown fox"), user("a brown bear and a quick hare, a fox"), user("nothing here"),
			user("Straße in Κρήτη, café 42"), user("東京タワーに行きました"), user("don't panic (at all): foo.bar_baz-qux*"), user("fox"))
		r.say(t, "x:2", "2", user("another brown fox"))
		find := func(q string, limit int) []string {
			t.Helper()
			ms, err := r.Search(t.Context(), key("x:1"), q, limit)
			if err != nil {
				t.Fatalf("Search(%q): %v", q, err)
			}
			var texts []string
			for _, m := range ms {
				texts = append(texts, m.Content)
			}
			return texts
		}
		has := func(q string, want string) {
			t.Helper()
			got := find(q, 10)
			if len(got) == 0 || !strings.Contains(got[0], want) {
				t.Errorf("Search(%q) = %q, want %q first", q, got, want)
			}
		}
		has("BROWN quick bear", "bear")
		has("straße", "Straße")
		has("κρήτη", "Κρήτη")
		has("café", "café")
		has("京タ", "東京")
		has("foo.bar", "foo.bar")
		has("(at all):", "panic")
		if got := find("fox", 2); len(got) != 2 {
			t.Errorf("Search with limit 2 = %q", got)
		}
		if got := find("fox", 10); len(got) != 3 {
			t.Errorf("Search(fox) = %q", got)
		}
		if got := find("fo", 10); len(got) != 0 {
			t.Errorf("Search(fo) = %q: a part of a word is no word", got)
		}
		if got := find("fox", 0); len(got) != 0 {
			t.Errorf("Search with limit 0 = %q", got)
		}
		for _, q := range []string{
			"", " ", "\"", "'", "\"\"", "AND", "OR NOT", "NEAR(a b)", "fox AND", "content:fox", "*", "fox*", "^fox", "-fox", "(", ")", "a\"b", "{x y}",
			"+", "fox; DROP TABLE messages", "\x00", "a\x00b", "\xff\xfe", "%", "_", "\\", strings.Repeat("word ", 5000), strings.Repeat("x", 100_000), "🦊", "\u0301",
		} {
			find(q, 3)
		}
	},
	"Archive/SearchAfterEditsOfTheTranscript": func(t *testing.T, r *rig) {
		r.say(t, "x:1", "1", user("alpha"))
		must(t, r.Delete(t.Context(), key("x:1")))
		r.say(t, "x:1", "2", user("beta"))
		r.enter(t, control("x:1", "3", sessions.ControlNew), sessions.Done)
		for q, want := range map[string]int{"alpha": 0, "beta": 1} {
			if ms, err := r.Search(t.Context(), key("x:1"), q, 5); err != nil || len(ms) != want {
				t.Errorf("Search(%s) = %v, %v, want %d", q, ms, err, want)
			}
		}
	},
}
