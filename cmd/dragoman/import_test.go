package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
	"dragoman/sessions/memory"
)

// shelf keeps whole records, and tells which conversations it has.
type shelf struct {
	*memory.Store
	records []sessions.Record
}

func (s *shelf) Dump(_ context.Context, keys []channels.Key, emit func(sessions.Record) error) error {
	for _, r := range s.records {
		if k, _ := exchange.KeyOf(r); len(keys) > 0 && k != keys[0] {
			continue
		}
		if err := emit(r); err != nil {
			return err
		}
	}
	return nil
}

func (s *shelf) Restore(_ context.Context, next func() (sessions.Record, error)) error {
	var got []sessions.Record
	for {
		r, err := next()
		if err == io.EOF {
			s.records = append(s.records, got...)
			return nil
		}
		if err != nil {
			return err
		}
		got = append(got, r)
	}
}

func (s *shelf) Messages(_ context.Context, k channels.Key, _ int64, _ int) ([]sessions.Message, error) {
	for _, r := range s.records {
		if r.Messages != nil && r.Messages.Key == k {
			return r.Messages.Messages, nil
		}
	}
	return nil, sessions.ErrNotFound
}

const examples = "../../sessions/exchange/testdata/"

func TestImport(t *testing.T) {
	w := newWorld(t)
	w.fail(1, "nothing was imported: this store cannot take whole conversations in", "sessions", "import", examples+"openai.json")

	s := &shelf{Store: w.daemon.store}
	w.daemon.shelf = s
	w.want([]string{
		"would import cli:direct: 4 messages from", "(picoclaw-jsonl)", "would import telegram:123456: 5 messages", "note: ", "line 3 is damaged",
		"would import 3 conversations with 11 messages.",
	}, "sessions", "import", "--dry-run", examples+"picoclaw")
	if len(s.records) != 0 {
		t.Errorf("a dry run stored %d records", len(s.records))
	}
	w.want([]string{"imported telegram:123456: 5 messages", "imported 3 conversations with 11 messages."}, "sessions", "import", examples+"picoclaw")
	if len(s.records) != 6 {
		t.Errorf("%d records, want 6", len(s.records))
	}
	w.want([]string{"# telegram:123456", "> It is 21 °C and sunny."}, "sessions", "export", "telegram:123456", "--format", "markdown")

	// A second time nothing is there twice.
	code, out, errs := w.run("sessions", "import", examples+"picoclaw")
	if code != 1 || len(s.records) != 6 {
		t.Errorf("the second import = %d %q %q, %d records", code, out, errs, len(s.records))
	}
	w.fail(1, "3 conversations or files were left out", "sessions", "import", examples+"picoclaw")
	w.want([]string{"imported web:other: 5 messages"}, "sessions", "import", "--key", "web:other", examples+"picoclaw/telegram_123456.json")
	w.want([]string{`"key": "import:openai"`}, "sessions", "import", "--json", examples+"openai.json")
	w.fail(2, `"nonsense" is no conversation`, "sessions", "import", "--key", "nonsense", examples+"openai.json")
	w.fail(1, "no such file", "sessions", "import", "/nowhere/at/all.json")

	bad := filepath.Join(t.TempDir(), "heartbeat.json")
	if err := os.WriteFile(bad, []byte(`{"key":"heartbeat","messages":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.fail(1, "choose one with --key", "sessions", "import", bad)
	w.want([]string{"imported cli:beat: 0 messages"}, "sessions", "import", bad, "--key", "cli:beat")
}

// What is exported is imported again, whole.
func TestImportOfExports(t *testing.T) {
	for _, format := range []string{"json", "jsonl"} {
		w := newWorld(t)
		w.daemon.shelf = &shelf{Store: w.daemon.store}
		w.want(nil, "sessions", "import", examples+"picoclaw/telegram_123456.json")
		path := filepath.Join(t.TempDir(), "out."+format)
		w.want(nil, "sessions", "export", "telegram:123456", "--format", format, "-o", path)
		first, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w.daemon.shelf.records = nil
		w.want([]string{"imported telegram:123456: 5 messages", "(" + format + ")"}, "sessions", "import", path)
		if second := w.want(nil, "sessions", "export", "telegram:123456", "--format", format); second != string(first) {
			t.Errorf("%s: exported %q, then %q", format, first, second)
		}
	}
}
