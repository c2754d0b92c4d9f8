package tools_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// chat is a conversation in a store, and the tool that searches it.
type chat struct {
	*sqlitetest.Store
	t    *testing.T
	key  channels.Key
	tool agent.Tool
	seq  int
}

func newChat(t *testing.T) *chat {
	store := sqlitetest.Open(t, nil)
	t.Cleanup(func() { ok(t, store.Close()) })
	return &chat{Store: store, t: t, key: channels.MustKey("telegram:7"), tool: tools.SearchHistory(store)}
}

func (c *chat) say(messages ...sessions.Message) {
	c.t.Helper()
	c.seq += len(messages)
	ok(c.t, second(c.Accept(c.t.Context(), sessions.Entry{
		Inbound: channels.Inbound{Key: c.key, ID: fmt.Sprint(c.seq), Text: "x"}, Answered: true, Append: messages,
	})))
}

func (c *chat) user(text string) { c.say(sessions.Message{Role: sessions.RoleUser, Content: text}) }

// summarize takes everything up to now out of view.
func (c *chat) summarize() {
	c.t.Helper()
	h, err := c.History(c.t.Context(), c.key, sessions.HistoryLimit{Messages: 1})
	ok(c.t, err)
	ok(c.t, c.AddSummary(c.t.Context(), c.key, sessions.Summary{Text: "they talked", CoversSeq: int64(c.seq), Generation: h.Generation}))
}

var messageLine = regexp.MustCompile(`(?m)^\[message (\d+),`)

// search returns the tool's result, and the numbers of the messages in it.
func (c *chat) search(args m) (result, numbers string) {
	c.t.Helper()
	result = must(c.t, c.tool, args)
	var all []string
	for _, found := range messageLine.FindAllStringSubmatch(result, -1) {
		all = append(all, found[1])
	}
	return result, strings.Join(all, " ")
}

// ask runs a turn that searches for query and answers with the result.
func (c *chat) ask(query string) (result string) {
	c.t.Helper()
	result, _ = c.search(m{"query": query})
	call := sessions.ToolCall{ID: fmt.Sprint("c", c.seq), Name: "search_history", Arguments: `{"query":"` + query + `"}`}
	c.say(
		sessions.Message{Role: sessions.RoleUser, Content: "how much is it? say the " + query},
		sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call}},
		sessions.Message{Role: sessions.RoleTool, Name: "search_history", ToolCallID: call.ID, Content: result},
		sessions.Message{Role: sessions.RoleAssistant, Content: "I looked for the " + query + "."},
	)
	return result
}

// A question that is repeated in the same words has all words of the search, and the
// fact that it asks for perhaps one. The fact is still found.
func TestSearchHistoryOfARepeatedQuestion(t *testing.T) {
	c := newChat(t)
	c.user("CompanyB offers the seats at $129.50 a month")
	for i := range 20 {
		c.user("What was the price of CompanyB?")
		c.say(sessions.Message{Role: sessions.RoleAssistant, Content: "I do not know the price of CompanyB."})
		if i%3 == 0 {
			c.summarize()
		}
		result, numbers := c.search(m{"query": "price CompanyB"})
		if !strings.Contains(result, "$129.50") || strings.Count(numbers, " ") > 4 {
			t.Fatalf("after %d questions the search finds\n%s", i+1, result)
		}
	}
}

// The results of earlier searches do not crowd out others, whether they are in view
// or summarised.
func TestSearchHistoryOftenAsked(t *testing.T) {
	for name, every := range map[string]int{"no more summaries": 100, "a summary every third time": 3, "always a summary": 1} {
		t.Run(name, func(t *testing.T) {
			c := newChat(t)
			c.user("CompanyB wants a price of $129.50")
			c.summarize()
			for i := range 15 {
				result := c.ask("CompanyB price")
				if !strings.Contains(result, "[message 1, ") || strings.Count(result, "129.50") != 1 {
					t.Fatalf("search %d = %s\nwant the price, once", i+1, result)
				}
				if i%every == every-1 {
					c.summarize()
				}
			}
		})
	}
}

// Messages out of view get most places; those in view get a quarter, or what is left.
func TestSearchHistoryOutOfView(t *testing.T) {
	c := newChat(t)
	for i := range 3 {
		c.user(fmt.Sprint("the landlord, part ", i))
	}
	c.summarize()
	for i := range 10 {
		c.user(fmt.Sprint("the landlord's deposit, part ", i))
	}
	for name, tt := range map[string]struct {
		args m
		want string
	}{
		"eight":   {m{"query": "landlord deposit"}, "3 2 1 13 12 11 10 4"},
		"four":    {m{"query": "landlord deposit", "limit": 4}, "3 2 1 13"},
		"one":     {m{"query": "landlord deposit", "limit": 1}, "3"},
		"in view": {m{"query": "deposit"}, "13 12 11 10 9 8 4 5"},
	} {
		if result, got := c.search(tt.args); got != tt.want {
			t.Errorf("%s: search = %s, want %s:\n%s", name, got, tt.want, result)
		}
	}
	c.say(sessions.Message{Role: sessions.RoleTool, Name: "read_file", Content: "one more landlord"})
	ok(t, second(c.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: c.key, ID: "new", Text: "/new"}, Answered: true, Control: sessions.ControlNew})))
	c.user("a deposit, landlord")
	if result, got := c.search(m{"query": "landlord deposit", "limit": 4}); got != "13 12 11 15" {
		t.Errorf("after /new: search = %s:\n%s", got, result)
	}
}

