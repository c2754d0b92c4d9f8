package file_test

import (
	"os"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/file"
)

// An archive that is gone takes older messages with it. The next start says so,
// with the name of the file and their number; what the document shows is as
// safe as before, and no start after that one has anything to say.
func TestArchiveThatIsGone(t *testing.T) {
	for _, between := range []string{"a close", "a crash"} {
		t.Run("after "+between, func(t *testing.T) {
			p := newPlace(t)
			s := p.open(t)
			for i := range 300 {
				say(t, s, "x:1", number("m", i), number("text ", i))
			}
			say(t, s, "x:2", "2", "short")
			say(t, s, "x:3", "3", "deleted meanwhile")
			say(t, s, "heartbeat:job", "4", "a job")
			if must(t, s.Close()); between == "a crash" {
				s = p.open(t)
				say(t, s, "x:1", "in the log", "in the log")
				must(t, s.Delete(t.Context(), key("x:3")))
				p = p.crash(t)
			}
			for _, name := range []string{"archive/x_1.jsonl", "archive/x_2.jsonl", "archive/x_3.jsonl", "jobs/heartbeat_job.jsonl"} {
				must(t, os.Remove(p.path(name)))
			}
			var kept []sessions.Message
			for n := range 3 {
				s = p.open(t)
				told := strings.Count(p.log.String(), "is gone; the messages in its document are kept")
				if n > 0 {
					same(t, "what a later start says", told, 0)
				} else if p.says(t, "file=archive/x_2.jsonl missing=0 messages=1", "file=jobs/heartbeat_job.jsonl"); between == "a close" {
					p.says(t, "key=x:1 file=archive/x_1.jsonl missing=100 messages=200", "file=archive/x_3.jsonl")
					same(t, "what the start says", told, 4)
				} else {
					p.says(t, "key=x:1 file=archive/x_1.jsonl missing=100 messages=200")
					same(t, "what the start says", told, 3)
				}
				ms, err := s.Messages(t.Context(), key("x:1"), 0, 1000)
				must(t, err)
				if len(ms) < 200 || ms[0].Seq != 101 || n > 0 && len(ms) != len(kept)+1 {
					t.Errorf("start %d: %d messages from %d on", n, len(ms), ms[0].Seq)
				}
				kept = ms
				say(t, s, "x:1", number("after ", n), "after")
				must(t, s.Close())
				p.quiet(t)
			}
			same(t, "set aside", p.aside(t), []string(nil))
		})
	}
}

// What is said of an archive that is gone is said of none that went with its
// conversation.
func TestArchiveThatWasErased(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	say(t, s, "x:2", "2", "two")
	must(t, file.Checkpoint(s))
	_, err := s.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("x:1")}})
	must(t, err)
	must(t, s.Delete(t.Context(), key("x:2")))
	left := p.crash(t)
	left.open(t)
	if strings.Contains(left.log.String(), "is gone") {
		t.Errorf("it says:\n%s", left.log.String())
	}
}
