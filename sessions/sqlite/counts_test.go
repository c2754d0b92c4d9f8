package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strconv"
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
	count := func(rounds int) {
		t.Helper()
		for range rounds {
			var add []sessions.Count
			for i, owner := range owners {
				for day := range int64(40) {
					n := day + int64(i)
					add = append(add, sessions.Count{Kind: "used", Owner: owner, Day: strconv.FormatInt(20260600+day%30+1, 10), N: n})
					want[owner] += n
				}
			}
			if err := s.Count(t.Context(), add...); err != nil {
				t.Fatal(err)
			}
		}
	}
	count(60) // 9000 additions, because two of a commit to one sum are one: they are moved once
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
		n, err := s.Sum(t.Context(), "used", owners[2], "20260601", "20260630")
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
	count(55) // with those of the former process they are moved again
	check("after those of a former process were moved")
	if err := sqlite.FailFolded(s); err == nil {
		t.Fatal("the transaction did not fail")
	}
	count(60)
	check("after they were moved in vain")
	if _, err := s.Erase(t.Context(), sessions.Erasure{Owners: owners[1:2]}); err != nil {
		t.Fatal(err)
	}
	delete(want, owners[1])
	check("after an owner was erased")
	list, err := s.Sums(t.Context(), sessions.SumFilter{Owner: owners[0]})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].N = -list[i].N
	}
	if err := s.Count(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
	delete(want, owners[0])
	check("after sums became zero")
	owners = owners[1:]
	count(80)
	check("after they were moved")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	zero := 0
	if err := db.QueryRow(`SELECT count(*) FROM counts WHERE n = 0`).Scan(&zero); err != nil || zero > 0 {
		t.Errorf("%d sums are zero (%v)", zero, err)
	}
}
