package file_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"dragoman/sessions"
	"dragoman/sessions/file"
	"dragoman/sessions/memory"
	"dragoman/sessions/storetest"
)

// everywhere is a closed store with a document that has fields of others in
// every object, and where they are.
func everywhere(t *testing.T) (p *place, places []string) {
	t.Helper()
	p = newPlace(t)
	s := p.open(t)
	storetest.Whole(t, s, key("x:1"))
	must(t, s.Close())
	edited, places := storetest.Everywhere(t, read(t, p.path("conversations/x_1.json")))
	must(t, os.WriteFile(p.path("conversations/x_1.json"), edited, 0o600))
	return p, places
}

// next is a turn that answers a message which comes now, and leaves all that
// was open as it is.
func next(t *testing.T, s sessions.Store, id string) {
	t.Helper()
	a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", id, "one more")})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err = s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
		defer stop()
		return s.CommitTurn(ctx, c, sessions.Turn{ID: "t" + id, Answers: []sessions.Answered{{Seq: a.Seq}}, Messages: []sessions.Message{
			{Role: sessions.RoleUser, Content: "one more " + id}, {Role: sessions.RoleAssistant, Content: "yes", Usage: &sessions.Usage{Input: 1}},
		}})
	})
	must(t, err)
}

// whole fails the test unless each field of others stands in the document of
// the store at dir where it was put.
func whole(t *testing.T, what, dir string, places []string) {
	t.Helper()
	text := read(t, filepath.Join(dir, "conversations", "x_1.json"))
	if missing := storetest.FindEverywhere(t, text, places); len(missing) > 0 {
		t.Errorf("%s: %d of %d fields are not where they were: %q in\n%s", what, len(missing), len(places), missing, text)
	}
	u, err := file.FindUncarried(dir)
	must(t, err)
	same(t, what+": not carried over", u, file.Uncarried{})
}

// Case 48: a field in each object of a document stays where it is, whatever is
// written there next, however the store ends, and when the document is lost.
func TestCase48FieldsInEveryObject(t *testing.T) {
	for _, lost := range []string{"nothing", "index.json"} {
		t.Run("lost "+lost, func(t *testing.T) {
			p, places := everywhere(t)
			if len(places) < 50 {
				t.Fatalf("there are only %d objects", len(places))
			}
			s := p.open(t)
			must(t, s.Close())
			if lost != "nothing" {
				must(t, os.Remove(p.path(lost)))
			}
			for _, id := range []string{"a", "b"} {
				s = p.open(t)
				next(t, s, id)
				must(t, file.Settle(s))
				whole(t, "after turn "+id, p.dir, places)
				left := p.crash(t)
				must(t, left.open(t).Close())
				whole(t, "after a crash", left.dir, places)
				must(t, s.Close())
				p.quiet(t)
			}
		})
	}
}

// Case 48: and goes from documents to another store and back, a turn there and
// one after the way back between them.
func TestCase48FieldsInEveryObjectThereAndBack(t *testing.T) {
	p, places := everywhere(t)
	from := p.open(t)
	db := memory.New(memory.Options{})
	defer db.Close()
	copied(t, from, db)
	next(t, db, "there")
	back := newPlace(t)
	to := back.open(t)
	copied(t, db, to)
	must(t, file.Settle(to))
	whole(t, "back", back.dir, places)
	same(t, "records", dump(t, to), dump(t, db))
	next(t, to, "back")
	must(t, to.Close())
	whole(t, "a turn later", back.dir, places)
	back.quiet(t)
}

// copied makes to what from is.
func copied(t *testing.T, from, to sessions.Store) {
	t.Helper()
	lines := dump(t, from)
	must(t, to.Restore(t.Context(), func() (r sessions.Record, err error) {
		if len(lines) == 0 {
			return r, io.EOF
		}
		err = json.Unmarshal([]byte(lines[0]), &r)
		lines = lines[1:]
		return r, err
	}))
}
