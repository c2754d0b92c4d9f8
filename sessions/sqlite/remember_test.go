package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// TestRemembersOnlyWhatIsShort: with a full queue each of many keys has a
// message and an answer in memory, so the long ones are read from the file.
// What is in the file is changed behind the store's back to tell which it is.
func TestRemembersOnlyWhatIsShort(t *testing.T) {
	const behind = "from the file"
	for name, test := range map[string]struct {
		text string
		read bool
	}{
		"short":       {"hi", false},
		"not so long": {strings.Repeat("x", 3<<10), false},
		"long":        {strings.Repeat("x", 4<<10+1), true},
		"very long":   {strings.Repeat("x", 1<<20), true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dragoman.db")
			s := openFile(t, path, sqlite.Options{})
			k := channels.MustKey("x:1")
			_, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: "1", Text: test.text}})
			must(t, err)
			_, err = s.Accept(t.Context(), sessions.Entry{
				Inbound: channels.Inbound{Key: k, ID: "2", Text: "/x"}, Answered: true, Replies: []sessions.Reply{{Text: test.text}},
			})
			must(t, err)
			db, err := sql.Open("sqlite", path)
			must(t, err)
			for _, query := range []string{`UPDATE inbox SET text = ?`, `UPDATE outbox SET text = ?`} {
				_, err := db.Exec(query, behind)
				must(t, err)
			}
			must(t, db.Close())
			want := test.text
			if test.read {
				want = behind
			}
			claimOnce(t, s, k, func(c sessions.Claim) {
				p, err := s.Pending(t.Context(), c, 1)
				must(t, err)
				if got := p.Messages[0].Inbound.Text; got != want {
					t.Errorf("Pending = %d bytes, want that it was read: %t", len(got), test.read)
				}
				if got := unsent(t, s, c)[0].Text; got != want {
					t.Errorf("Unsent = %d bytes, want that it was read: %t", len(got), test.read)
				}
			})
		})
	}
}
