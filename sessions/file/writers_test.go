package file_test

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"dragoman/sessions"
	"dragoman/sessions/file"
)

func writers(t *testing.T, s *file.Store) (list []string) {
	t.Helper()
	all, err := s.Writers(t.Context(), "x")
	must(t, err)
	for _, w := range all {
		list = append(list, fmt.Sprint(w))
	}
	return list
}

// Who wrote is known without reading archives, as long as the index or the log
// tells it, and is the same however much of either is there.
func TestWritersComeFromTheIndex(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	fill(t, s)
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:two", "two", "/x"), Answered: true, Append: []sessions.Message{
		{Role: sessions.RoleUser, Content: "hello", Sender: "7", Name: "ann"},
	}})
	must(t, err)
	want := writers(t, s)
	if len(want) < 5 {
		t.Fatalf("Writers = %+v", want)
	}
	logOnly := p.crash(t)
	must(t, file.Checkpoint(s))
	say(t, s, "x:long", "after", "after")
	later := p.crash(t)
	must(t, s.Close())
	former := p.crash(t)
	data := read(t, former.path("index.json"))
	without := bytes.ReplaceAll(data, []byte(`"writers":`), []byte(`"writers_of_a_later_version":`))
	if bytes.Equal(data, without) {
		t.Fatalf("nobody stands in the index:\n%s", data)
	}
	must(t, os.WriteFile(former.path("index.json"), without, 0o600))
	lost := p.crash(t)
	must(t, os.Remove(lost.path("index.json")))
	for name, tt := range map[string]struct {
		*place
		reads bool
	}{
		"log only": {logOnly, false}, "index and log": {later, false}, "closed": {p, false}, "index of before": {former, true}, "index lost": {lost, true},
	} {
		t.Run(name, func(t *testing.T) {
			for life := range 2 {
				s := tt.open(t)
				say(t, s, "x:two", fmt.Sprint(name, life), "a commit that does not tell of all who wrote")
				var reads atomic.Int64
				file.OnRead(t, func(string) { reads.Add(1) })
				for range 2 {
					same(t, "Writers", writers(t, s), want)
					if n := reads.Swap(0); (n > 0) != tt.reads {
						t.Errorf("life %d: %d archives were read, want any: %v", life, n, tt.reads)
					}
					tt.reads = false // from now on they are known
				}
				must(t, s.Close())
			}
		})
	}
}

// A name that was changed by hand in a document counts from the next start on.
func TestWritersAfterAnEdit(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	e := sessions.Entry{Inbound: in("x:1", "1", "/x"), Answered: true, Append: []sessions.Message{{Role: sessions.RoleUser, Content: "hello", Sender: "7", Name: "ann"}}}
	_, err := s.Accept(t.Context(), e)
	must(t, err)
	must(t, s.Close())
	doc := read(t, p.path("conversations/x_1.json"))
	must(t, os.WriteFile(p.path("conversations/x_1.json"), bytes.Replace(doc, []byte(`"ann"`), []byte(`"anna"`), 1), 0o600))
	for range 2 {
		s = p.open(t)
		same(t, "Writers", writers(t, s), []string{"{x:1 [42] alice false}", "{x:1 [7] anna false}"})
		must(t, s.Close())
	}
}
