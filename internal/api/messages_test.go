package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// Parts of a transcript are bounded by seqs and by times, and read from the
// beginning or from the end.
func TestPartsOfATranscript(t *testing.T) {
	s, k := sqlitetest.Open(t, now), channels.MustKey("telegram:1")
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	for i := range 6 {
		m := sessions.Message{Role: sessions.RoleUser, Content: "word", At: day(1 + i)}
		if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: fmt.Sprint(i)}, Answered: true, Append: []sessions.Message{m, m}}); err != nil {
			t.Fatal(err)
		}
	}
	clients(t, func() api.Options { return optionsOf(s) }, func(t *testing.T, c *api.Client) {
		for _, tt := range []struct {
			after, before string
			limit         int
			want          string
		}{
			{"", "", 3, "[10 11 12]"},
			{"0", "", 3, "[1 2 3]"},
			{"4", "", 3, "[5 6 7]"},
			{"11", "", 3, "[12]"},
			{"12", "", 3, "[]"},
			{"", "7", 3, "[4 5 6]"},
			{"", "2", 3, "[1]"},
			{"", "1", 3, "[]"},
			{"", "0", 3, "[]"},
			{"", "13", 3, "[10 11 12]"},
			{"", "9223372036854775807", 3, "[10 11 12]"},
			{"9", "12", 9, "[10 11]"},
			{"9", "3", 9, "[]"},
			{"2026-01-03T00:00:00Z", "", 3, "[5 6 7]"},
			{"2026-01-02T01:00:00+01:00", "", 1, "[3]"},
			{"2025-01-01T00:00:00Z", "", 1, "[1]"},
			{"2027-01-01T00:00:00Z", "", 1, "[]"},
			{"", "2026-01-03T00:00:00Z", 3, "[2 3 4]"},
			{"", "2026-01-03T00:00:00.5Z", 3, "[4 5 6]"},
			{"", "2025-01-01T00:00:00Z", 3, "[]"},
			{"", "2027-01-01T00:00:00Z", 2, "[11 12]"},
			{"2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", 9, "[3 4]"},
		} {
			page, err := api.ReadMessages.Call(t.Context(), c, api.Part{Key: k, Limit: tt.limit, After: tt.after, Before: tt.before})
			if err != nil {
				t.Fatal(err)
			}
			seqs := []int64{}
			for _, m := range page.Data {
				seqs = append(seqs, m.Seq)
			}
			if got := fmt.Sprint(seqs); got != tt.want {
				t.Errorf("%d after %q before %q = %s, want %s", tt.limit, tt.after, tt.before, got, tt.want)
			}
		}
		for _, b := range []api.Part{{After: "soon"}, {Before: "-1"}, {After: "2026-01-02"}} {
			b.Key = k
			if _, err := api.ReadMessages.Call(t.Context(), c, b); err == nil || !strings.Contains(err.Error(), "neither the number of a message nor a time") {
				t.Errorf("%+v: %v", b, err)
			}
		}
		if none, err := api.ReadMessages.Call(t.Context(), c, api.Part{Key: channels.MustKey("telegram:2"), Limit: 3, Before: "2027-01-01T00:00:00Z"}); err != nil || len(none.Data) != 0 {
			t.Errorf("of no conversation: %v, %v", none, err)
		}
		testMessagePages(t, c, k)
		testSearchPages(t, c, k, day)
	})
}

// Pages go on with the next of the page before, in both directions.
func testMessagePages(t *testing.T, c *api.Client, k channels.Key) {
	for _, tt := range []struct {
		first api.Part
		want  string
	}{
		{api.Part{After: "0", Limit: 5}, "[1 2 3 4 5 6 7 8 9 10 11 12]"},
		{api.Part{After: "0", Limit: 6}, "[1 2 3 4 5 6 7 8 9 10 11 12]"},
		{api.Part{Limit: 5}, "[8 9 10 11 12 3 4 5 6 7 1 2]"},
		{api.Part{Limit: 6}, "[7 8 9 10 11 12 1 2 3 4 5 6]"},
	} {
		var seqs []int64
		part := tt.first
		part.Key = k
		for {
			page, err := api.ReadMessages.Call(t.Context(), c, part)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page.Data {
				seqs = append(seqs, m.Seq)
			}
			if page.Next == "" {
				break
			}
			if part.After == "" {
				part.Before = page.Next
			} else {
				part.After = page.Next
			}
		}
		if got := fmt.Sprint(seqs); got != tt.want {
			t.Errorf("pages from %+v have %s, want %s", tt.first, got, tt.want)
		}
	}
}

func testSearchPages(t *testing.T, c *api.Client, k channels.Key, day func(int) time.Time) {
	var seqs []int64
	search := api.Search{Query: "word", Key: k, From: day(2), To: day(5), Limit: 4}
	for {
		page, err := api.SearchAll.Call(t.Context(), c, search)
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range page.Data {
			seqs = append(seqs, hit.Message.Seq)
		}
		if page.Next == "" {
			break
		}
		search.After = page.Next
	}
	if got := fmt.Sprint(seqs); got != "[8 7 6 5 4 3]" {
		t.Errorf("a search in pages finds %s", got)
	}
}

// A program sees whose words a message is.
func TestOriginsAreShown(t *testing.T) {
	s, k := sqlitetest.Open(t, now), channels.MustKey("telegram:1")
	page := sessions.Message{Role: sessions.RoleTool, Name: "web_fetch", Content: "buy", Origins: []sessions.Origin{sessions.OriginWeb}}
	if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: "1"}, Answered: true, Append: []sessions.Message{page}}); err != nil {
		t.Fatal(err)
	}
	clients(t, func() api.Options { return optionsOf(s) }, func(t *testing.T, c *api.Client) {
		messages, err := api.ReadMessages.Call(t.Context(), c, api.Part{Key: k, Limit: 3})
		if err != nil || len(messages.Data) != 1 || !slices.Equal(messages.Data[0].Origins, page.Origins) {
			t.Errorf("the messages are %+v, %v; want one from the web", messages.Data, err)
		}
	})
}
