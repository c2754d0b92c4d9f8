package exchange_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/exchange"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
)

// FuzzReader reads anything. What it accepts can be written in our own form, read again
// and written the same.
func FuzzReader(f *testing.F) {
	for _, file := range []string{
		"picoclaw/telegram_123456.json", "picoclaw/cli_direct.jsonl", "picoclaw/whatsapp.jsonl", "openai.json", "openai-bare.json",
		"molf/5f0e8a52-3c1d-4c7e-9a64-0d1b2c3d4e5f.json", "terrarium/irc_go.json", "sentinel/trip/messages.jsonl",
	} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"conversation":{"key":"a:b"}}` + "\n" + `{"messages":{"key":"a:b","messages":[{"seq":1,"role":"user","content":"x","at":"2026-01-01T00:00:00Z"}]}}`))
	f.Add([]byte(everyRecord))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, format, err := readRecords(bytes.NewReader(data), exchange.Options{Name: "fuzz", Now: func() time.Time { return now }})
		if err != nil {
			return
		}
		own := exchange.JSON
		if format == exchange.JSONL {
			own = exchange.JSONL
		}
		first := encode(t, own, records)
		if first == "" {
			return // there was nothing in it, and a file of nothing is refused
		}
		copied, _, err := readRecords(strings.NewReader(first), exchange.Options{Format: own, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatalf("our own %s is refused: %v\n%s", own, err, first)
		}
		if second := encode(t, own, copied); second != first {
			t.Errorf("(-first +second):\n%s", cmp.Diff(first, second))
		}
		restoreTwice(t, records)
	})
}

// everyRecord is a line of each kind, as a store writes them.
const everyRecord = `{"store":{"name":"cafe","days":{"20261121":2},"erased":["00ff"]}}
{"conversation":{"key":"a:b","seq":4,"message_seq":2,"title":"t","created":"2026-11-21T09:00:00Z","updated":"2026-11-21T09:00:00Z","generations":[{"id":"20261121_001","first_seq":1,"last_seq":2,"began":"2026-11-21T09:00:00Z"}],"summaries":[{"text":"s","covers_seq":1,"generation":"20261121_001","at":"2026-11-21T09:00:00Z","fields":{"a":1}}],"settings":{"model":"m","tags":["x"],"metadata":{"n":42}}}}
{"messages":{"key":"a:b","messages":[{"seq":1,"role":"user","content":"x","at":"2026-11-21T09:00:00Z","extra":{"id":7}},{"seq":2,"role":"assistant","content":"","tool_calls":[{"id":"1","name":"clock","arguments":"{}"}],"at":"2026-11-21T09:00:00Z","usage":{"input":1,"output":2}}]}}
{"inbox":{"seq":3,"inbound":{"key":"a:b","id":"1","text":"hi","sender":{"ids":["7"]}},"origin":"chat","state":"waiting","turn":"t","accepted":"2026-11-21T09:00:00Z","steps":[{"kind":"note"}],"job":"j","job_due":"2026-11-21T08:00:00Z"}}
{"outbox":{"id":"out-1","key":"a:b","seq":4,"text":"yes","state":"queued","created":"2026-11-21T09:00:00Z"}}
{"aside":{"channel":"a","id":"9","raw":"AP8=","why":"odd","at":"2026-11-21T09:00:00Z"}}
{"fact":{"scope":"chat:x:s","id":1,"text":"f","at":"2026-11-21T09:00:00Z"}}
{"pairing":{"channel":"a","person_id":"7","name":"Ann","code":"ABCD","expires":"2026-11-21T10:00:00Z"}}
{"job":{"job":"j","due":"2026-11-21T09:00:00Z"}}
{"occurrence":{"job":"j","due":"2026-11-21T08:00:00Z","outcome":"ran","at":"2026-11-21T08:00:00Z"}}
`

// A store takes a record of each kind.
func TestEveryRecord(t *testing.T) {
	records, format, err := readRecords(strings.NewReader(everyRecord), exchange.Options{})
	if err != nil || format != exchange.JSONL || len(records) != 10 {
		t.Fatalf("%d records of %s, %v", len(records), format, err)
	}
	restoreTwice(t, records)
	s := sqlitetest.Open(t, nil)
	defer s.Close()
	if _, err := s.Restore(t.Context(), func() (r sessions.Record, err error) {
		if len(records) == 0 {
			return r, io.EOF
		}
		r, records = records[0], records[1:]
		return r, nil
	}); err != nil || len(recordsOf(t, s)) != 10 {
		t.Errorf("Restore = %v, then there are %d records", err, len(recordsOf(t, s)))
	}
}

func readRecords(r io.Reader, o exchange.Options) (all []sessions.Record, format exchange.Format, err error) {
	reader, err := exchange.NewReader(r, o)
	if err != nil {
		return nil, "", err
	}
	err = reader.Each(func(rec sessions.Record) error {
		all = append(all, rec)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return all, reader.Format(), nil
}

// restoreTwice restores records into a store, if it takes them, and its dump into another,
// which must then have the same dump.
func restoreTwice(t *testing.T, records []sessions.Record) {
	one, two := sqlitetest.Open(t, nil), sqlitetest.Open(t, nil)
	defer one.Close()
	defer two.Close()
	restore := func(s *sqlitetest.Store, list []sessions.Record) error {
		_, err := s.Restore(t.Context(), func() (r sessions.Record, err error) {
			if len(list) == 0 {
				return r, io.EOF
			}
			r, list = list[0], list[1:]
			return r, nil
		})
		return err
	}
	if restore(one, records) != nil {
		return
	}
	if err := restore(two, recordsOf(t, one)); err != nil {
		t.Fatalf("what a store holds is refused by another: %v", err)
	}
	if diff := cmp.Diff(encode(t, exchange.JSONL, recordsOf(t, one)), encode(t, exchange.JSONL, recordsOf(t, two))); diff != "" {
		t.Errorf("a store's copy (-want +got):\n%s", diff)
	}
}

func recordsOf(t *testing.T, s *sqlitetest.Store) (all []sessions.Record) {
	err := s.Dump(t.Context(), nil, func(r sessions.Record) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func encode(t *testing.T, format exchange.Format, records []sessions.Record) string {
	var b bytes.Buffer
	w, err := exchange.NewWriter(&b, format, exchange.WriterOptions{List: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
