package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite"
)

// formerFile is a file of the version before labels, with something of each kind: sent
// and unsent answers, apologies, a long answer with its file, what a job wrote, lines of
// IRC and the rest of them, and a question asked once more.
func formerFile(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "dragoman.db")
	must(t, os.WriteFile(path, unzipped(t, "11dfcbe5.db.gz"), 0o600))
	return path
}

// marked are the deliveries and questions of that file that had marks, by place.
func marked(t *testing.T, s *engine.Store) (deliveries map[string]sessions.OutboxRecord, questions map[string]channels.Inbound) {
	t.Helper()
	deliveries = map[string]sessions.OutboxRecord{}
	questions = map[string]channels.Inbound{}
	must(t, s.Dump(t.Context(), nil, func(r sessions.Record) error {
		if o := r.Outbox; o != nil {
			deliveries[fmt.Sprint(o.Key, " ", o.Seq)] = *o
			if strings.ContainsAny(o.Text, "\r") || strings.Contains(o.Text, "<!--") {
				t.Errorf("a delivery has a mark: %.80q", o.Text)
			}
		}
		if in := r.Inbox; in != nil && in.Inbound.Again {
			questions[in.Inbound.Key.String()+" "+in.State] = in.Inbound
		}
		return nil
	}))
	return deliveries, questions
}

// Opening a file of the version before labels reads what its texts and ids say, once.
func TestFormerFile(t *testing.T) {
	path := formerFile(t)
	kept := ""
	s := openFile(t, path, sqlite.Options{Converting: func(to string) { kept = to }})
	if kept != path+sqlite.CopySuffix {
		t.Errorf("the copy is called %q", kept)
	}
	deliveries, questions := marked(t, s)
	apology := sessions.Label{Kind: channels.KindApology}
	for place, want := range map[string]struct {
		sessions.Label
		begins string
		bytes  int
	}{
		"telegram:71 2":  {sessions.Label{}, "echo: what is Go? #1", 20},
		"telegram:71 6":  {apology, "Sorry, the model's server", 88},
		"telegram:71 9":  {sessions.Label{}, "Verse 0 tells", 4083},
		"telegram:71 19": {sessions.Label{File: "answer.md"}, "Verse 0 tells", 102888},
		"telegram:71 20": {apology, "Sorry, the model's server", 88},
		"telegram:72 3":  {sessions.Label{Kind: channels.KindJob, Turn: "heartbeat:watch#1", Job: "watch", Part: 1}, "The **disk** is full.", 21},
		"home:#go 2":     {sessions.Label{Form: channels.FormNative}, "dragoman 1", 10},
		"home:#go 4":     {sessions.Label{Form: channels.FormNative}, "\x11```go", 6},
		"home:#go 5":     {sessions.Label{Form: channels.FormRest}, "\x11dragoman 3\n\x11dragoman 4\n", 96},
	} {
		got, found := deliveries[place]
		if !found || got.Label != want.Label || !strings.HasPrefix(got.Text, want.begins) || len(got.Text) != want.bytes {
			t.Errorf("%s = %+v %.40q of %d bytes, want %+v %q", place, got.Label, got.Text, len(got.Text), want.Label, want.begins)
		}
	}
	if diff := cmp.Diff(map[string]string{"telegram:71 done": "what is Go? #1", "telegram:72 waiting": "and what is C? #2"}, texts(questions)); diff != "" {
		t.Errorf("questions asked once more (-want +got):\n%s", diff)
	}
	before := contents(t, s)
	must(t, s.Close())
	s = openFile(t, path, sqlite.Options{Converting: func(string) { t.Error("the file is converted twice") }})
	if diff := cmp.Diff(before, contents(t, s)); diff != "" {
		t.Errorf("after another start (-before +after):\n%s", diff)
	}
}

func texts(list map[string]channels.Inbound) map[string]string {
	out := map[string]string{}
	for k, m := range list {
		out[k] = m.Text
	}
	return out
}

// The copy is the file as it was, for its program alone, and replaces no earlier one.
func TestCopyOfAFormerFile(t *testing.T) {
	path := formerFile(t)
	must(t, os.WriteFile(path+sqlite.CopySuffix, []byte("an earlier copy"), 0o600))
	must(t, openFile(t, path, sqlite.Options{}).Close())
	kept := path + sqlite.CopySuffix + ".2"
	if err := sqlite.Newer(kept); err != nil {
		t.Error(err)
	}
	if n := count(t, kept, `outbox WHERE text LIKE '<!-- %' OR substr(text, 1, 1) = char(13)`); n != 5 {
		t.Errorf("the copy has %d marked texts, want 5", n)
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy's mode is %v, %v", info.Mode(), err)
	}
	if data, err := os.ReadFile(path + sqlite.CopySuffix); err != nil || string(data) != "an earlier copy" {
		t.Errorf("the earlier copy is %q, %v", data, err)
	}
	if got := columns(t, kept); slices.Contains(got, "outbox.kind") {
		t.Error("the copy has the new columns")
	}
}

// A start that cannot change the file leaves it as it was, and no copy.
func TestFormerFileThatCannotBeChanged(t *testing.T) {
	path := formerFile(t)
	inFile(t, path, `CREATE TRIGGER full BEFORE UPDATE ON outbox BEGIN SELECT RAISE(ABORT, 'no'); END`)
	before, err := os.ReadFile(path)
	must(t, err)
	for range 2 {
		if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil {
			t.Fatal("Open changed what cannot be changed")
		}
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if !slices.Equal(before, after) {
		t.Error("the file has changed")
	}
	names, err := filepath.Glob(path + sqlite.CopySuffix + "*")
	if err != nil || len(names) > 0 {
		t.Errorf("these copies are left: %q, %v", names, err)
	}
	inFile(t, path, `DROP TRIGGER full`)
	s := openFile(t, path, sqlite.Options{})
	if _, questions := marked(t, s); len(questions) != 2 {
		t.Errorf("in the end %d questions are asked once more, want 2", len(questions))
	}
}
