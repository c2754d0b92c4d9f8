package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/sessions"
)

// hits returns the seqs that l finds in x:1, and its counts.
func hits(t *testing.T, r *rig, l sessions.Lookup) string {
	t.Helper()
	h, err := r.Lookup(t.Context(), key("x:1"), l)
	must(t, err)
	var seqs []int64
	for _, m := range h.Messages {
		seqs = append(seqs, m.Seq)
	}
	return fmt.Sprint(seqs, h.All, h.Some)
}

// foundIn returns the seqs that a look-up in x:1 finds, and checks that a search of
// x:1 and one of everything find them, too.
func foundIn(t *testing.T, r *rig, query string, limit int) []int64 {
	t.Helper()
	ms, err := r.Search(t.Context(), key("x:1"), query, limit)
	must(t, err)
	var seqs []int64
	for _, m := range ms {
		seqs = append(seqs, m.Seq)
	}
	here := slices.Sorted(slices.Values(seqs))
	for _, s := range []sessions.Search{{}, {Key: key("x:1")}} {
		s.Query, s.Limit = query, limit
		found, err := r.SearchAll(t.Context(), s)
		must(t, err)
		var all []int64
		for _, f := range found {
			all = append(all, f.Message.Seq)
		}
		slices.Sort(all)
		if !slices.Equal(all, here) {
			t.Errorf("SearchAll(%q: %.40q) = %v, Lookup = %v", s.Key, query, all, here)
		}
	}
	return seqs
}

