package people_test

import (
	"context"
	"strings"
	"testing"

	"dragoman/internal/people"
)

// TestScopesIncludeTheOnesBefore: each scope allows what stands before it and
// nothing after it; an unknown word allows nothing and is allowed by nothing.
func TestScopesIncludeTheOnesBefore(t *testing.T) {
	all := people.Scopes()
	for i, mine := range all {
		for j, wanted := range all {
			if got := mine.Includes(wanted); got != (i >= j) {
				t.Errorf("%s.Includes(%s) = %v, want %v", mine, wanted, got, i >= j)
			}
		}
	}
	for _, s := range []people.Scope{"", "root", "Admin"} {
		if s.Includes(people.Chat) || s.Includes(s) || people.Admin.Includes(s) {
			t.Errorf("the scope %q includes something or is included", s)
		}
	}
}

func TestParseScope(t *testing.T) {
	for word, want := range map[string]people.Scope{"chat": people.Chat, " Operate\n": people.Operate, "ADMIN": people.Admin} {
		if got, err := people.ParseScope(word); err != nil || got != want {
			t.Errorf("ParseScope(%q) = %q, %v, want %q", word, got, err, want)
		}
	}
	for _, word := range []string{"", "write", "read,admin"} {
		got, err := people.ParseScope(word)
		if err == nil {
			t.Errorf("ParseScope(%q) = %q, want an error", word, got)
			continue
		}
		if want := "take chat, read, operate or admin"; !strings.HasSuffix(err.Error(), want) {
			t.Errorf("ParseScope(%q) = %v, want %q at its end", word, err, want)
		}
	}
}

// TestNobodyMayNothing: a context without a principal, a principal without a
// person and one without a scope are refused everything.
func TestNobodyMayNothing(t *testing.T) {
	if p, found := people.From(context.Background()); found || p.May(people.Chat) {
		t.Errorf("From(an empty context) = %+v, %v", p, found)
	}
	if p := (people.Principal{Scope: people.Admin}); p.May(people.Chat) {
		t.Error("a principal without a person may chat")
	}
	if p := (people.Principal{ID: people.OperatorID}); p.May(people.Chat) {
		t.Error("a principal without a scope may chat")
	}
	want := people.Principal{ID: "telegram:42", Name: "Ann", Scope: people.Read, Token: "laptop"}
	got, found := people.From(people.With(context.Background(), want))
	if !found || got != want || !got.May(people.Read) || got.May(people.Operate) {
		t.Errorf("From(With(%+v)) = %+v, %v", want, got, found)
	}
}
