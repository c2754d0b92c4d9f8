package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/exchange"
)

// foreignDocuments is a store of files in which another program put fields
// beside the messages of a document and into some, and a person has corrected a text.
func foreignDocuments(t *testing.T, p *place) document48 {
	t.Helper()
	s := at(t, p.parse("file"))
	ctx, k := t.Context(), channels.MustKey("x:1")
	messages := []sessions.Message{
		{Role: sessions.RoleUser, Content: "hello"}, // the summary stands for it
		{Role: sessions.RoleUser, Content: "what is my adress?"},
		{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "c1", Name: "look", Arguments: "{}"}}},
		{Role: sessions.RoleTool, Content: "Main Street", ToolCallID: "c1", Name: "look"},
		{Role: sessions.RoleAssistant, Content: "Main Street.", Usage: &sessions.Usage{Input: 30, Output: 4}},
		{Role: sessions.RoleUser, Content: "thanks"},
	}
	_, err := s.Accept(ctx, sessions.Entry{Inbound: channels.Inbound{Key: k, ID: "1"}, Answered: true, Append: messages})
	h, err2 := s.History(ctx, k, sessions.HistoryLimit{})
	if err := errors.Join(err, err2, s.AddSummary(ctx, k, sessions.Summary{Text: "They asked.", CoversSeq: 1, Generation: h.Generation}), s.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.parse("file").Path, "conversations", "x_1.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		`"format": 3,`:   `"format": 3, "owner": {"team": ["a", 1.50], "Key": null},`,
		`adress?",`:      `address?", "mood": {"calm": true}, "Role": "theirs",`,
		`Main Street.",`: `Main Street.", "refusal": null,`,
	} {
		edited := bytes.Replace(text, []byte(from), []byte(to), 1)
		if bytes.Equal(text, edited) {
			t.Fatalf("there is no %s in\n%s", from, text)
		}
		text = edited
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return document48{path: path}
}

// document48 is the document of case 48.
type document48 struct{ path string }

// document is what stands in the document at path, without the accounts that
// the store keeps there of itself.
func (document48) document(t *testing.T, path string) (doc map[string]any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"head"} {
		delete(doc, own)
	}
	return doc
}

// Case 48: from documents to a database and back, with the commands' own
// migration: messages, summary and ids are equal, and every field that nobody
// here knows stands where it stood, beside the messages or in one of them. A text that a person corrected is the text.
func TestCase48FieldsOfOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	d := foreignDocuments(t, p)
	want := d.document(t, d.path)
	there, back := p.parse("sqlite:"+p.state("there.db")), p.parse("file:"+p.state("back"))
	for _, step := range [][2]string{{"file", there.String()}, {there.String(), back.String()}} {
		m, err := p.migrate(p.parse(step[0]), p.parse(step[1]))
		if err != nil || m.Messages != 6 {
			t.Fatalf("Migrate(%s, %s) = %+v, %v", step[0], step[1], m, err)
		}
	}
	if diff := cmp.Diff(want, d.document(t, filepath.Join(back.Path, "conversations", "x_1.json"))); diff != "" {
		t.Errorf("the document that came back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(lines(t, p.parse("file")), lines(t, back)); diff != "" {
		t.Errorf("the records (-want +got):\n%s", diff)
	}
	db := at(t, there)
	defer db.Close()
	for query, hits := range map[string]int{"address": 1, "adress": 0, "calm": 0, "theirs": 0} {
		if found, err := db.SearchAll(t.Context(), sessions.Search{Query: query, Limit: 9}); err != nil || len(found) != hits {
			t.Errorf("in the database %q is found %d times, %v", query, len(found), err)
		}
	}
	if c, err := db.Conversation(t.Context(), channels.MustKey("x:1")); err != nil || c.Usage.Input != 30 || c.Usage.Output != 4 {
		t.Errorf("Conversation = %+v, %v", c, err)
	}
}

// Case 48 by way of exports: what is written out of one store and taken in by
// another has the fields too, in both of our forms.
func TestCase48FieldsOfOthersInExports(t *testing.T) {
	t.Parallel()
	for _, format := range []exchange.Format{exchange.JSON, exchange.JSONL} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, "")
			foreignDocuments(t, p)
			files, db := at(t, p.parse("file")), at(t, p.parse("sqlite"))
			defer files.Close()
			defer db.Close()
			k := channels.MustKey("x:1")
			first := written(t, files, format, k)
			for _, words := range []string{`"team"`, `"mood"`, `"refusal"`} {
				if !strings.Contains(first, words) {
					t.Errorf("there is no %s in\n%s", words, first)
				}
			}
			var all []sessions.Record
			r, err := exchange.NewReader(strings.NewReader(first), exchange.Options{})
			if err == nil {
				err = r.Each(func(rec sessions.Record) error { all = append(all, rec); return nil })
			}
			if err == nil {
				_, err = db.Restore(t.Context(), func() (rec sessions.Record, err error) {
					if len(all) == 0 {
						return rec, io.EOF
					}
					rec, all = all[0], all[1:]
					return rec, nil
				})
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, written(t, db, format, k)); diff != "" {
				t.Errorf("(-first +second):\n%s", diff)
			}
			if notes := r.Notes(); len(notes) > 0 {
				t.Errorf("it says %q", notes)
			}
		})
	}
}

// written is an export of k.
func written(t *testing.T, s *engine.Store, format exchange.Format, k channels.Key) string {
	t.Helper()
	var b bytes.Buffer
	w, err := exchange.NewWriter(&b, format, exchange.WriterOptions{})
	if err == nil {
		err = errors.Join(s.Dump(t.Context(), []channels.Key{k}, w.Put), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Case 48 at the border: a field beside the messages may be as long as it likes.
func TestCase48LongFieldsOfOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	d := foreignDocuments(t, p)
	text, err := os.ReadFile(d.path)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("long ", 1<<20/5)
	text = bytes.Replace(text, []byte(`"owner": `), []byte(`"long": "`+long+`", "owner": `), 1)
	text = bytes.Replace(text, []byte(`"mood": `), []byte(`"long": "`+long+`", "mood": `), 1)
	if err := os.WriteFile(d.path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	there, back := p.parse("sqlite"), p.parse("file:"+p.state("back"))
	for _, step := range [][2]storage.Location{{p.parse("file"), there}, {there, back}} {
		if _, err := p.migrate(step[0], step[1]); err != nil {
			t.Fatal(err)
		}
	}
	if text, err = os.ReadFile(filepath.Join(back.Path, "conversations", "x_1.json")); err != nil || bytes.Count(text, []byte(long)) != 2 {
		t.Errorf("the document that came back has it %d times, want at the top and in the message, %v", bytes.Count(text, []byte(long)), err)
	}
}
