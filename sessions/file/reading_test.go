package file_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"dragoman/sessions"
)

// A start reads no archive, and no document whose size and time are as noted. If it
// read these, it would find them damaged.
func TestStartReadsLittle(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "x:1", "1", "hi")
	must(t, s.Close())
	document, archive := p.path("conversations/x_1.json"), p.path("archive/x_1.jsonl")
	for _, path := range []string{document, archive} {
		info, err := os.Stat(path)
		must(t, err)
		must(t, os.WriteFile(path, bytes.Repeat([]byte("?"), int(info.Size())), 0o600))
		must(t, os.Chtimes(path, time.Now(), info.ModTime()))
	}
	s = p.open(t)
	say(t, s, "x:2", "2", "hi")
	list, err := s.Find(t.Context(), sessions.Query{Limit: 9})
	if err != nil || len(list) != 2 {
		t.Errorf("Find = %+v, %v", list, err)
	}
	if aside := p.aside(t); len(aside) > 0 {
		t.Errorf("they were read: %v", aside)
	}
}

// A document can be read by a person, and has the names of the ledger.
func TestDocumentIsReadable(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	say(t, s, "telegram:123456", "1", "hi <b> & ä")
	must(t, s.Rename(t.Context(), key("telegram:123456"), "Greeting"))
	must(t, s.Close())
	doc := read(t, p.path("conversations/telegram_123456.json"))
	for _, want := range []string{
		"\n  \"key\": \"telegram:123456\",\n", "\n  \"title\": \"Greeting\",\n", "\n  \"created\": \"", "\n  \"updated\": \"",
		"\n  \"messages\": [\n    {\n", "\"role\": \"user\",\n", "\"content\": \"hi <b> & ä\",\n",
	} {
		if !bytes.Contains(doc, []byte(want)) {
			t.Errorf("the document has no %q:\n%s", want, doc)
		}
	}
}
