package file_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/file"
)

func recall(t *testing.T, s *engine.Store, scope string) (texts []string) {
	t.Helper()
	facts, err := s.Recall(t.Context(), scope, "", 100)
	must(t, err)
	for _, f := range facts {
		texts = append(texts, f.Text)
	}
	return texts
}

// Facts are what they were after a crash, and if the rows are lost: what was
// forgotten, and what was remembered after that, in one scope and beside it.
func TestForgottenStaysForgotten(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	ctx := t.Context()
	ids := map[string]int64{}
	remember := func(scope, text string) {
		f, err := s.Remember(ctx, scope, sessions.NewFact{Text: text})
		must(t, err)
		ids[text] = f.ID
	}
	for _, text := range []string{"one", "two", "three"} {
		remember("a", text)
		remember("b", text+" b")
		remember("c", text+" c")
	}
	must(t, file.Flush(s))
	remember("a", "four")
	must(t, s.Forget(ctx, "a", ids["two"]))
	must(t, s.Forget(ctx, "a", ids["four"]))
	remember("a", "two")
	left := p.crash(t)
	must(t, s.Close())
	must(t, os.Remove(p.path("rows.db")))
	for when, p := range map[string]*place{"after a crash": left, "without rows": p} {
		again := p.open(t)
		for scope, want := range map[string][]string{"a": {"two", "three", "one"}, "b": {"three b", "two b", "one b"}, "c": {"three c", "two c", "one c"}} {
			if diff := cmp.Diff(want, recall(t, again, scope)); diff != "" {
				t.Errorf("%s the facts of %s differ:\n%s", when, scope, diff)
			}
		}
	}
}

// A scope that is forgotten as a whole is, where the process died before what
// an erasure took away was out of the files.
func TestForgottenScopeIsMerged(t *testing.T) {
	fact := func(scope string, id int64) sessions.FactRecord {
		return sessions.FactRecord{Scope: scope, Fact: sessions.Fact{ID: id, Text: fmt.Sprint(scope, id)}}
	}
	list := func(f ...sessions.FactRecord) file.Common { return file.Common{Facts: f} }
	changed := fact("b", 4)
	changed.Text = "changed"
	got := file.Merge(
		list(fact("a", 1), fact("b", 1), fact("b", 2), fact("c", 3)),
		list(fact("b", 3)),
		file.Common{Forgotten: []sessions.FactRecord{fact("b", 0), fact("c", 9)}, Facts: []sessions.FactRecord{fact("b", 2), fact("b", 4)}},
		file.Common{Forgotten: []sessions.FactRecord{fact("b", 4), fact("nobody", 0)}},
		list(fact("b", 4)),
		list(changed),
	)
	if diff := cmp.Diff([]sessions.FactRecord{fact("a", 1), fact("c", 3), fact("b", 2), changed}, got.Facts, cmpopts.EquateComparable(channels.Key{})); diff != "" {
		t.Errorf("the facts differ:\n%s", diff)
	}
}

// Former versions numbered what was set aside, and left an empty row of that
// number where it was erased.
func TestNumberedQuarantineIsMerged(t *testing.T) {
	row := func(id, msg string) file.Quarantined {
		r := sessions.QuarantineRecord{Quarantined: sessions.Quarantined{Channel: "x", ID: msg}}
		return file.Quarantined{Row: id, QuarantineRecord: r}
	}
	list := func(rows ...file.Quarantined) file.Common { return file.Common{Quarantined: rows} }
	gone := row("aside-1", "")
	gone.Dropped = true
	got := file.Merge(list(row("aside-1", "7"), row("aside-2", "8")), list(gone, row("x/9", "9")))
	again := row("x/8", "")
	again.Dropped = true
	for _, test := range []struct {
		got  file.Common
		want []file.Quarantined
	}{
		{got, []file.Quarantined{row("x/8", "8"), row("x/9", "9")}},
		{file.Merge(got, list(again)), []file.Quarantined{row("x/9", "9")}},
		{file.Merge(list(row("aside-2", "8")), list(again)), nil},
	} {
		if diff := cmp.Diff(test.want, test.got.Quarantined, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(file.Quarantined{}, "Row")); diff != "" {
			t.Errorf("what was set aside differs:\n%s", diff)
		}
	}
}
