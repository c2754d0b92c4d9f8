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

// findable puts four conversations into r, of which y:4 is the newest.
func findable(t *testing.T, r *rig) {
	t.Helper()
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
}

// wanted is a query and the keys that it should find, newest first.
type wanted struct {
	q    sessions.Query
	want string
}

// find runs the queries of tests.
func find(t *testing.T, r *rig, tests map[string]wanted) {
	t.Helper()
	for name, tt := range tests {
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

// findsByWhatTheyAre: channels, tags, metadata, keys and titles.
func findsByWhatTheyAre(t *testing.T, r *rig) {
	findable(t, r)
	find(t, r, map[string]wanted{
		"a channel":       {sessions.Query{Channel: "x"}, "x:Three x:1"},
		"no such channel": {sessions.Query{Channel: "X"}, ""},
		"a tag":           {sessions.Query{Tag: "vip"}, "y:2 x:1"},
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
	})
}

// findsInOrder tests order, pages and limits.
func findsInOrder(t *testing.T, r *rig) {
	findable(t, r)
	place := func(k string) *sessions.Cursor {
		c, err := r.Conversation(t.Context(), key(k))
		must(t, err)
		p := c.Position()
		return &p
	}
	find(t, r, map[string]wanted{
		"all":              {sessions.Query{}, "y:4 x:Three y:2 x:1"},
		"a page":           {sessions.Query{After: place("y:4"), Limit: 2}, "x:Three y:2"},
		"past the end":     {sessions.Query{After: place("x:1")}, ""},
		"a foreign cursor": {sessions.Query{After: &sessions.Cursor{Updated: time.Unix(1, 0), Key: key("z:1")}}, ""},
		"less than one":    {sessions.Query{Limit: -1}, "y:4"},
		"a tag, paged":     {sessions.Query{Tag: "vip", After: place("y:2")}, "x:1"},
	})
}

// pagesGoOn reads the list page by page while conversations get messages, are deleted
// and are added. No conversation comes twice, and no unchanged one is skipped.
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
		p, err := sessions.ParseCursor(last.Position().String())
		must(t, err)
		q.After = &p
		switch pages {
		case 0: // the conversation at the cursor moves to the top
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
		found, err := r.SearchAll(t.Context(), sessions.Search{Query: q, Limit: 10})
		must(t, err)
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s %d", f.Key, f.Message.Seq))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("SearchAll(%q) = %v, want %s", q, got, want)
		}
	}
	if found, err := r.SearchAll(t.Context(), sessions.Search{Query: "fox", Limit: 2}); err != nil || len(found) != 2 || found[0].Key != key("y:1") {
		t.Errorf("SearchAll = %+v, %v", found, err)
	}
}

// searchesInPages: pages of any size together have the same results as one page of
// all, whatever is said or deleted between them, and within the given times.
func searchesInPages(t *testing.T, r *rig) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	texts := []string{"red fox", "a fox", "the red one", "a red, red fox", "nothing"}
	for i := range 30 {
		m := user(texts[i%len(texts)])
		m.At = day(1 + i/4) // several at one moment, in one conversation and in others
		r.say(t, fmt.Sprintf("x:%d", i*7%3), number("", i), m)
	}
	places := func(found []sessions.Found) (list []string) {
		for _, f := range found {
			list = append(list, fmt.Sprintf("%d %s %s %d %s", f.Words, f.Message.At.Format(time.DateOnly), f.Key, f.Message.Seq, f.Message.Content))
		}
		return list
	}
	for name, s := range map[string]sessions.Search{
		"all": {}, "one conversation": {Key: key("x:2")}, "since": {From: day(3)}, "until": {To: day(3)}, "between": {From: day(2), To: day(5), Key: key("x:1")}, "never": {From: day(9)},
		"within all": {Within: map[channels.Key]int64{key("x:0"): 0, key("x:1"): 1, key("x:2"): 1, key("x:9"): 0}}, "within a part": {Within: map[channels.Key]int64{key("x:2"): 6}},
		"within none": {Within: map[channels.Key]int64{}}, "within and since": {Within: map[channels.Key]int64{key("x:2"): 0}, From: day(9)},
	} {
		s.Query, s.Limit = "fox red", 99
		all, err := r.SearchAll(t.Context(), s)
		must(t, err)
		want := places(all)
		if n := map[string]int{"all": 24, "one conversation": 8, "since": 17, "until": 7, "between": 3, "never": 0, "within all": 24, "within a part": 4}[name]; len(all) != n {
			t.Errorf("%s: %d messages, want %d: %q", name, len(all), n, want)
		}
		if !slices.IsSortedFunc(all, func(a, b sessions.Found) int { return a.Position().Compare(b.Position()) }) {
			t.Errorf("%s: the best are not the first: %q", name, want)
		}
		for size := 1; size < 6; size++ {
			var got []string
			s.After, s.Limit = nil, size
			for len(got) <= len(want) {
				page, err := r.SearchAll(t.Context(), s)
				must(t, err)
				if len(page) == 0 {
					break
				}
				got = append(got, places(page)...)
				at, err := sessions.ParseFoundCursor(page[len(page)-1].Position().String())
				must(t, err)
				s.After = &at
			}
			same(t, fmt.Sprintf("%s in pages of %d", name, size), got, want)
		}
	}
	s := sessions.Search{Query: "fox red", Limit: 10}
	before, err := r.SearchAll(t.Context(), sessions.Search{Query: s.Query, Limit: 99})
	must(t, err)
	first, err := r.SearchAll(t.Context(), s)
	must(t, err)
	last := first[9].Position()
	s.After, s.Limit = &last, 99
	must(t, r.Delete(t.Context(), last.Key))
	r.say(t, "x:new", "new", user("red fox"))
	rest, err := r.SearchAll(t.Context(), s)
	must(t, err)
	left := slices.DeleteFunc(before[10:], func(f sessions.Found) bool { return f.Key == last.Key })
	same(t, "the rest, after a deletion", places(rest), places(left))
}
