package file_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/file"
)

// A conversation that nobody uses for half an hour leaves memory, unless
// something is open in it, and comes back when it is used.
func TestIdleConversationsLeaveMemory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	synctest.Test(t, func(t *testing.T) {
		s, err := file.Open(t.Context(), dir, file.Options{})
		must(t, err)
		defer func() { must(t, s.Close()) }()
		for i := range 10 {
			say(t, s, number("x:", i), number("id", i), "hi")
		}
		_, err = s.Accept(t.Context(), sessions.Entry{Inbound: in("x:waits", "w", "hi")})
		must(t, err)
		never := time.Time{}
		time.Sleep(29 * time.Minute)
		synctest.Wait()
		if n := file.Loaded(s, never); n != 11 {
			t.Errorf("%d conversations in memory after 29 minutes, want 11", n)
		}
		_, err = s.History(t.Context(), key("x:1"), sessions.HistoryLimit{})
		must(t, err)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := file.Loaded(s, never); n != 2 {
			t.Errorf("%d conversations in memory after 31 minutes, want the one that was read and the one that waits", n)
		}
		for i := range 10 {
			h, err := s.History(t.Context(), key(number("x:", i)), sessions.HistoryLimit{})
			if err != nil || len(h.Messages) != 1 {
				t.Errorf("History = %+v, %v", h, err)
			}
		}
		if st, err := s.Stats(t.Context()); err != nil || st.Waiting != 1 {
			t.Errorf("Stats = %+v, %v", st, err)
		}
	})
}

// Nothing is lost between being trimmed from memory and being read again,
// whatever is written in between.
func TestTrimmedAndReadAgain(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	fill(t, s)
	want := dump(t, s)
	for range 3 {
		must(t, file.Settle(s))
		file.Loaded(s, time.Now().Add(time.Hour)) // all of it leaves
		same(t, "Dump", dump(t, s), want)
		say(t, s, "x:long", number("t", len(want)), "more")
		want = dump(t, s)
	}
	h, err := s.History(t.Context(), key("x:long"), sessions.HistoryLimit{Messages: 2})
	if err != nil || len(h.Messages) != 2 || h.Omitted != 301 {
		t.Errorf("History = %d messages, %d omitted, %v", len(h.Messages), h.Omitted, err)
	}
	// More than the document shows.
	if h, err = s.History(t.Context(), key("x:long"), sessions.HistoryLimit{}); err != nil || len(h.Messages) != 303 || h.Omitted != 0 {
		t.Errorf("History = %d messages, %d omitted, %v", len(h.Messages), h.Omitted, err)
	}
}

// A start reads no archive, and no document that is as the index says and in
// which nothing is open. If it read them, it would find these damaged.
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
