package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const examples = "../../sessions/exchange/testdata/"

func TestImport(t *testing.T) {
	w := newWorld(t)
	w.want([]string{
		"would import cli:direct: 4 messages from", "(picoclaw-jsonl)", "would import telegram:123456: 5 messages", "note: ", "line 3 is damaged",
		"would import 3 conversations with 11 messages and 1 call of tools, from 3 files.",
	}, "sessions", "import", "--dry-run", examples+"picoclaw")
	w.want([]string{"No conversations yet"}, "sessions", "list")
	w.want([]string{"imported telegram:123456: 5 messages", "imported 3 conversations with 11 messages and 1 call of tools, from 3 files."}, "sessions", "import", examples+"picoclaw")
	w.want([]string{"telegram:123456", "cli:direct", "whatsapp:+1234567890"}, "sessions", "list")
	w.want([]string{"It is 21 °C and sunny."}, "sessions", "show", "telegram:123456")
	w.want([]string{"# telegram:123456", "> It is 21 °C and sunny."}, "sessions", "export", "telegram:123456", "--format", "markdown")

	// A second time nothing is there twice.
	before := w.want(nil, "sessions", "export", "--all")
	w.want([]string{"telegram:123456", "it is there already", "nothing new"}, "sessions", "import", examples+"picoclaw")
	if after := w.want(nil, "sessions", "export", "--all"); after != before {
		t.Errorf("an import that left all out changed %q to %q", before, after)
	}
	w.want([]string{"imported web:other: 5 messages"}, "sessions", "import", "--key", "web:other", examples+"picoclaw/telegram_123456.json")
	w.want([]string{`"key": "import:openai"`}, "sessions", "import", "--json", examples+"openai.json")
	w.fail(exitUsage, `"nonsense" is not a conversation`, "sessions", "import", "--key", "nonsense", examples+"openai.json")
	w.fail(1, "dragoman: /nowhere/at/all.json cannot be read: no such file", "sessions", "import", "/nowhere/at/all.json")
	// Only names of packages are left out, not what looks like one.
	t.Chdir(t.TempDir())
	w.fail(1, "dragoman: agent: file: x.json cannot be read: no such file", "sessions", "import", "agent: file: x.json")
	if err := os.WriteFile("sqlite: y.json", []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.fail(1, "dragoman: sqlite: y.json was not imported: ", "sessions", "import", "sqlite: y.json")
	w.fail(1, "dragoman: app: /z cannot be written: no such file", "sessions", "export", "--all", "-o", "app: /z")

	bad := filepath.Join(t.TempDir(), "heartbeat.json")
	if err := os.WriteFile(bad, []byte(`{"key":"heartbeat","messages":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.fail(1, "dragoman: "+bad+" was not imported: ", "sessions", "import", bad)
	w.fail(1, "choose one with --key", "sessions", "import", bad)
	w.want([]string{"imported cli:beat: 0 messages"}, "sessions", "import", bad, "--key", "cli:beat")
}

// Folders of other programs come in with one command, and the end of what it
// says is a report.
func TestImportOfOthers(t *testing.T) {
	w := newWorld(t)
	w.want([]string{
		"imported irc:#python: 2 messages from", "imported irc:#go: ", "imported web:7: ", "imported import:my_notes: ", "(terrarium)",
		"imported 4 conversations with 8 messages and 0 calls of tools, from 4 files.",
	}, "sessions", "import", examples+"terrarium")
	w.want([]string{"(sentinel)", "imported 1 conversation with 8 messages and 2 calls of tools, from 1 file."}, "sessions", "import", examples+"sentinel")
	w.want([]string{"(molf)", "note: ", "names files, which are not copied", "imported 1 conversation with 15 messages and 2 calls of tools, from 1 file."}, "sessions", "import", examples+"molf")
	const molf = "import:5f0e8a52-3c1d-4c7e-9a64-0d1b2c3d4e5f"
	w.want([]string{"glob", "Two files, a and b.", "covers the first 5 messages", "450 tokens"}, "sessions", "show", molf, "--last", "0")
	dir := t.TempDir()
	for name, text := range map[string]string{"a.json": `{"unknown":1}`, "b.json": `{"session_id":"irc_c","system_prompt":"x","messages":[]}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, out, _ := w.run("sessions", "import", dir)
	if want := "the object has no messages\nimported 1 conversation with 0 messages and 0 calls of tools, from 2 files.\n"; !strings.Contains(out, want) {
		t.Errorf("the report is %q, want %q at its end", out, want)
	}
}

// What is wrong with a file is said of the file, in no package's name, and a
// key cannot drive the terminal.
func TestImportSaysWhichFile(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	bad, odd := filepath.Join(dir, "bad.json"), filepath.Join(dir, "odd.json")
	for path, text := range map[string]string{
		bad: `{"key":"web:1","messages":[{"role":1}]}`,
		odd: `{"key":"web:1","messages":[{"role":"user","content":"x"}]}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.fail(1, "dragoman: "+bad+" was not imported: read", "sessions", "import", bad)
	w.want([]string{"imported web:ab: 1 message from"}, "sessions", "import", odd, "--key", "web:a\u202eb")
}

// What is exported is imported again, whole.
func TestImportOfExports(t *testing.T) {
	for _, format := range []string{"json", "jsonl"} {
		w := newWorld(t)
		w.want(nil, "sessions", "import", examples+"picoclaw/telegram_123456.json")
		path := filepath.Join(t.TempDir(), "out."+format)
		w.want(nil, "sessions", "export", "telegram:123456", "--format", format, "-o", path)
		first, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w = newWorld(t)
		w.want([]string{"imported telegram:123456: 5 messages", "(" + format + ")"}, "sessions", "import", path)
		if second := w.want(nil, "sessions", "export", "telegram:123456", "--format", format); second != string(first) {
			t.Errorf("%s: exported %q, then %q", format, first, second)
		}
	}
}
