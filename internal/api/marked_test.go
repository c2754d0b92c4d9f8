package api_test

import (
	"testing"
	"unicode/utf16"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// A page cuts the words of a hit out of the content as JavaScript counts it.
func TestMarksCountAsJavaScriptDoes(t *testing.T) {
	s := sqlitetest.Open(t, now)
	entry := sessions.Entry{
		Inbound: channels.Inbound{Key: annsTalk, ID: "1", Text: "x"}, Answered: true,
		Append: []sessions.Message{{Role: sessions.RoleUser, Content: "👋🏽 the Fox é and\nFOX"}},
	}
	if _, err := s.Accept(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	c := api.InProcess(api.New(optionsOf(s)))
	defer c.Close()
	found, err := api.SearchAll.Call(t.Context(), c, api.Search{Query: "fox é"})
	if err != nil || len(found.Data) != 1 {
		t.Fatalf("SearchAll = %v, %v, want one hit", found, err)
	}
	units := utf16.Encode([]rune(found.Data[0].Message.Content))
	var got []string
	for _, m := range found.Data[0].Marks {
		got = append(got, string(utf16.Decode(units[m.Start:m.Start+m.Length])))
	}
	if len(got) != 3 || got[0] != "Fox" || got[1] != "é" || got[2] != "FOX" {
		t.Errorf("the marks are %q", got)
	}
}
