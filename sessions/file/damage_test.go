package file_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/sessions"
)

// damages are ways to break a file.
var damages = map[string]func([]byte) []byte{
	"empty":   func([]byte) []byte { return nil },
	"cut":     func(b []byte) []byte { return b[:len(b)/2] },
	"binary":  func(b []byte) []byte { return bytes.Repeat([]byte{0, 255, 7}, len(b)) },
	"zeros":   func(b []byte) []byte { return make([]byte, len(b)) },
	"another": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("x:long"), []byte("x:lonG")) },
	"gap":     func(b []byte) []byte { return bytes.Replace(b, []byte(`"seq": 250,`), []byte(`"seq": 950,`), 1) },
}

// Case 42: one broken document among others. It is kept under another name,
// the conversation is made anew from its archive, the others go on.
func TestCase42DamagedDocument(t *testing.T) {
	whole := newPlace(t)
	s := whole.open(t)
	fill(t, s)
	want := dump(t, s)
	must(t, s.Close())
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			p := whole.crash(t)
			path := p.path("conversations/x_long.json")
			old, err := os.ReadFile(path)
			must(t, err)
			broken := damage(old)
			if bytes.Equal(old, broken) {
				t.Fatal("nothing is broken")
			}
			must(t, os.WriteFile(path, broken, 0o600))
			s := p.open(t)
			same(t, "Dump", dump(t, s), want)
			say(t, s, "x:long", "next", "next")
			must(t, s.Close())
			p.says(t, "level=ERROR", "key=x:long", "x_long.json.corrupt-")
			aside := p.aside(t)
			if len(aside) != 1 {
				t.Fatalf("set aside: %v", aside)
			}
			kept, err := os.ReadFile(p.path(aside[0]))
			if err != nil || !bytes.Equal(kept, broken) {
				t.Errorf("the broken document was not kept as it was: %v", err)
			}
			s = p.open(t)
			ms, err := s.Messages(t.Context(), key("x:long"), 299, 9)
			if err != nil || len(ms) != 2 {
				t.Errorf("Messages = %+v, %v", ms, err)
			}
			p.quiet(t)
		})
	}
}

// Without an archive there is nothing to make it from: it begins anew, with
// seqs that were never used, and what was accepted stays accepted.
func TestDamagedDocumentWithoutArchive(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	say(t, s, "x:2", "2", "two")
	must(t, s.Close())
	must(t, os.Remove(p.path("archive/x_1.jsonl")))
	must(t, os.WriteFile(p.path("conversations/x_1.json"), []byte("{"), 0o600))
	s = p.open(t)
	if a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "1", "one")}); err != nil || a.Outcome != sessions.Duplicate {
		t.Errorf("Accept = %+v, %v", a, err)
	}
	say(t, s, "x:1", "3", "three")
	ms, err := s.Messages(t.Context(), key("x:1"), 0, 9)
	if err != nil || len(ms) != 1 || ms[0].Seq != 2 {
		t.Errorf("Messages = %+v, %v", ms, err)
	}
	if ms, err := s.Messages(t.Context(), key("x:2"), 0, 9); err != nil || len(ms) != 1 {
		t.Errorf("Messages = %+v, %v", ms, err)
	}
	if list := p.aside(t); len(list) != 1 {
		t.Errorf("set aside: %v", list)
	}
}

// Damage while the store is open is seen when the conversation is read.
func TestDamageToAnIdleConversation(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	for i := range 5 {
		say(t, s, "x:1", string(rune('a'+i)), "hi")
	}
	want := dump(t, s, key("x:1"))
	must(t, s.Close())
	s = p.open(t)
	must(t, os.WriteFile(p.path("conversations/x_1.json"), []byte("garbage"), 0o600))
	same(t, "Dump", dump(t, s, key("x:1")), want)
	p.says(t, "x_1.json.corrupt-")
}

// A line of an archive that cannot be read: all others are kept.
func TestDamagedArchive(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	for i := range 300 {
		say(t, s, "x:1", number("m", i), number("text ", i))
	}
	must(t, s.Close())
	path := p.path("archive/x_1.jsonl")
	old, err := os.ReadFile(path)
	must(t, err)
	broken := bytes.Replace(old, []byte(`{"message":{"seq":7,`), []byte(`{"message":("seq":7,`), 1)
	must(t, os.WriteFile(path, broken, 0o600))
	s = p.open(t)
	ms, err := s.Messages(t.Context(), key("x:1"), 0, 1000)
	if err != nil || len(ms) != 299 || ms[6].Seq != 8 {
		t.Errorf("%d messages, %v", len(ms), err)
	}
	p.says(t, "level=ERROR", "an archive is damaged")
	say(t, s, "x:1", "next", "next")
	must(t, s.Close())
	kept, err := os.ReadFile(p.path(p.aside(t)[0]))
	if err != nil || !bytes.Equal(kept, broken) {
		t.Errorf("the broken archive was not kept as it was: %v", err)
	}
	s = p.open(t)
	if ms, err := s.Messages(t.Context(), key("x:1"), 0, 1000); err != nil || len(ms) != 300 || ms[299].Content != "next" {
		t.Errorf("%d messages, %v", len(ms), err)
	}
	p.quiet(t)
}

// segment is the newest file of the log that holds something.
func segment(t *testing.T, p *place) string {
	t.Helper()
	names, err := filepath.Glob(p.path("log/*.jsonl"))
	must(t, err)
	for i := len(names) - 1; i >= 0; i-- {
		if info, err := os.Stat(names[i]); err == nil && info.Size() > 0 {
			return names[i]
		}
	}
	t.Fatal("the log is empty")
	return ""
}