// Nine later messages with all words do not hide the oldest, and the result says how
// to read those between.
func TestSearchHistoryReadsOn(t *testing.T) {
	c := newChat(t)
	c.user("The landlord wants a deposit of 1850")
	for i := range 20 {
		c.user(fmt.Sprintf("I spoke with the landlord about the deposit again, part %d", i))
	}
	c.summarize()
	result, got := c.search(m{"query": "landlord deposit"})
	if got != "21 20 19 18 17 16 1 2" || !strings.Contains(result, "1850") {
		t.Errorf("search = %s, want the newest six and the oldest two:\n%s", got, result)
	}
	on := regexp.MustCompile(`\[(\d+) more messages? with all of these words: search again with "before": (\d+) to read on\]`)
	var seen []string
	for range 20 {
		seen = append(seen, strings.Fields(got)...)
		next := on.FindStringSubmatch(result)
		if next == nil {
			break
		}
		result, got = c.search(m{"query": "landlord deposit", "before": next[2]})
	}
	slices.Sort(seen)
	if all := slices.Compact(seen); len(all) != 21 {
		t.Errorf("reading on shows %d messages, want all 21: %v", len(all), all)
	}
	if result, _ := c.search(m{"query": "landlord deposit", "before": 1}); result != "[nothing was found before message 1]" {
		t.Errorf("before the first: %q", result)
	}
	if result, got := c.search(m{"query": "landlord 1850 spoke", "limit": 2}); got != "21 20" || !strings.Contains(result, "[19 more messages with only some of these words: search for fewer words to read them]") {
		t.Errorf("some of the words: %s\n%s", got, result)
	}
	refuse(t, c.tool, m{"query": "deposit", "before": -1}, "before is the number of a message")
}

// The end of a long message is found, and the excerpt is the part with most of the
// words.
func TestSearchHistoryInALongMessage(t *testing.T) {
	c := newChat(t)
	c.user("Zebulon wrote: " + strings.Repeat("lorem ipsum dolor ", 4500) + " Zebulon pays $888. " + strings.Repeat("lorem ipsum ", 700))
	c.user(strings.Repeat("世界 ", 50_000) + "İstanbul ΚΡΉΤΗ price 777" + strings.Repeat(" 世界", 9_000))
	c.summarize()
	for query, want := range map[string]string{"what pays Zebulon": "Zebulon pays $888.", "$888": "Zebulon pays $888.", "κρήτη price": "ΚΡΉΤΗ price 777"} {
		if result, _ := c.search(m{"query": query}); !strings.Contains(result, want) || len(result) > 4000 {
			t.Errorf("search for %q = %.1000s, want %q", query, result, want)
		}
	}
}

// A search brings back whose words it found.
func TestSearchInherits(t *testing.T) {
	c := newChat(t)
	c.say(
		sessions.Message{Role: sessions.RoleUser, Content: "green tea", Sender: "7"},
		sessions.Message{Role: sessions.RoleUser, Content: "red tea", Sender: "8"},
		sessions.Message{Role: sessions.RoleUser, Content: "forwarded milk", Sender: "7", Origins: []sessions.Origin{sessions.OriginOthers}},
		sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "web_fetch", Arguments: "{}"}}},
		sessions.Message{Role: sessions.RoleTool, Name: "web_fetch", ToolCallID: "a", Content: "buy coffee", Origins: []sessions.Origin{sessions.OriginWeb}},
	)
	for _, test := range []struct {
		query   string
		private bool
		want    []sessions.Origin
	}{
		{"green", true, nil},
		{"green", false, nil},
		{"red", true, nil},
		{"red", false, []sessions.Origin{"others"}},
		{"milk", true, []sessions.Origin{"others"}},
		{"coffee", true, []sessions.Origin{"web"}},
		{"tea coffee", false, []sessions.Origin{"others", "web"}},
		{"nothing", true, nil},
	} {
		var found sessions.Taint
		call := place{"telegram:7", "7", test.private}.call(fmt.Sprintf(`{"query":%q}`, test.query))
		call.Found = &found
		text, err := c.tool.Run(t.Context(), call)
		ok(t, err)
		if got := found.List(); !slices.Equal(got, test.want) {
			t.Errorf("%q, private %v: %v, want %v:\n%s", test.query, test.private, got, test.want, text)
		}
	}
}
