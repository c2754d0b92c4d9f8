package file_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/file"
)

const secret = "zq7rcanary"

// secrets says secret in k: in the transcript, in a message and in an answer.
func secrets(t *testing.T, s *engine.Store, k, id string) {
	t.Helper()
	e := sessions.Entry{Inbound: in(k, id, secret), Answered: true}
	e.Append = []sessions.Message{{Role: sessions.RoleUser, Content: secret}, {
		Role: sessions.RoleAssistant, Content: "ho", Attached: &sessions.Attached{Data: json.RawMessage(`{"thought":"` + secret + `"}`)},
	}}
	a, err := s.Accept(t.Context(), e)
	if err != nil || a.Outcome != sessions.Done {
		t.Fatalf("Accept = %+v, %v", a, err)
	}
}

// traceless waits until no file of p beside the rows has secret, while the store
// is open.
func traceless(t *testing.T, p *place) {
	t.Helper()
	for end := time.Now().Add(time.Minute); holds(t, p, secret); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("what was deleted is still in a file")
		}
	}
}

// holds reports whether word is in a file of p beside the rows, while others write
// there.
func holds(t *testing.T, p *place, word string) (found bool) {
	t.Helper()
	must(t, filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (e.IsDir() || strings.HasPrefix(e.Name(), "rows.db")) {
			return nil
		}
		b, err := os.ReadFile(path)
		found = found || bytes.Contains(b, []byte(word))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}))
	return found
}

// Deleted text leaves documents and archives within seconds, or after a kill when the
// store is open again. The damaged files of the conversation are removed, those of
// others are kept.
func TestDeletedIsGoneFromAllFiles(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	secrets(t, s, "x:1", "1")
	secrets(t, s, "x:3", "3")
	say(t, s, "x:2", "2", "other words")
	must(t, s.Close())
	for _, name := range []string{"x_1", "x_2", "x_3"} {
		must(t, os.WriteFile(p.path("conversations/"+name+".json.corrupt-1"), []byte("words"), 0o600))
	}
	must(t, os.WriteFile(p.path("archive/x_1.jsonl.corrupt-1"), []byte(secret), 0o600))

	s = openWith(t, p.dir, file.Options{FlushInterval: time.Hour})
	secrets(t, s, "x:1", "4")
	must(t, s.Delete(t.Context(), key("x:1")))
	gone, err := s.Expire(t.Context(), time.Now().Add(time.Hour), 1)
	must(t, err)
	if len(gone) != 1 || gone[0] != key("x:3") && gone[0] != key("x:2") {
		t.Fatalf("Expire = %v", gone)
	}
	if gone[0] == key("x:2") {
		_, err = s.Expire(t.Context(), time.Now().Add(time.Hour), 1)
		must(t, err)
	}
	left := p.crash(t)
	if !holds(t, left, secret) {
		t.Fatal("nothing is there that could go")
	}
	s = openWith(t, left.dir, file.Options{FlushInterval: time.Millisecond})
	traceless(t, left)
	aside := strings.Join(left.aside(t), " ")
	if strings.Contains(aside, "x_1") || strings.Contains(aside, "x_3") {
		t.Errorf("set aside are %s", aside)
	}
	for _, id := range []string{"1", "3", "4"} {
		k := map[string]channels.Key{"1": key("x:1"), "3": key("x:3"), "4": key("x:1")}[id]
		a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in(k.String(), id, "again")})
		if err != nil || a.Outcome != sessions.Duplicate {
			t.Errorf("Accept = %+v, %v, want that it is known", a, err)
		}
	}
}

// Join moves a conversation. Its damaged files are kept, because they may be all that is
// left of some words.
func TestJoinedKeepsWhatWasSetAside(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	must(t, s.Close())
	must(t, os.WriteFile(p.path("conversations/x_1.json.corrupt-1"), []byte("words"), 0o600))
	s = p.open(t)
	must(t, s.Join(t.Context(), key("x:1"), key("x:2")))
	must(t, s.Close())
	if aside := p.aside(t); len(aside) != 1 {
		t.Errorf("set aside are %v", aside)
	}
}
