package file_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/file"
)

// A missing archive is written anew. The next start logs the name of the file, and
// later starts log nothing. One that was cut is written anew with the next message. If
// the rows are missing as well, the messages in the document are kept, and the log says
// how many are lost.
func TestArchiveThatIsGone(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	for i := range 300 {
		say(t, s, "x:1", number("m", i), number("text ", i))
	}
	say(t, s, "x:2", "2", "short")
	say(t, s, "heartbeat:job", "4", "a job")
	want := dump(t, s)
	must(t, s.Close())
	whole := read(t, p.path("archive/x_1.jsonl"))
	without := p.crash(t)
	for _, name := range []string{"archive/x_2.jsonl", "jobs/heartbeat_job.jsonl", "conversations/x_2.json"} {
		must(t, os.Remove(p.path(name)))
	}
	must(t, os.Truncate(p.path("archive/x_1.jsonl"), int64(len(whole)-1)))
	for n := range 2 {
		s = p.open(t)
		same(t, "Dump", dump(t, s), want)
		if said := strings.Count(p.log.String(), "written anew"); n == 0 {
			p.says(t, "key=x:2 file=x_2.jsonl", "file=heartbeat_job.jsonl", "key=x:2 file=x_2.json\n")
		} else {
			same(t, "what a later start says", said, 0)
		}
		must(t, s.Close())
		p.quiet(t)
	}
	s = p.open(t)
	say(t, s, "x:1", "next", "next")
	must(t, s.Close())
	if archive := read(t, p.path("archive/x_1.jsonl")); !bytes.HasPrefix(archive, whole) || len(archive) == len(whole) {
		t.Errorf("the archive that was cut has %d bytes and had %d", len(archive), len(whole))
	}
	same(t, "set aside", p.aside(t), []string(nil))

	must(t, os.Remove(without.path("rows.db")))
	must(t, os.Remove(without.path("archive/x_1.jsonl")))
	s = without.open(t)
	without.says(t, "key=x:1 lost=100 kept=200")
	if ms, err := s.Messages(t.Context(), key("x:1"), 0, 1000); err != nil || len(ms) != 200 || ms[0].Seq != 101 {
		t.Errorf("%d messages, %v", len(ms), err)
	}
	say(t, s, "x:1", "after", "after")
}

// An archive that was deleted with its conversation is not reported as missing.
func TestArchiveThatWasErased(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	say(t, s, "x:2", "2", "two")
	must(t, file.Flush(s))
	_, err := s.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("x:1")}})
	must(t, err)
	must(t, s.Delete(t.Context(), key("x:2")))
	left := p.crash(t)
	left.open(t)
	if strings.Contains(left.log.String(), "is gone") {
		t.Errorf("it says:\n%s", left.log.String())
	}
}
