package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
	"dragoman/sessions/sqlite/sqlitetest"
	"dragoman/sessions/storetest"

	"github.com/google/go-cmp/cmp"
)

// written puts text into a file.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// take imports path into s.
func take(t *testing.T, s *sqlitetest.Store, path string, into func(context.Context, func() (sessions.Record, error)) (sessions.Restored, error)) (sessions.Restored, error) {
	t.Helper()
	plan, err := exchange.Survey(t.Context(), path, exchange.Options{}, func(ctx context.Context, it exchange.Item) (exchange.Presence, error) {
		if _, err := s.Conversation(ctx, it.Key); err != nil {
			return exchange.Absent, nil
		}
		return exchange.Taken, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Import(t.Context(), into)
}

// Batches end where conversations do, and an interrupted import can be continued.
func TestImportInBatches(t *testing.T) {
	const many, each = 1300, 2 // a batch takes 500
	var docs []string
	for i := range many {
		docs = append(docs, fmt.Sprintf(`{"key":"x:%d","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, i))
	}
	path := written(t, "many.json", strings.Join(docs, "\n"))
	s := newStore(t)
	calls := 0
	full := errors.New("the disk is full")
	got, err := take(t, s, path, func(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error) {
		calls++
		if calls == 3 {
			return sessions.Restored{}, full
		}
		return s.Restore(ctx, next)
	})
	if !errors.Is(err, full) || got.Conversations == 0 || got.Conversations >= many {
		t.Fatalf("Import = %+v, %v, want a part of %d", got, err, many)
	}
	for i := range got.Conversations {
		if ms, err := s.Messages(t.Context(), channels.MustKey(fmt.Sprint("x:", i)), 0, 10); err != nil || len(ms) != each {
			t.Errorf("x:%d has %d messages, %v", i, len(ms), err)
		}
	}
	rest, err := take(t, s, path, s.Restore)
	if err != nil || got.Conversations+rest.Conversations != many {
		t.Errorf("Import again = %+v, %v", rest, err)
	}
	if again, err := take(t, s, path, s.Restore); err != nil || again != (sessions.Restored{}) {
		t.Errorf("Import a third time = %+v, %v", again, err)
	}
}

// An export of a whole store is imported in batches. A file in which the records of a
// conversation are not together is refused.
func TestImportEverything(t *testing.T) {
	from := newStore(t)
	storetest.Fill(t, from)
	all := encode(t, exchange.JSONL, recordsOf(t, from))
	to, calls := newStore(t), 0
	_, err := take(t, to, written(t, "all.jsonl", all), func(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error) {
		calls++
		return to.Restore(ctx, next)
	})
	if err != nil || calls != 2 {
		t.Errorf("%d batches, want 2; %v", calls, err)
	}
	if diff := cmp.Diff(all, encode(t, exchange.JSONL, recordsOf(t, to))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var heads, rest []string
	for line := range strings.Lines(all) {
		if strings.HasPrefix(line, `{"conversation"`) {
			heads = append(heads, line)
		} else {
			rest = append(rest, line)
		}
	}
	scattered := written(t, "all.jsonl", strings.Join(heads, "")+strings.Join(rest, ""))
	_, err = exchange.Survey(t.Context(), scattered, exchange.Options{}, absent)
	if !errors.Is(err, exchange.ErrFormat) || !strings.Contains(err.Error(), "do not follow one another") {
		t.Errorf("scattered records: %v", err)
	}
}

// What is there already, and what is nobody's conversation, is left out without a
// complaint: a second import of the same ends well. Another conversation under the same
// key is complained about, and so is a file that cannot be read.
func TestImportTwice(t *testing.T) {
	const talk = `{"role":"user","content":"hello"}` + "\n" + `{"role":"assistant","content":"hi"}` + "\n"
	nobot := func(key string) string { return `{"_type":"metadata","key":"` + key + `"}` + "\n" + talk }
	document := `{"key":"x:1","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`
	longer := strings.Replace(document, `"b"}`, `"b"},{"role":"user","content":"c"}`, 1)
	other := strings.Replace(document, `"b"`, `"another"`, 1)
	for name, test := range map[string]struct {
		first, second map[string]string // files of the folder
		again         map[bool]int      // of the second import: how many are left out, rightly or not
	}{
		"a document":                 {map[string]string{"a.json": document}, nil, map[bool]int{true: 1}},
		"several":                    {map[string]string{"a.json": document, "b.json": strings.Replace(document, "x:1", "x:2", 1)}, nil, map[bool]int{true: 2}},
		"with the program's own":     {map[string]string{"a.jsonl": nobot("telegram:7"), "b.jsonl": nobot("heartbeat"), "c.jsonl": nobot("cron:x")}, nil, map[bool]int{true: 3}},
		"the program's own alone":    {map[string]string{"b.jsonl": nobot("heartbeat")}, nil, map[bool]int{true: 1}},
		"it was said in other words": {map[string]string{"a.json": document}, map[string]string{"a.json": other}, map[bool]int{false: 1}},
		"it has grown there":         {map[string]string{"a.json": document}, map[string]string{"a.json": longer}, map[bool]int{false: 1}},
		"it has grown here":          {map[string]string{"a.json": longer}, map[string]string{"a.json": document}, map[bool]int{true: 1}},
		"and something else":         {map[string]string{"a.json": document}, map[string]string{"a.json": document, "b.json": `{"unknown":1}`}, map[bool]int{true: 1, false: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			survey := func(files map[string]string) *exchange.Plan {
				dir := t.TempDir()
				for name, text := range files {
					layFile(t, filepath.Join(dir, name), text)
				}
				plan, err := exchange.Survey(t.Context(), dir, exchange.Options{}, func(ctx context.Context, it exchange.Item) (exchange.Presence, error) {
					return presence(ctx, s, it)
				})
				if err != nil {
					t.Fatal(err)
				}
				return plan
			}
			if _, err := survey(test.first).Import(t.Context(), s.Restore); err != nil {
				t.Fatal(err)
			}
			second := test.second
			if second == nil {
				second = test.first
			}
			imported, left, fine := survey(second).Count()
			if imported != 0 || left != test.again[false] || fine != test.again[true] {
				t.Errorf("the second import takes %d, leaves out %d, and %d rightly; want %v", imported, left, fine, test.again)
			}
		})
	}
}

// presence is what the command says of a conversation in s.
func presence(ctx context.Context, s *sqlitetest.Store, it exchange.Item) (exchange.Presence, error) {
	has := exchange.NewHolder(it)
	found := exchange.Absent
	err := s.Dump(ctx, []channels.Key{it.Key}, func(r sessions.Record) error {
		if r.Messages != nil {
			has.Add(r.Messages.Messages)
			found = exchange.Taken
		}
		return nil
	})
	if errors.Is(err, sessions.ErrNotFound) {
		return exchange.Absent, nil
	}
	if found == exchange.Taken && has.Holds() {
		found = exchange.Same
	}
	return found, err
}
