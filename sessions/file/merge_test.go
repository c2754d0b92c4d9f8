package file_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/sessions"
	"dragoman/sessions/file"
	"dragoman/sessions/memory"
)

// restored are so many facts, occurrences and things set aside.
func restored(n int) (all []sessions.Record) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for i := range n {
		all = append(all,
			sessions.Record{Fact: &sessions.FactRecord{Scope: fmt.Sprint("person:x:", i%97), Fact: sessions.Fact{Text: fmt.Sprint("fact ", i), At: at}}},
			sessions.Record{Occurrence: &sessions.Occurrence{Job: "j", Due: at.Add(time.Duration(i) * time.Minute), Outcome: "skipped", At: at}},
			sessions.Record{Quarantined: &sessions.QuarantineRecord{Quarantined: sessions.Quarantined{Channel: "x", ID: fmt.Sprint(i), Raw: []byte("odd"), Why: "odd"}, At: at}})
	}
	return all
}

func restore(t testing.TB, s sessions.Store, all []sessions.Record) {
	t.Helper()
	_, err := s.Restore(t.Context(), func() (r sessions.Record, err error) {
		if len(all) == 0 {
			return r, io.EOF
		}
		r, all = all[0], all[1:]
		return r, nil
	})
	must(t, err)
}

func recall(t *testing.T, s sessions.Store, scope string) (texts []string) {
	t.Helper()
	facts, err := s.Recall(t.Context(), scope, "", 100)
	must(t, err)
	for _, f := range facts {
		texts = append(texts, f.Text)
	}
	return texts
}

// What the log says of facts is brought in in its order: what was forgotten,
// and what was remembered after that, in one scope and beside it.
func TestForgottenIsReplayed(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	ctx := t.Context()
	ids := map[string]int64{}
	remember := func(scope, text string) {
		f, err := s.Remember(ctx, scope, text)
		must(t, err)
		ids[text] = f.ID
	}
	for _, text := range []string{"one", "two", "three"} {
		remember("a", text)
		remember("b", text+" b")
		remember("c", text+" c")
	}
	must(t, file.Checkpoint(s)) // these are in the file, and what follows is in the log
	remember("a", "four")
	must(t, s.Forget(ctx, "a", ids["two"]))
	must(t, s.Forget(ctx, "a", ids["four"]))
	remember("a", "two")
	left := p.crash(t)
	again := left.open(t)
	for scope, want := range map[string][]string{"a": {"two", "three", "one"}, "b": {"three b", "two b", "one b"}, "c": {"three c", "two c", "one c"}} {
		if diff := cmp.Diff(want, recall(t, again, scope)); diff != "" {
			t.Errorf("after a crash the facts of %s differ:\n%s", scope, diff)
		}
	}
	must(t, s.Close())
	must(t, again.Close())
}

// A scope that is forgotten as a whole is, where the process died before what
// an erasure took away was out of the files.
func TestForgottenScopeIsMerged(t *testing.T) {
	fact := func(scope string, id int64) sessions.FactRecord {
		return sessions.FactRecord{Scope: scope, Fact: sessions.Fact{ID: id, Text: fmt.Sprint(scope, id)}}
	}
	list := func(f ...sessions.FactRecord) memory.Common { return memory.Common{Facts: f} }
	changed := fact("b", 4)
	changed.Text = "changed"
	got := file.Merge(
		list(fact("a", 1), fact("b", 1), fact("b", 2), fact("c", 3)),
		list(fact("b", 3)),
		memory.Common{Forgotten: []memory.Forgotten{{Scope: "b"}, {Scope: "c", ID: 9}}, Facts: []sessions.FactRecord{fact("b", 2), fact("b", 4)}},
		memory.Common{Forgotten: []memory.Forgotten{{Scope: "b", ID: 4}, {Scope: "nobody"}}},
		list(fact("b", 4)),
		list(changed),
	)
	if diff := cmp.Diff([]sessions.FactRecord{fact("a", 1), fact("b", 2), changed, fact("c", 3)}, got.Facts); diff != "" {
		t.Errorf("the facts differ:\n%s", diff)
	}
}

// Former versions numbered what was set aside, and left an empty row of that
// number where it was erased.
func TestNumberedQuarantineIsMerged(t *testing.T) {
	row := func(id, msg string) memory.QuarantineRow {
		r := sessions.QuarantineRecord{Quarantined: sessions.Quarantined{Channel: "x", ID: msg}}
		return memory.QuarantineRow{ID: id, QuarantineRecord: r}
	}
	list := func(rows ...memory.QuarantineRow) memory.Common { return memory.Common{Quarantined: rows} }
	gone := row("aside-1", "")
	gone.Dropped = true
	got := file.Merge(list(row("aside-1", "7"), row("aside-2", "8")), list(gone, row("x/9", "9")))
	again := row("x/8", "")
	again.Dropped = true
	for _, test := range []struct {
		got  memory.Common
		want []memory.QuarantineRow
	}{
		{got, []memory.QuarantineRow{row("x/8", "8"), row("x/9", "9")}},
		{file.Merge(got, list(again)), []memory.QuarantineRow{row("x/9", "9")}},
		{file.Merge(list(row("aside-2", "8")), list(again)), nil},
	} {
		if diff := cmp.Diff(test.want, test.got.Quarantined); diff != "" {
			t.Errorf("what was set aside differs:\n%s", diff)
		}
	}
}

// BenchmarkReplayRestored is a start after a kill that came behind the restore
// of so many facts, occurrences and things set aside.
func BenchmarkReplayRestored(b *testing.B) {
	for _, n := range []int{5_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			s, err := file.Open(b.Context(), dir, file.Options{})
			must(b, err)
			restore(b, s, restored(n))
			for b.Loop() {
				b.StopTimer()
				left := filepath.Join(b.TempDir(), "left")
				must(b, os.CopyFS(left, os.DirFS(dir)))
				b.StartTimer()
				again, err := file.Open(b.Context(), left, file.Options{})
				must(b, err)
				must(b, again.Wait(b.Context()))
				b.StopTimer()
				must(b, again.Close())
				b.StartTimer()
			}
			must(b, s.Close())
		})
	}
}