// A commit that a crash has cut at any byte is as if it had not been begun.
func TestTornLog(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	before := p.crash(t)
	size := len(read(t, segment(t, before)))
	say(t, s, "x:1", "2", "two")
	after := p.crash(t)
	all := read(t, segment(t, after))
	for cut := size + 1; cut < len(all); cut += 1 + (len(all)-size)/5 {
		for _, tail := range []string{"", "\x00\x00\x00", "\n"} {
			torn := after.crash(t)
			must(t, os.WriteFile(segment(t, torn), append(append([]byte{}, all[:cut]...), tail...), 0o600))
			s := torn.open(t)
			if ms, err := s.Messages(t.Context(), key("x:1"), 0, 9); err != nil || len(ms) != 1 {
				t.Fatalf("cut at %d: %d messages, %v", cut, len(ms), err)
			}
			say(t, s, "x:1", "2", "two") // it is no duplicate, and its line is whole
			left := torn.crash(t)
			if ms, err := left.open(t).Messages(t.Context(), key("x:1"), 0, 9); err != nil || len(ms) != 2 {
				t.Fatalf("cut at %d: %d messages after another, %v", cut, len(ms), err)
			}
			torn.says(t, "level=WARN", "the last commit in the log is incomplete")
			torn.quiet(t)
			left.quiet(t)
		}
	}
}

// Damage in the middle of the log: the others are kept, and the file.
func TestDamagedLog(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	for _, k := range []string{"x:1", "x:2", "x:3"} {
		say(t, s, k, "id"+k, "hi")
	}
	left := p.crash(t)
	path := segment(t, left)
	broken := bytes.Replace(read(t, path), []byte(`"content":"hi"`), []byte(`"content":"ha"`), 1)
	must(t, os.WriteFile(path, broken, 0o600))
	s = left.open(t)
	list, err := s.Find(t.Context(), sessions.Query{Limit: 9})
	if err != nil || len(list) != 2 {
		t.Errorf("Find = %+v, %v", list, err)
	}
	left.says(t, "level=ERROR", "commits in the log cannot be read")
	aside := left.aside(t)
	if len(aside) != 1 || !bytes.Equal(read(t, left.path(aside[0])), broken) {
		t.Errorf("set aside: %v", aside)
	}
	must(t, s.Close())
	left.open(t)
	left.quiet(t)
}

// store.json holds people, facts and jobs; conversations go on without it.
func TestDamagedStoreFile(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	fill(t, s)
	must(t, s.Close())
	must(t, os.WriteFile(p.path("store.json"), []byte("[]"), 0o600))
	s = p.open(t)
	if list, err := s.Find(t.Context(), sessions.Query{Limit: 99}); err != nil || len(list) != 5 {
		t.Errorf("Find = %+v, %v", list, err)
	}
	p.says(t, "level=ERROR", "store.json.corrupt-")
	must(t, s.Close())
	newer := bytes.Replace(read(t, p.path("store.json")), []byte(`"format": 2`), []byte(`"format": 3`), 1)
	must(t, os.WriteFile(p.path("store.json"), newer, 0o600))
	if _, err := openAt(t, p.dir); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("Open = %v", err)
	}
	if got := read(t, p.path("store.json")); !bytes.Equal(got, newer) {
		t.Error("a store of a newer version was changed")
	}
}

// An erasure leaves no byte in any file.
func TestErasedBytesAreGone(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "NEEDLE one")
	must(t, s.Close())
	s = p.open(t)
	say(t, s, "x:1", "2", "NEEDLE two")
	say(t, s, "x:2", "3", "hay")
	m := sessions.Message{Role: sessions.RoleUser, Content: "NEEDLE three", Sender: "7"}
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:2", "4", "/x"), Answered: true, Append: []sessions.Message{m}})
	must(t, err)
	must(t, os.WriteFile(p.path("conversations/x_1.json.corrupt-20260101T000000Z"), []byte("NEEDLE"), 0o600))
	if !bytes.Contains(everything(t, p), []byte("NEEDLE")) {
		t.Fatal("nothing is there that could be erased")
	}
	_, err = s.Erase(t.Context(), sessions.Erasure{Keys: keys("x:1"), Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
	must(t, err)
	if all := everything(t, p); bytes.Contains(all, []byte("NEEDLE")) || !bytes.Contains(all, []byte("hay")) {
		t.Error("what was erased is in the files")
	}
}

// An index that counts more ids than there can be is as good as none: all is
// read anew, and what was accepted stays accepted.
func TestIndexWithACountThatCannotBe(t *testing.T) {
	for _, count := range []string{"1", "2", "4611686018427387904", "9223372036854775807", "-1"} {
		t.Run(count, func(t *testing.T) {
			p := newPlace(t)
			s := p.open(t)
			say(t, s, "x:1", "1", "one")
			must(t, s.Close())
			index := string(read(t, p.path("index.json")))
			must(t, os.WriteFile(p.path("index.json"), []byte(strings.Replace(index, `"seen":1`, `"seen":`+count, 1)), 0o600))
			for range 2 {
				s = p.open(t)
				if a, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "1", "one")}); err != nil || a.Outcome != sessions.Duplicate {
					t.Errorf("Accept = %+v, %v; want a duplicate", a, err)
				}
				must(t, s.Close())
			}
		})
	}
}