var searchTests = map[string]func(*testing.T, *rig){
	// Results of a search are copies, which the next search must not find. Of former versions
	// only the name of the tool says so.
	"Search/NotWhatASearchFound": func(t *testing.T, r *rig) {
		r.say(t, "x:1", "0", user("CompanyB wants a price of 129.50"))
		for i := range 10 {
			name := "find"
			origins := []sessions.Origin{sessions.OriginHistory, sessions.OriginOthers}
			if i%2 == 0 {
				name = "search_history"
				origins = nil
			}
			call := sessions.ToolCall{ID: number("c", i), Name: name, Arguments: `{"query":"CompanyB price"}`}
			asks := assistant("")
			asks.ToolCalls = []sessions.ToolCall{call}
			result := sessions.Message{Role: sessions.RoleTool, Name: name, ToolCallID: call.ID, Content: "[message 1] CompanyB wants a price of 129.50", Origins: origins}
			other := sessions.Message{Role: sessions.RoleTool, Name: "read_file", ToolCallID: call.ID, Content: "a file"}
			r.say(t, "x:1", number("q", i), user("how much was it?"), asks, result, other, assistant("It was 129.50"))
		}
		same(t, "Search(CompanyB price)", foundIn(t, r, "CompanyB price", 10), []int64{1})
		same(t, "Search(file)", foundIn(t, r, "file", 1), []int64{50})
		if got, want := hits(t, r, sessions.Lookup{Query: "CompanyB price", Limit: 1}), "[1] 1 0"; got != want {
			t.Errorf("Lookup = %s, want %s", got, want)
		}
		must(t, r.Join(t.Context(), key("x:1"), key("x:2")))
		found, err := r.Search(t.Context(), key("x:2"), "CompanyB price", 10)
		must(t, err)
		if len(found) != 1 {
			t.Errorf("Search after Join finds %d messages, want 1", len(found))
		}
	},
	"Search/Parts": func(t *testing.T, r *rig) {
		r.say(t, "x:1", "1", user("the landlord wants a deposit of 1850"), user("nothing"))
		for i := range 9 {
			r.say(t, "x:1", number("a", i), user("landlord, deposit: part "+number("", i)))
		}
		r.say(t, "x:1", "2", user("a deposit"), user("the landlord"))
		r.say(t, "x:2", "3", user("another landlord and another deposit"))
		for name, tt := range map[string]struct {
			l    sessions.Lookup
			want string
		}{
			"the newest":       {sessions.Lookup{Limit: 3}, "[11 10 9] 10 0"},
			"before":           {sessions.Lookup{Limit: 3, Before: 9}, "[8 7 6] 7 0"},
			"the end":          {sessions.Lookup{Limit: 3, Before: 4}, "[3 1] 2 0"},
			"the first":        {sessions.Lookup{Limit: 3, Before: 2}, "[1] 1 0"},
			"before all":       {sessions.Lookup{Limit: 3, Before: 1}, "[] 0 0"},
			"the oldest":       {sessions.Lookup{Limit: 2, Oldest: true}, "[1 3] 10 0"},
			"after":            {sessions.Lookup{Limit: 3, After: 9}, "[11 10 13] 2 2"},
			"the oldest after": {sessions.Lookup{Limit: 3, After: 9, Oldest: true}, "[10 11 12] 2 2"},
			"between":          {sessions.Lookup{Limit: 9, After: 3, Before: 6}, "[5 4] 2 0"},
			"all and some":     {sessions.Lookup{Limit: 11, Before: 99}, "[11 10 9 8 7 6 5 4 3 1 13] 10 2"},
			"odd bounds":       {sessions.Lookup{Limit: 1, After: -5, Before: 1 << 60}, "[11] 10 0"},
			"past the end":     {sessions.Lookup{Limit: 1, After: 1 << 60}, "[] 0 0"},
			"no places":        {sessions.Lookup{}, "[] 0 0"},
		} {
			tt.l.Query = "landlord deposit"
			if got := hits(t, r, tt.l); got != tt.want {
				t.Errorf("Lookup %s = %s, want %s", name, got, tt.want)
			}
		}
	},
	"Search/Marks": func(t *testing.T, r *rig) {
		r.say(t, "x:1", "1", user("A red Fox, two FOXES; 東京都 \xff fox"))
		r.say(t, "x:2", "2", user(strings.Repeat("fox ", sessions.MostMarks+1)))
		for query, want := range map[string][]string{"fox red": {"red", "Fox", "fox"}, "東京": {"東京"}, "red red": {"red"}} {
			found, err := r.SearchAll(t.Context(), sessions.Search{Query: query, Key: key("x:1"), Limit: 1})
			must(t, err)
			var got []string
			for _, m := range found[0].Marks {
				got = append(got, found[0].Message.Content[m.Start:m.End])
			}
			same(t, "the marks of "+query, got, want)
		}
		found, err := r.SearchAll(t.Context(), sessions.Search{Query: "fox", Key: key("x:2"), Limit: 1})
		must(t, err)
		same(t, "the most marks", len(found[0].Marks), sessions.MostMarks)
	},
	"Search/MostOfTheWords": func(t *testing.T, r *rig) {
		r.say(t, "x:1", "1", user("a house"), user("a red house"), user("a house, a house"), user("red"), user("green"))
		if got, want := hits(t, r, sessions.Lookup{Query: "big red house", Limit: 2}), "[2 4] 0 4"; got != want {
			t.Errorf("Lookup = %s, want %s", got, want)
		}
		same(t, "Search(big red house)", foundIn(t, r, "big red house", 4), []int64{2, 4, 3, 1})
	},
	"Search/ToTheEndOfALongMessage": func(t *testing.T, r *rig) {
		for i, words := range []string{"lorem ipsum dolor ", "東京タワー", "ab\n"} {
			r.say(t, "x:1", number("", i), user(strings.Repeat(words, 90_000)+" Zebulon pays 888"+number(" nr", i)))
		}
		same(t, "Search(Zebulon)", foundIn(t, r, "pays zebulon", 5), []int64{3, 2, 1})
		same(t, "Search(nr1 zebulon)", foundIn(t, r, "nr1 zebulon", 1), []int64{2})
	},
	// Nobody writes such a message: the index does not take all of it.
	"Search/ToAnEndOfALongListOfNumbers": func(t *testing.T, r *rig) {
		var b strings.Builder
		for i := range 140_000 {
			fmt.Fprintf(&b, "%08d ", i)
		}
		r.say(t, "x:1", "1", user("first "+b.String()+" last"))
		same(t, "Search(first)", foundIn(t, r, "first", 5), []int64{1})
		same(t, "Search(00130000)", foundIn(t, r, "00130000", 5), []int64{1})
		same(t, "Search(last)", foundIn(t, r, "last", 5), nil)
	},
	// Korean attaches particles to the ends of words.
	"Search/WordsWithParticles": func(t *testing.T, r *rig) {
		r.say(t, "x:1", "1", user("가격은 오천원입니다"), user("가방"), user("prices"))
		for q, want := range map[string][]int64{"가격": {1}, "가격은": {1}, "오천원 가격": {1}, "가": {2, 1}, "격": nil, "가격이": nil, "price": nil} {
			same(t, "Search("+q+")", foundIn(t, r, q, 5), want)
		}
	},
}
