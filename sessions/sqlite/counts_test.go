package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// Sums are the same before and after additions were moved, after a restart, and whatever
// their owners are called.
func TestSumsOfAdditions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dragoman.db")
	s := openFile(t, path, sqlite.Options{})
	owners := []string{"x:42", "a b", `say "hi" \`, "é\n", "chat:irc:#go"}
	want := map[string]int64{}
	for round := range int64(1000) { // 5000 additions: they are moved once
		var add []sessions.Count
		for i, owner := range owners {
			n := round + int64(i)
			add = append(add, sessions.Count{Kind: "used", Owner: owner, Day: "20260601", N: n})
			want[owner] += n
		}
		if err := s.Count(t.Context(), add...); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		t.Helper()
		list, err := s.Sums(t.Context(), sessions.SumFilter{Kind: "used"})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, c := range list {
			got[c.Owner] += c.N
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		n, err := s.Sum(t.Context(), "used", owners[2], "20260601", "20260601")
		if err != nil || n != want[owners[2]] {
			t.Errorf("%s Sum = %d, %v, want %d", when, n, err, want[owners[2]])
		}
	}
	check("before a restart")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openFile(t, path, sqlite.Options{})
	check("after a restart")
	if _, err := s.Erase(t.Context(), sessions.Erasure{Owners: owners[1:2]}); err != nil {
		t.Fatal(err)
	}
	delete(want, owners[1])
	check("after an owner was erased")
	if err := s.Count(t.Context(), sessions.Count{Kind: "used", Owner: owners[0], Day: "20260601", N: -want[owners[0]]}); err != nil {
		t.Fatal(err)
	}
	delete(want, owners[0])
	check("after a sum became zero")
}
