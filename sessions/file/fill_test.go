package file_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/testkit"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/file"
)

func key(s string) channels.Key { return channels.MustKey(s) }

func in(k, id, text string) channels.Inbound {
	return channels.Inbound{Key: key(k), ID: id, MessageID: "m" + id, Sender: channels.Person{IDs: []string{"42"}, Name: "alice"}, Text: text, At: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
}

// say puts a message into a transcript.
func say(t testing.TB, s *engine.Store, k, id, text string) {
	t.Helper()
	m := sessions.Message{Role: sessions.RoleUser, Content: text, Usage: &sessions.Usage{Input: 1}}
	a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in(k, id, "/x"), Answered: true, Append: []sessions.Message{m}})
	if err != nil || a.Outcome != sessions.Done {
		t.Fatalf("Accept = %+v, %v", a, err)
	}
}

// fill puts something of everything into s, open things included.
func fill(t *testing.T, s *engine.Store) {
	t.Helper()
	ctx := t.Context()
	for i := range 300 {
		say(t, s, "x:long", fmt.Sprint("l", i), fmt.Sprint("message ", i))
	}
	say(t, s, "x:new", "n1", "before")
	_, err := s.Accept(ctx, sessions.Entry{Inbound: in("x:new", "n2", "/new"), Answered: true, Control: sessions.ControlNew})
	must(t, err)
	say(t, s, "x:new", "n3", "after one")
	say(t, s, "x:new", "n4", "after two")
	h, err := s.History(ctx, key("x:new"), sessions.HistoryLimit{})
	must(t, err)
	must(t, s.AddSummary(ctx, key("x:new"), sessions.Summary{Text: "sum", CoversSeq: 2, Generation: h.Generation}))
	must(t, s.Rename(ctx, key("x:new"), "title"))
	must(t, s.Configure(ctx, key("x:set"), func(set *sessions.Settings) error {
		set.Model = "m"
		set.Tags = []string{"t"}
		set.Metadata = map[string]json.RawMessage{"who": json.RawMessage(`{"id":[1,"<2>"]}`)}
		return nil
	}))
	call := sessions.Message{
		Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "c1", Name: "time", Arguments: `{"zone": "UTC"}`}, {ID: "c2", Name: "f"}},
		Extra: map[string]json.RawMessage{"annotations": json.RawMessage(`[{"a":1},"<b>"]`)},
	}
	result := sessions.Message{Role: sessions.RoleTool, Content: "12:00", ToolCallID: "c1", Name: "time"}
	_, err = s.Accept(ctx, sessions.Entry{Inbound: in("x:call", "c1", "/x"), Answered: true, Append: []sessions.Message{call, result}})
	must(t, err)
	say(t, s, "x:gone", "g1", "gone")
	must(t, s.Delete(ctx, key("x:gone")))
	say(t, s, "x:from", "f1", "joined")
	must(t, s.Join(ctx, key("x:from"), key("x:to")))
	_, err = s.Remember(ctx, "me", sessions.NewFact{Text: "fact"})
	must(t, err)
	must(t, s.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: "9", Raw: []byte{0, 255}, Why: "odd"}))
	now := time.Now()
	must(t, s.Plan(ctx, "j", time.Time{}, now))
	must(t, s.Fire(ctx, "j", now, now, now.Add(time.Hour), in("x:hb", "hb", "prompt")))
	_, _, err = s.RequestPairing(ctx, sessions.Pairing{Channel: "x", PersonID: "7", Code: "1234", Expires: now.Add(time.Hour)}, now, 5)
	must(t, err)
	work(t, s)
}

