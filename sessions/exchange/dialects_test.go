package exchange_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// TestMolf: results belong to their calls, and Molf's summary covers all but the four
// turns that Molf did not summarise.
func TestMolf(t *testing.T) {
	const file = "molf/5f0e8a52-3c1d-4c7e-9a64-0d1b2c3d4e5f.json"
	c, notes := one(t, file, exchange.Options{})
	if c.Key.String() != "import:5f0e8a52-3c1d-4c7e-9a64-0d1b2c3d4e5f" || c.Title != "Files" || !c.Created.Equal(at("2026-01-01T10:00:00Z")) || len(c.messages) != 15 {
		t.Fatalf("got %s, %q of %s with %d messages", c.Key, c.Title, c.Created, len(c.messages))
	}
	same(t, "the calls", c.messages[1].ToolCalls, []sessions.ToolCall{
		{ID: "c1", Name: "glob", Arguments: `{"pattern":"*"}`}, {ID: "c2", Name: "read_file", Arguments: `{"path":"a"}`},
	})
	if r := c.messages[3]; r.Role != sessions.RoleTool || r.ToolCallID != "c2" || r.Name != "read_file" || r.Content != "hello" {
		t.Errorf("the second result is %+v", r)
	}
	same(t, "the summaries", c.Summaries, []sessions.Summary{{Text: "## Goal\nTo know the files.", CoversSeq: 5, At: c.Updated}})
	same(t, "the first that is not summarised", c.messages[5].Content, "Question 2")
	same(t, "the usage", c.messages[1].Usage, &sessions.Usage{Input: 120, Output: 30, Cached: 100})
	same(t, "the notes", notes, []string{
		"message 15 is a summary of the messages before it, and became the conversation's summary",
		"message 16 names files, which are not copied",
	})
	if got := open(t, file, exchange.Options{}); write(t, got, exchange.JSON) == "" || got.Format() != exchange.Molf {
		t.Errorf("the format is %s", got.Format())
	}
}

// absent is a store that has nothing.
func absent(context.Context, exchange.Item) (exchange.Presence, error) { return exchange.Absent, nil }

// survey plans the import of a folder.
func survey(t *testing.T, folder string) *exchange.Plan {
	t.Helper()
	p, err := exchange.Survey(t.Context(), "testdata/"+folder, exchange.Options{}, absent)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTerrariumFolder: one import takes all files, with keys from the names that Terrarium
// and its guide give them.
func TestTerrariumFolder(t *testing.T) {
	p := survey(t, "terrarium")
	var got []string
	for _, it := range p.Items {
		got = append(got, string(it.Format)+" "+it.Key.String()+it.LeftOut)
	}
	same(t, "the conversations", got, []string{"terrarium irc:#python", "terrarium irc:#go", "terrarium import:my_notes", "terrarium web:7"})
	same(t, "the number of files", p.Files, 4)
	c, _ := one(t, "terrarium/web_7.json", exchange.Options{Key: channels.MustKey("telegram:7")})
	if c.Key.String() != "telegram:7" || c.Settings.System != "You are a helpful IRC bot." || !c.messages[0].At.Equal(at("2026-01-02T10:00:00.123456Z")) {
		t.Errorf("got %s, %q, the first message at %s", c.Key, c.Settings.System, c.messages[0].At)
	}
}

func TestSentinel(t *testing.T) {
	p := survey(t, "sentinel")
	if len(p.Items) != 1 || p.Items[0].Format != exchange.Sentinel || p.Items[0].Calls != 2 || p.Items[0].Messages != 8 || len(p.Notes) != 0 {
		t.Fatalf("the folder holds %+v, %q", p.Items, p.Notes)
	}
	c, _ := one(t, "sentinel/trip/messages.jsonl", exchange.Options{})
	if c.Key.String() != "import:trip" || c.Title != "Rome" || !c.Created.Equal(at("2026-01-01T10:00:01Z")) {
		t.Errorf("got %s, %q of %s", c.Key, c.Title, c.Created)
	}
	same(t, "the summaries", c.Summaries, []sessions.Summary{{Text: "They ask for the weather.", CoversSeq: 5, At: at("2026-01-01T10:00:09Z")}})
	same(t, "both calls of one answer", c.messages[1].ToolCalls, []sessions.ToolCall{
		{ID: "c1", Name: "weather", Arguments: `{"city":"Rome"}`}, {ID: "c2", Name: "weather", Arguments: `{"city":"Oslo"}`},
	})
	same(t, "the usage", c.messages[4].Usage, &sessions.Usage{Input: 200, Output: 20, Cached: 50})
	var said []string
	for _, m := range c.messages {
		said = append(said, string(m.Role)+" "+m.ToolCallID+" "+m.Content)
	}
	same(t, "the messages", said, []string{
		"user  Weather in Rome and Oslo?", "assistant  ", "tool c1 21 °C", "tool c2 timeout", "assistant  21 °C in Rome.",
		"user  Thanks", `assistant  {"text":"You are welcome."}`, "assistant  Bye.",
	})
	if c.messages[2].Failed || !c.messages[3].Failed || c.messages[3].Turn != "r1" {
		t.Errorf("the results are %+v and %+v", c.messages[2], c.messages[3])
	}
	_, _, err := readRecords(strings.NewReader(`{"messageType":"RETRY","content":"x"}`), exchange.Options{})
	if !errors.Is(err, exchange.ErrFormat) || !strings.Contains(err.Error(), `"RETRY"`) {
		t.Errorf("an unknown kind of message: %v", err)
	}
}

// TestTokensAreCounted: the usage that other programs note is in the counts of the store.
func TestTokensAreCounted(t *testing.T) {
	s := newStore(t)
	for usage, want := range map[string]sessions.Usage{
		`{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3}}`: {Input: 7, Output: 2, Cached: 3},
		`{"input_tokens":7,"output_tokens":2}`:                                                  {Input: 7, Output: 2},
		`{"input":7,"output":2}`:                                                                {Input: 7, Output: 2},
		`{"prompt_tokens":-7,"completion_tokens":"two"}`:                                        {},
		`null`: {},
	} {
		path := written(t, "old.json", `{"key":"x:y","messages":[{"role":"assistant","content":"a","usage":`+usage+`}]}`)
		if _, err := take(t, s, path, s.Restore); err != nil {
			t.Fatal(err)
		}
		c, err := s.Conversation(t.Context(), channels.MustKey("x:y"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, usage, c.Usage, want)
		if err := s.Delete(t.Context(), channels.MustKey("x:y")); err != nil {
			t.Fatal(err)
		}
	}
}
