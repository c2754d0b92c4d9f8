package file_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/file"
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
// the conversation is as it was, from its archive if the rows are lost, and the
// others go on.
func TestCase42DamagedDocument(t *testing.T) {
	whole := newPlace(t)
	s := whole.open(t)
	fill(t, s)
	want := dump(t, s)
	long := dump(t, s, key("x:long"))[1:] // the messages
	must(t, s.Close())
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			without := whole.crash(t)
			must(t, os.Remove(without.path("rows.db")))
			must(t, os.WriteFile(without.path("conversations/x_long.json"), damage(read(t, without.path("conversations/x_long.json"))), 0o600))
			got := strings.Join(dump(t, without.open(t)), "\n")
			for _, line := range long {
				if strings.Contains(line, `"messages"`) && !strings.Contains(got, line) {
					t.Errorf("without the rows there is no %.200s", line)
				}
			}
			without.says(t, "level=ERROR", "key=x:long", "x_long.json.corrupt-")

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

// Without rows and archive there is nothing to make it from: it begins anew, and
// the others go on.
func TestDamagedDocumentAlone(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "one")
	say(t, s, "x:2", "2", "two")
	must(t, s.Close())
	must(t, os.Remove(p.path("archive/x_1.jsonl")))
	must(t, os.Remove(p.path("rows.db")))
	must(t, os.WriteFile(p.path("conversations/x_1.json"), []byte("{"), 0o600))
	s = p.open(t)
	say(t, s, "x:1", "3", "three")
	for _, k := range []string{"x:1", "x:2"} {
		if ms, err := s.Messages(t.Context(), key(k), 0, 9); err != nil || len(ms) != 1 {
			t.Errorf("Messages of %s = %+v, %v", k, ms, err)
		}
	}
	if list := p.aside(t); len(list) != 1 {
		t.Errorf("set aside: %v", list)
	}
}

// Damage to a document while the store is open hurts nobody: it is written anew
// with the next message.
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
	say(t, s, "x:1", "more", "more")
	must(t, file.Flush(s))
	must(t, file.ParseDocument(read(t, p.path("conversations/x_1.json"))))
}

// A line of an archive that cannot be read costs nothing, and if the rows are lost
// that message: all others are kept.
func TestDamagedArchive(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	for i := range 300 {
		say(t, s, "x:1", number("m", i), number("text ", i))
	}
	must(t, s.Close())
	path := p.path("archive/x_1.jsonl")
	old := read(t, path)
	broken := bytes.Replace(old, []byte(`{"message":{"seq":7,`), []byte(`{"message":("seq":7,`), 1)
	must(t, os.WriteFile(path, broken, 0o600))
	s = p.open(t)
	ms, err := s.Messages(t.Context(), key("x:1"), 0, 1000)
	if err != nil || len(ms) != 300 || ms[6].Content != "text 6" {
		t.Errorf("%d messages, %v", len(ms), err)
	}
	must(t, s.Close())
	must(t, os.Remove(p.path("rows.db")))
	s = p.open(t)
	ms, err = s.Messages(t.Context(), key("x:1"), 0, 1000)
	if err != nil || len(ms) != 300 || ms[5].Content != "text 5" || ms[6].Content != "[lost]" || ms[7].Content != "text 7" {
		t.Errorf("without rows %d messages, %v", len(ms), err)
	}
	p.says(t, "level=ERROR", "an archive is damaged", "lost=1 kept=300")
	say(t, s, "x:1", "next", "next")
	must(t, s.Close())
	kept := read(t, p.path(p.aside(t)[0]))
	if !bytes.Equal(kept, broken) {
		t.Error("the broken archive was not kept as it was")
	}
	s = p.open(t)
	if ms, err := s.Messages(t.Context(), key("x:1"), 0, 1000); err != nil || len(ms) != 301 || ms[300].Content != "next" {
		t.Errorf("%d messages, %v", len(ms), err)
	}
	p.quiet(t)
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
	newer := bytes.Replace(read(t, p.path("store.json")), []byte(`"format": 3`), []byte(`"format": 4`), 1)
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
	if !bytes.Contains(everything(t, p, true), []byte("NEEDLE")) {
		t.Fatal("nothing is there that could be erased")
	}
	_, err = s.Erase(t.Context(), sessions.Erasure{Keys: keys("x:1"), Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
	must(t, err)
	if all := everything(t, p, true); bytes.Contains(all, []byte("NEEDLE")) || !bytes.Contains(all, []byte("hay")) {
		t.Error("what was erased is in the files")
	}
}

// A document that an erasure did not come to still has the words. They are no edit,
// though the document looks like one.
func TestErasedIsNoEdit(t *testing.T) {
	p := newPlace(t)
	s := openWith(t, p.dir, file.Options{FlushInterval: time.Hour})
	m := sessions.Message{Role: sessions.RoleUser, Content: "NEEDLE", Sender: "7"}
	_, err := s.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "1", "/x"), Answered: true, Append: []sessions.Message{m}})
	must(t, err)
	must(t, file.Flush(s))
	t.Run("power cut", func(t *testing.T) {
		file.OnSync(t, func(string) error { return os.ErrDeadlineExceeded })
		if _, err := s.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}}); err == nil {
			t.Error("Erase succeeds without writing the documents")
		}
	})
	p = p.crash(t)
	edit(t, p, "conversations/x_1.json", `"format": 3,`, `"format": 3, `)
	s = p.open(t)
	ms, err := s.Messages(t.Context(), key("x:1"), 0, 9)
	if err != nil || len(ms) != 1 || ms[0].Content != "[erased]" {
		t.Errorf("Messages = %+v, %v", ms, err)
	}
	must(t, s.Close())
	if bytes.Contains(everything(t, p, false), []byte("NEEDLE")) {
		t.Error("what was erased is in a document")
	}
}