// work leaves a turn half done under x:work, and deliveries in many states.
func work(t *testing.T, s *engine.Store) {
	t.Helper()
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:work", "w1", "first")})
	must(t, err)
	_, err = s.Accept(t.Context(), sessions.Entry{Inbound: in("x:work", "w0", "second")})
	must(t, err)
	_, err = s.Accept(t.Context(), sessions.Entry{Inbound: in("x:work", "w2", "/x"), Answered: true, Replies: []sessions.Reply{{Text: "sent"}, {Text: "sending"}, {Text: "dead"}, {Text: "queued"}}})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	err = s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
		if c.Key != key("x:work") {
			<-ctx.Done()
			return nil
		}
		defer stop()
		ds, err := s.Unsent(ctx, c, 0)
		must(t, err)
		for _, d := range ds[:2] {
			must(t, s.MarkSending(ctx, c, d.ID))
		}
		must(t, s.MarkSent(ctx, c, ds[0].ID, channels.Receipt{MessageID: "n"}))
		must(t, s.MarkDead(ctx, c, ds[2].ID, "blocked"))
		answers := []sessions.Answered{{Seq: 1}}
		// One turn came to its end, and its journal with it.
		must(t, s.AppendStep(ctx, c, "ended", []sessions.Answered{{Seq: 2}}, sessions.Step{Kind: sessions.StepNote}))
		must(t, s.CommitTurn(ctx, c, sessions.Turn{ID: "ended", Answers: []sessions.Answered{{Seq: 2}}}))
		asked := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "c9", Name: "g", Arguments: "[]"}}}
		must(t, s.AppendStep(ctx, c, "turn", answers, sessions.Step{Kind: sessions.StepModel, Message: &asked}))
		must(t, s.AppendStep(ctx, c, "turn", nil, sessions.Step{Kind: sessions.StepToolStart, CallID: "2"}))
		return nil
	})
	must(t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dump is every record of s as a line of JSON.
func dump(t testing.TB, s *engine.Store, keys ...channels.Key) []string {
	t.Helper()
	var lines []string
	must(t, s.Dump(t.Context(), keys, func(r sessions.Record) error {
		b, err := json.Marshal(r)
		lines = append(lines, string(b))
		return err
	}))
	return lines
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// place is a directory with a store, and what the store says in its log.
type place struct {
	dir string
	log *testkit.Output
}

func newPlace(t *testing.T) *place {
	return &place{dir: filepath.Join(t.TempDir(), "sessions"), log: &testkit.Output{}}
}

// open opens the store.
func (p *place) open(t *testing.T) *engine.Store {
	t.Helper()
	p.log = &testkit.Output{}
	return openWith(t, p.dir, file.Options{Logger: slog.New(slog.NewTextHandler(p.log, nil))})
}

// crash is p as a process leaves it that is killed now.
func (p *place) crash(t *testing.T) *place {
	t.Helper()
	left := newPlace(t)
	must(t, os.CopyFS(left.dir, os.DirFS(p.dir)))
	return left
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

// says fails the test unless the store has logged all of words.
func (p *place) says(t *testing.T, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(p.log.String(), w) {
			t.Errorf("the log does not say %q:\n%s", w, p.log.String())
		}
	}
}

// quiet fails the test if the store has complained.
func (p *place) quiet(t *testing.T) {
	t.Helper()
	if strings.Contains(p.log.String(), "level=ERROR") {
		t.Errorf("the store complains:\n%s", p.log.String())
	}
}

// aside are the files that were set aside.
func (p *place) aside(t *testing.T) []string {
	t.Helper()
	list, err := file.Damaged(p.dir)
	must(t, err)
	return list
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

func number(prefix string, n int) string { return fmt.Sprint(prefix, n) }

func keys(names ...string) (list []channels.Key) {
	for _, n := range names {
		list = append(list, key(n))
	}
	return list
}

// openAt opens a store that may refuse.
func openAt(t *testing.T, dir string) (*engine.Store, error) {
	t.Helper()
	return file.Open(t.Context(), dir, file.Options{})
}

// everything is what all files hold, the rows among them or not.
func everything(t *testing.T, p *place, rows bool) []byte {
	t.Helper()
	var all []byte
	must(t, filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && (rows || !strings.HasPrefix(e.Name(), "rows.db")) {
			all = append(all, read(t, path)...)
		}
		return err
	}))
	return all
}
