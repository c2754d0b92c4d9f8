package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

// TestPendingReadsWhatItRemembers: a message that was just accepted is read from memory, and
// must equal the one in the file, also after each change.
func TestPendingReadsWhatItRemembers(t *testing.T) {
	full := channels.Inbound{
		ID: "1\xff", Text: "hi\xff \x00", Prefix: "Ann: ", Private: true, Addressed: true, MessageID: "m1", Reaction: "+", Album: "a",
		Sender:      channels.Person{IDs: []string{"5\xff", "ann"}, Name: "Ann"},
		Quote:       &channels.Quote{ID: "q", Name: "Bob", Text: "said"},
		Attachments: []channels.Attachment{{Name: "a.txt", Type: "text/plain"}},
		At:          time.Now().In(time.FixedZone("x", 3600)),
	}
	bare := channels.Inbound{ID: "1", MessageID: "m1"}
	long := channels.Inbound{ID: "1", MessageID: "m1", Text: strings.Repeat("x", 9000)}
	edit := func(t *testing.T, s *engine.Store, c sessions.Claim) {
		_, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: c.Key, ID: "2", Edits: "m1", Text: "changed"}})
		must(t, err)
	}
	postpone := func(t *testing.T, s *engine.Store, c sessions.Claim) {
		must(t, s.Postpone(t.Context(), c, []int64{1}, time.Now().Add(-time.Hour), "later"))
	}
	bind := func(t *testing.T, s *engine.Store, c sessions.Claim) {
		must(t, s.AppendStep(t.Context(), c, "turn", []sessions.Answered{{Seq: 1}}, sessions.Step{Kind: sessions.StepNote, At: time.Now()}))
	}
	type change = func(*testing.T, *engine.Store, sessions.Claim)
	for name, test := range map[string]struct {
		m       channels.Inbound
		changes []change
	}{
		"full":                   {full, nil},
		"bare":                   {bare, nil},
		"long":                   {long, nil},
		"edited":                 {full, []change{edit}},
		"postponed":              {full, []change{postpone}},
		"bound":                  {full, []change{bind}},
		"bound and postponed":    {full, []change{bind, postpone}},
		"edited and postponed":   {full, []change{edit, postpone}},
		"postponed, then edited": {full, []change{postpone, edit}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dragoman.db")
			test.m.Key = channels.MustKey("x:1")
			s := openFile(t, path, sqlite.Options{})
			_, err := s.Accept(t.Context(), sessions.Entry{Inbound: test.m})
			must(t, err)
			var fresh sessions.Pending
			claimOnce(t, s, test.m.Key, func(c sessions.Claim) {
				for _, f := range test.changes {
					f(t, s, c)
				}
				// The caller may change a message that it gets.
				first, err := s.Pending(t.Context(), c, 5)
				must(t, err)
				clear(first.Messages[0].Inbound.Sender.IDs)
				clear(first.Messages[0].Inbound.Attachments)
				fresh, err = s.Pending(t.Context(), c, 5)
				must(t, err)
			})
			must(t, s.Close())
			again := openFile(t, path, sqlite.Options{})
			claimOnce(t, again, test.m.Key, func(c sessions.Claim) {
				read, err := again.Pending(t.Context(), c, 5)
				must(t, err)
				if diff := cmp.Diff(fresh, read, cmpopts.EquateComparable(channels.Key{})); diff != "" {
					t.Errorf("Pending from memory and from the file (-memory +file):\n%s", diff)
				}
			})
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
